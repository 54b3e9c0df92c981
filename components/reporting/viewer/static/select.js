// Which episodes the list shows, and in which order. Pure functions of the index and the choices.

function select(index, pair, choice) {
  const rows = index.rows;
  const roles = choice.role === "any" ? index.roles : [choice.role];
  const words = choice.search.toLowerCase();
  const found = [];
  for (let row = 0; row < rows.episode.length; row++) {
    if (rows.source[row] !== choice.source) continue;
    if (choice.outcome !== "any" && rows.status[row] !== choice.outcome) continue;
    if (choice.groups !== "any" && !groupsFit(rows, roles, row, choice.groups)) continue;
    if (choice.change !== "any" && change(rows, pair, row) !== choice.change) continue;
    if (words && !choice.matches && !rows.episode[row].toLowerCase().includes(words)) continue;
    if (choice.matches && !choice.matches.has(row)) continue;
    found.push(row);
  }
  return sorted(found, rows, roles, choice.order);
}

function groupsFit(rows, roles, row, wanted) {
  const total = sum(roles, (role) => rows.groups[role][row]);
  const silent = sum(roles, (role) => rows.silent[role][row]);
  if (wanted === "silent") return silent > 0;
  if (wanted === "all-silent") return total > 0 && silent === total;
  return silent < total;
}

function change(rows, pair, row) {
  if (pair[row] < 0) return "unpaired";
  const here = rows.status[row] === "solved", there = rows.status[pair[row]] === "solved";
  return here ? (there ? "both" : "gained") : (there ? "lost" : "neither");
}

function sorted(found, rows, roles, order) {
  const most = (name) => (row) => -Math.max(...roles.map((role) => rows[name][role][row]));
  const keys = {
    far: most("far"), unlikely: most("unlikely"), reward: (row) => rows.reward[row],
    turns: (row) => -rows.turns[row], tokens: (row) => -rows.tokens[row],
  };
  const key = keys[order];
  if (!key) return found;
  const values = new Map(found.map((row) => [row, key(row)]));
  return found.sort((a, b) => values.get(a) - values.get(b) || a - b);
}

function sum(items, value) {
  return items.reduce((total, item) => total + value(item), 0);
}

// Rows whose prompts or answers hold the words: reads chunk after chunk and gives way in between.
async function searchTexts(index, words, source, progress, stopped) {
  const wanted = words.toLowerCase();
  const byPlace = new Map();
  index.rows.episode.forEach((_, row) => {
    if (index.rows.source[row] !== source || index.rows.chunk[row] < 0) return;
    const chunk = index.rows.chunk[row];
    if (!byPlace.has(chunk)) byPlace.set(chunk, []);
    byPlace.get(chunk).push(row);
  });
  const found = new Set();
  let done = 0;
  for (const [chunk, rows] of byPlace) {
    const trees = await unpack("c" + chunk);
    const hits = trees.map((tree) => tree.groups.some((group) =>
      group.messages.some((message) => message[1].toLowerCase().includes(wanted)) ||
      group.answers.some((answer) => answer.text.toLowerCase().includes(wanted))));
    for (const row of rows) if (hits[index.rows.place[row]]) found.add(row);
    if (stopped()) return null;
    progress(++done / byPlace.size);
  }
  return found;
}
