// The page as a whole: controls, list and episode together, the address, the keys.

const get = (id) => document.getElementById(id);
const names = ["outcome", "role", "groups", "change", "order"];
let index, pair, list, shown = -1, drawing = 0, searching = 0, matches = null, strange = "";

async function start() {
  index = await unpack("index");
  pair = pairs(index);
  index.sources.forEach((source, i) => get("source").append(el("option", { value: i }, `iteration ${source.iteration}, ${source.name}`)));
  const statuses = [...new Set(index.rows.status)].sort();
  for (const status of ["any", ...statuses]) get("outcome").append(el("option", { value: status }, MEANING[status] || status));
  for (const role of ["any", ...index.roles]) get("role").append(el("option", { value: role }, plain(role)));
  list = new EpisodeList(get("list"), describe, look);
  get("filters").addEventListener("change", (event) => { if (event.target.id !== "search") { strange = ""; apply(); } });
  get("filters").addEventListener("submit", (event) => event.preventDefault());
  get("search").addEventListener("input", later(apply, 120));
  get("episode").addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  get("help").addEventListener("click", () => get("keys").showModal());
  window.addEventListener("hashchange", fromAddress);
  fromAddress();
}

function later(work, wait) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(work, wait); };
}

// #e=EPISODE&source=0&order=far&outcome=solved ... : what is seen, so that its address can be sent.
// What it does not name is as in the beginning; an address of none of it is a place in the page.
function fromAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (location.hash && ![...wanted.keys()].some((name) => ["e", "source", ...names, "search", "texts"].includes(name))) return apply();
  const unknown = [];
  for (const name of ["source", ...names]) {
    const control = get(name), value = wanted.get(name);
    const known = [...control.options].some((option) => option.value === value);
    control.value = known ? value : control.options[0]?.value ?? "";
    if (value !== null && !known) unknown.push(`${name}=${value}`);
  }
  strange = unknown.length ? `; the address asks for ${unknown.map(plain).join(", ")}, which is not here` : "";
  get("search").value = wanted.get("search") || "";
  get("texts").checked = wanted.get("texts") === "1";
  const episode = wanted.get("e");
  let keep = -1;
  if (episode !== null) {
    const source = wanted.has("source") ? Number(wanted.get("source")) : null;
    keep = index.rows.episode.findIndex((id, row) => id === episode && (source === null || index.rows.source[row] === source));
    if (keep >= 0) get("source").value = String(index.rows.source[keep]);
  }
  apply(keep);
}

// Later than the last change: browsers refuse many new addresses in a second, as a held key makes.
const toAddress = later(() => {
  const address = new URLSearchParams();
  if (shown >= 0) address.set("e", index.rows.episode[shown]);
  address.set("source", get("source").value);
  for (const name of names) if (get(name).value !== get(name).options[0].value) address.set(name, get(name).value);
  const search = get("search").value.trim();
  if (search) address.set("search", search);
  if (search && get("texts").checked) address.set("texts", "1");
  history.replaceState(null, "", "#" + address);
}, 120);

async function apply(keep) {
  const source = Number(get("source").value);
  const paired = index.rows.source.some((own, row) => own === source && pair[row] >= 0);
  get("change-label").hidden = !paired;
  if (!paired) get("change").value = "any";
  const choice = { source, search: get("search").value.trim(), matches: null };
  for (const name of names) choice[name] = get(name).value;
  const mine = ++searching;
  if (get("texts").checked && choice.search) {
    const say = (share) => { get("count").textContent = `Searching ... ${Math.round(100 * share)} %`; };
    choice.matches = await searchTexts(index, choice.search, source, say, () => mine !== searching);
    if (!choice.matches || mine !== searching) return;
  }
  const rows = select(index, pair, choice);
  const total = index.rows.source.reduce((count, own) => count + (own === source), 0);
  get("count").textContent = `${rows.length.toLocaleString("en")} of ${total.toLocaleString("en")} episodes${strange}`;
  list.show(rows, typeof keep === "number" && keep >= 0 ? keep : shown);
}

function describe(row) {
  const rows = index.rows;
  const silent = sum(index.roles, (role) => rows.silent[role][row]);
  const groups = sum(index.roles, (role) => rows.groups[role][row]);
  const line = el("div", { class: "line" });
  const other = pair[row] >= 0 ? [" ", el("span", { class: "note" }, "other: "), pill(rows.status[pair[row]])] : [];
  line.append(
    el("span", { class: "name" }, plain(rows.episode[row])),
    el("span", { class: "facts" }, pill(rows.status[row]), ...other,
      el("span", { class: "note" }, ` reward ${number(rows.reward[row], 2)}, ${counted(rows.turns[row], "turn")}` + (silent ? `, ${silent} of ${groups} groups without variance` : ""))));
  return line;
}

async function look(row) {
  shown = row;
  toAddress();
  const mine = ++drawing;
  const pane = get("episode");
  if (row < 0) return pane.replaceChildren(el("p", { class: "note" }, "No episode fits the filters."));
  const rows = [row, pair[row]].filter((item) => item >= 0);
  const trees = await Promise.all(rows.map((item) => treeOf(index, item)));
  if (mine !== drawing) return;
  const drawn = rows.map((item, i) => {
    const source = index.sources[index.rows.source[item]];
    const node = renderEpisode(trees[i], index, item, `Iteration ${source.iteration}, ${source.name}`);
    node.dataset.row = item;
    return node;
  });
  pane.classList.toggle("two", drawn.length > 1);
  pane.replaceChildren(...drawn);
  pane.scrollTop = 0;
}

function onClick(event) {
  const button = event.target.closest("button.tokens");
  if (button) showTokens(button);
}

async function showTokens(button) {
  const answer = button.closest(".answer"), group = button.closest(".group"), tree = button.closest(".tree");
  const [all, words] = await Promise.all([tokensOf(index, Number(tree.dataset.row)), open("words")]);
  const tree_ = await treeOf(index, Number(tree.dataset.row));
  const place = Number(group.dataset.place);
  const [ids, logprobs] = all[place][Number(answer.dataset.answer)];
  button.replaceWith(renderTokens(ids, logprobs, words[tree_.groups[place].policy_version] || {}));
}

function onKey(event) {
  const typing = event.target.closest && event.target.closest("input, select, textarea, dialog");
  if (event.key === "Escape" && typing && typing.id === "search") return get("list").focus();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const inList = event.target.closest && event.target.closest("#list, body > :not(main)") || event.target === document.body;
  const moves = { j: 1, k: -1 };
  if (inList) Object.assign(moves, { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 });
  if (moves[event.key] && get("keys").open === false) list.choose(list.at + moves[event.key]);
  else if (event.key === "n" || event.key === "p") step(event.key === "n" ? 1 : -1);
  else if (event.key === "t") document.querySelectorAll("#episode button.tokens").forEach(showTokens);
  else if (event.key === "/") get("search").focus();
  else if (event.key === "Enter" && inList) get("episode").focus();
  else if (event.key === "Escape") get("list").focus();
  else if (event.key === "?") get("keys").showModal();
  else return;
  event.preventDefault();
}

function step(by) {
  const cards = [...document.querySelectorAll("#episode .group")];
  const at = cards.indexOf(document.activeElement.closest(".group"));
  const next = cards[Math.min(Math.max(at + by, 0), cards.length - 1)];
  if (!next) return;
  next.scrollIntoView({ block: "start" });
  next.focus({ preventScroll: true });
}

start().catch((error) => { get("count").textContent = "The page's data cannot be read: " + error; });
