// The page's data: an index that is opened at once, and chunks that are opened when looked at.

const KEPT = 12; // opened chunks that are kept
const opened = new Map(); // element id -> promise of its content

async function unpack(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// The content of an element, opened once; the one looked at longest ago is let go.
function open(id) {
  const found = opened.get(id) || unpack(id);
  opened.delete(id);
  opened.set(id, found);
  if (opened.size > KEPT) opened.delete(opened.keys().next().value);
  return found;
}

async function treeOf(index, row) {
  const chunk = index.rows.chunk[row];
  return chunk < 0 ? { task: index.rows.task[row], groups: [] } : (await open("c" + chunk))[index.rows.place[row]];
}

async function tokensOf(index, row) {
  return (await open("t" + index.rows.chunk[row]))[index.rows.place[row]];
}

// The row of the same episode in the other iteration's source of the same name; -1 without one.
function pairs(index) {
  const { episode, source } = index.rows;
  const seen = new Map(episode.map((id, row) => [source[row] + "\n" + id, row]));
  const others = index.sources.map((own, i) =>
    index.sources.findIndex((other, j) => j !== i && other.name === own.name && other.iteration !== own.iteration));
  return episode.map((id, row) => seen.get(others[source[row]] + "\n" + id) ?? -1);
}
