// One episode as a tree: every prompt on its way, and the candidates that answered it side by side.

const SVG = "http://www.w3.org/2000/svg";
const MEANING = {
  solved: "solved", failed: "failed", out_of_turns: "out of turns", error: "error", running: "goes on",
};

// Parallel episodes share a task: of the tree only the prompts that this episode answered.
function groupsOf(tree, episode) {
  return tree.groups
    .map((group, place) => ({ group, place }))
    .filter(({ group }) => group.answers.some((answer) => answer.episode === episode));
}

function renderEpisode(tree, index, row, heading) {
  const rows = index.rows;
  const own = groupsOf(tree, rows.episode[row]);
  const node = el("article", { class: "tree" });
  node.append(
    el("h2", {}, heading, " ", pill(rows.status[row])),
    el("p", { class: "note" }, plain(rows.episode[row])),
    el("p", { class: "note" },
      `team reward ${number(rows.reward[row], 3)}, ${counted(rows.turns[row], "turn")}, ` +
      `${rows.tokens[row].toLocaleString("en")} sampled tokens, ${counted(own.length, "prompt")}`));
  if (!own.length) {
    node.append(el("p", {}, "Nothing of this episode was kept: it ended before its first answer."));
    return node;
  }
  const cards = own.map(({ group, place }, i) => renderGroup(group, place, before(own, i), rows.episode[row]));
  node.append(map(own, cards), ...cards);
  return node;
}

// Lines of the prompt before on the way here: what is not among them was learnt since.
function before(own, i) {
  if (i === 0) return null;
  const earlier = own[i - 1].group.messages.flatMap((message) => message[1].split("\n"));
  return new Set(earlier);
}

function renderGroup(group, place, earlier, episode) {
  const rewards = group.answers.map((answer) => answer.reward).filter((reward) => reward !== null);
  const mean = rewards.length ? sum(rewards, (reward) => reward) / rewards.length : null;
  const card = el("section", { class: "group", tabindex: "-1", "data-place": place, "aria-label": `Turn ${group.turn}, ${group.role}` });
  card.append(el("h3", {}, `Turn ${group.turn} · ${plain(group.role)}`, " ", ...badges(group)));
  card.append(el("p", { class: "note" },
    `${plain(group.policy_version)}, node ${group.node || "root"}, ${group.prompt_tokens} prompt tokens, ` +
    `temperature ${group.temperature}` + (rewards.length > 1 ? `, mean reward ${number(mean, 3)}` : "")));
  const prompt = el("details", { open: true }, el("summary", {}, "Prompt", earlier ? el("span", { class: "note" }, " (marked: new since the prompt before, such as a tool's output)") : null));
  for (const [role, content] of group.messages) {
    prompt.append(el("p", { class: "speaker" }, plain(role)), promptBlock(content, earlier, `${plain(role)} message`));
  }
  card.append(prompt);
  const answers = el("div", { class: "answers", role: "list", tabindex: "0", "aria-label": `${group.answers.length} candidates` });
  const reach = Math.max(...rewards.map(Math.abs), 1e-9);
  group.answers.forEach((answer, k) => answers.append(renderAnswer(answer, k, reach, mean, episode)));
  card.append(answers);
  return card;
}

function badges(group) {
  const found = [];
  if (group.answers.length > 1 && group.silent) found.push(el("span", { class: "badge idle" }, "no variance"));
  if (group.far > 0.5) found.push(el("span", { class: "badge warn" }, `a reward ${number(group.far, 2)} from the mean`));
  if (group.unlikely > 1) found.push(el("span", { class: "badge warn" }, `the pick was ${number(group.unlikely, 1)} nats less likely than its siblings`));
  return found;
}

function renderAnswer(answer, k, reach, mean, episode) {
  const mine = answer.episode === episode;
  const card = el("div", { class: "answer" + (answer.chosen && mine ? " chosen" : ""), role: "listitem", "data-answer": k });
  const state = answer.status === "running" ? null : pill(answer.status);
  card.append(el("h4", {}, `#${answer.candidate}`, answer.chosen && mine ? " picked " : " ", state,
    mine ? null : el("span", { class: "note" }, " " + plain(answer.episode))));
  card.append(bar(answer.reward, reach, mean), rewardParts(answer));
  if (answer.error) card.append(el("p", { class: "bad" }, "failed: ", plain(answer.error)));
  card.append(textBlock(answer.text, `answer ${answer.candidate}`));
  card.append(el("p", { class: "note" },
    `${answer.tokens} tokens, log-prob ${number(answer.logprob, 2)}, ended by ${answer.finish}` +
    (answer.weight === 0 ? ", weight 0" : "")));
  card.append(el("button", { type: "button", class: "tokens" }, "tokens and log-probs"));
  return card;
}

