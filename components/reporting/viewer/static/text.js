// Text that a model wrote, shown and never obeyed: only text nodes, with invisible signs spelled out.

const SHOWN = 4000; // characters of a long text before the button that shows the rest
const PIECE = 65536; // characters per text node of a long text

// Controls but newline and tab, zero-width and bidirectional signs, tags, lone surrogates.
const SIGNS = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5" +
  "\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb" +
  "\\u{e0000}-\\u{e0fff}]", "gu");

function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function signName(sign) {
  const code = sign.codePointAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code); // a picture: ␀ ␛ ␍
  if (code === 0x7f) return "\u2421";
  return "U+" + code.toString(16).toUpperCase().padStart(4, "0");
}

// Appends text to a node; each invisible sign becomes a marked, readable name.
function appendText(node, text) {
  let from = 0;
  for (const found of text.matchAll(SIGNS)) {
    if (found.index > from) appendPieces(node, text.slice(from, found.index));
    node.append(el("span", { class: "sign" }, signName(found[0])));
    from = found.index + found[0].length;
  }
  if (from < text.length) appendPieces(node, text.slice(from));
  return node;
}

function appendPieces(node, text) {
  for (let at = 0; at < text.length; at += PIECE) {
    node.append(document.createTextNode(text.slice(at, at + PIECE)));
  }
}

// One line for attributes and lists: signs spelled out, so no name turns the line around.
function plain(text) {
  return String(text).replace(SIGNS, signName);
}

// A block of text; of a long one the beginning, and a button for the rest.
function textBlock(text, label) {
  const block = el("pre", { class: "text", tabindex: "0", dir: "ltr", role: "group", "aria-label": label });
  appendText(block, text.slice(0, SHOWN));
  if (text.length <= SHOWN) return block;
  const more = el("button", { type: "button", class: "more" },
    `show all ${text.length.toLocaleString("en")} characters`);
  more.addEventListener("click", () => { more.remove(); appendText(block, text.slice(SHOWN)); });
  return el("div", {}, block, more);
}

// A prompt's message, with what the prompt before it did not have marked: line by line, and of a
// line that goes on the end.
function promptBlock(text, before, label) {
  if (!before || text.length > SHOWN) return textBlock(text, label);
  const block = el("pre", { class: "text", tabindex: "0", dir: "ltr", role: "group", "aria-label": label });
  const lines = text.split("\n");
  lines.forEach((line, i) => {
    const old = before.has(line) || !line.trim() ? line.length : knownStart(line, before);
    appendText(block, line.slice(0, old));
    if (old < line.length) block.append(appendText(el("mark", {}), line.slice(old)));
    if (i < lines.length - 1) block.append("\n");
  });
  return block;
}

// How much of a line one of the earlier lines begins with too, in whole words; 0 for less than a third.
function knownStart(line, before) {
  let most = 0;
  for (const other of before) {
    let same = 0;
    while (same < line.length && line[same] === other[same]) same++;
    if (same > most && (same === other.length || line[same - 1] === " ")) most = same;
  }
  return most * 3 > line.length ? most : 0;
}

function counted(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function number(value, digits) {
  return value === null || value === undefined ? "none" : value.toFixed(digits);
}

function signed(value, digits) {
  return value === null || value === undefined ? "none" : (value > 0 ? "+" : "") + value.toFixed(digits);
}