function rewardParts(answer) {
  const table = el("dl", {}, el("dt", {}, "reward"), el("dd", { class: "strong" }, number(answer.reward, 3)));
  if (answer.advantage !== null) table.append(el("dt", {}, "advantage"), el("dd", { class: "strong" }, signed(answer.advantage, 3)));
  for (const [part, value] of Object.entries(answer.parts || {})) {
    table.append(el("dt", {}, plain(part)), el("dd", {}, number(value, 3)));
  }
  return table;
}

// The reward as a bar from zero; the line is the group's mean.
function bar(reward, reach, mean) {
  const at = (value) => 50 + 50 * (value / reach);
  const picture = svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" });
  if (reward === null) return picture;
  const [from, to] = [Math.min(50, at(reward)), Math.max(50, at(reward))];
  picture.append(svg("rect", { x: from, y: 0, width: Math.max(to - from, 0.6), height: 6, class: reward < 0 ? "below" : "above" }));
  if (Number.isFinite(mean)) picture.append(svg("rect", { x: at(mean) - 0.4, y: 0, width: 0.8, height: 6, class: "mean" }));
  return picture;
}

// The tree at a glance: a line per prompt, a dot per candidate, filled by reward, the pick ringed.
function map(own, cards) {
  const list = el("ol", { class: "map", "aria-label": "The way of the episode" });
  own.forEach(({ group }, i) => {
    const values = group.answers.map((answer) => answer.reward).filter((value) => value !== null);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const width = 16 * group.answers.length;
    const dots = svg("svg", { width, height: 16, viewBox: `0 0 ${width} 16`, "aria-hidden": "true" });
    group.answers.forEach((answer, k) => {
      const share = answer.reward === null ? 0 : high > low ? (answer.reward / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
      const dot = svg("circle", { cx: 8 + 16 * k, cy: 8, r: 5, class: answer.reward === null ? "lost" : "dot" });
      dot.style.fillOpacity = 0.12 + 0.88 * share;
      dots.append(dot);
      if (answer.chosen) dots.append(svg("circle", { cx: 8 + 16 * k, cy: 8, r: 7, class: "ring" }));
    });
    const go = el("button", { type: "button" }, `t${group.turn} ${plain(group.role)}`);
    go.addEventListener("click", () => { cards[i].scrollIntoView({ block: "start" }); cards[i].focus({ preventScroll: true }); });
    const depth = group.node && /^[0-9.]+$/.test(group.node) ? group.node.split(".").length : 0;
    const line = el("li", {}, go, dots, el("span", { class: "note" }, group.silent && group.answers.length > 1 ? "no variance" : values.length ? `${number(low, 2)} to ${number(high, 2)}` : "no reward"));
    line.style.paddingLeft = Math.min(depth, 12) * 0.6 + "rem";
    list.append(line);
  });
  return list;
}

// The tokens of one answer, shaded by surprise.
function renderTokens(ids, logprobs, words) {
  const line = el("p", { class: "token-line", tabindex: "0", dir: "ltr", role: "group", "aria-label": "tokens" });
  ids.forEach((id, i) => {
    const word = words[id] === undefined ? `[${id}]` : plain(words[id]).replace(/\n/g, "↵\n");
    const token = el("span", { class: "token", title: `id ${id}, log-prob ${number(logprobs[i], 3)}, probability ${number(Math.exp(logprobs[i]), 3)}` }, word || "∅");
    token.style.setProperty("--surprise", Math.min(1, -logprobs[i] / 5).toFixed(3));
    line.append(token, el("sub", {}, number(logprobs[i], 2)), " ");
  });
  return ids.length ? line : el("p", { class: "note" }, "no tokens");
}

function pill(status) {
  return el("span", { class: "pill " + (status === "solved" ? "good" : status === "running" ? "idle" : "poor") }, MEANING[status] || plain(status));
}

function svg(tag, props) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  return node;
}
