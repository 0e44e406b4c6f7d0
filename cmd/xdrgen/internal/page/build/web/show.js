const $ = id => document.getElementById(id);
const policy = self.trustedTypes ? trustedTypes.createPolicy("xdrgen", {createScriptURL: s => s, createHTML: s => s}) : {createScriptURL: s => s, createHTML: s => s};

// visible shows characters that have no picture, or turn the text round, by their numbers.
function visible(text) { return String(text).replace(/(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/gu, c => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0")); }
// el makes an element. Children are nodes, or text, which is never markup.
function el(name, attrs, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attrs || {})) if (v !== undefined) e.setAttribute(k, v);
  e.append(...children.map(c => c instanceof Node ? c : visible(c)));
  return e;
}
function button(text, f) { const b = el("button", {type: "button"}, text); b.onclick = f; return b; }
function count(n, what) { return n.toLocaleString("en") + " " + what + (n === 1 ? "" : "s"); }
function size(n) { return n < 1e4 ? count(n, "byte") : n < 1e6 ? (n / 1e3).toFixed(1) + " kB" : (n / 1e6).toFixed(1) + " MB"; }
function options(select, list, keep) {
  select.replaceChildren(...list.map(([value, text]) => el("option", {value}, text)));
  select.value = list.some(o => o[0] === keep) ? keep : list.length ? list[0][0] : "";
}

// offsetOf returns the index in a text of a line and a column, which counts characters.
function offsetOf(text, line, column) {
  let at = 0;
  for (let n = 1; n < line; n++) { at = text.indexOf("\n", at) + 1; if (!at) return text.length; }
  for (let n = 1; n < column && at < text.length && text[at] !== "\n"; n++) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}
// go selects the place of a finding in the interface.
function go(f) {
  const t = $("text"), from = offsetOf(t.value, f.line, f.column), to = Math.max(from + 1, offsetOf(t.value, f.end_line, f.end_column));
  t.focus();
  t.setSelectionRange(from, to);
  t.scrollTop = Math.max(0, (f.line - 5) * parseFloat(getComputedStyle(t).lineHeight));
  $("lines").scrollTop = t.scrollTop;
}
function showFindings(a, fix) {
  const list = [];
  if (a.failure) list.push(el("p", {class: "bad"}, a.failure));
  a.findings.forEach((f, i) => {
    const bar = el("div", {class: "bar"});
    if (f.line) bar.append(button("Line " + f.line, () => go(f)));
    if (f.fixable) bar.append(button("Mend it", () => fix(i)));
    const meaning = (a.explain || []).find(m => m.code === f.code);
    const [head, ...rest] = f.text.replace(/\n$/, "").split("\n");
    list.push(el("article", {class: "finding " + f.severity, "aria-label": f.severity + " " + f.code},
      el("p", {class: "head"}, el("b", {class: f.severity === "error" ? "bad" : "warn"}, f.severity), " ", f.code + " " + f.rule + ": " + f.message),
      el("pre", {tabindex: 0, "aria-label": "in a terminal"}, [head, ...rest].slice(1).join("\n") || head), bar,
      ...(meaning ? [el("details", {}, el("summary", {}, "What " + f.code + " means"), el("pre", {tabindex: 0}, meaning.text))] : [])));
  });
  if (a.hidden) list.push(el("p", {class: "note"}, count(a.hidden, "more finding") + ", as xdrgen check -errors 0 shows."));
  if (!list.length) list.push(el("p", {class: "note"}, a.types ? "No findings." : "Findings about the interface are shown here: the place, the cause, and how to mend it."));
  $("findings").replaceChildren(...list);
  $("t-findings").textContent = "Findings" + (a.findings.length ? " (" + (a.errors + a.warnings) + ")" : "");
}
// marks colours the lines with findings beside the text.
function showLines(text, findings) {
  const n = text.split("\n").length, kinds = new Map();
  for (const f of findings) if (f.line && kinds.get(f.line) !== "b") kinds.set(f.line, f.severity === "error" ? "b" : "i");
  const parts = [];
  let plain = "";
  for (let i = 1; i <= n; i++) {
    if (kinds.has(i)) { parts.push(plain, el(kinds.get(i), {}, i), "\n"); plain = ""; } else plain += i + "\n";
  }
  $("lines").replaceChildren(...parts, plain);
  $("lines").scrollTop = $("text").scrollTop;
}

const words = /(\/\/[^\n]*|\/\*[\s\S]*?\*\/)|("(?:[^"\\\n]|\\.)*"|`[^`]*`)|\b(package|import|type|struct|func|return|const|var|if|else|for|range|switch|case|default|interface|map|error|nil|go|defer|break|continue)\b/g;
const most = 150000;
let files = [], whole = false;
function showCode(a) {
  files = a.files;
  options($("out"), files.map(f => [f.name, f.name]), $("out").value);
  whole = false;
  code(a.failure);
}
function file() { return files.find(f => f.name === $("out").value); }
// code shows the chosen file, with its comments, strings and keywords in colours.
function code(failure) {
  const f = file();
  for (const id of ["out", "copy", "save"]) $(id).disabled = !f;
  $("all").hidden = !f || whole || f.text.length <= most;
  $("size").textContent = f ? count(f.text.split("\n").length - 1, "line") : "";
  if (!f) { $("go").replaceChildren(visible(failure || "The Go package is shown here when the interface has no errors.")); return; }
  const text = whole ? f.text : f.text.slice(0, most), parts = [];
  let at = 0;
  for (const m of text.matchAll(words)) {
    parts.push(visible(text.slice(at, m.index)), el("span", {class: m[1] ? "c" : m[2] ? "s" : "k"}, m[0]));
    at = m.index + m[0].length;
  }
  $("go").replaceChildren(...parts, visible(text.slice(at)));
}
$("out").onchange = () => { whole = false; code(); };
$("all").onclick = () => { whole = true; code(); };
$("copy").onclick = async () => {
  try { await navigator.clipboard.writeText(file().text); $("size").textContent = "copied"; } catch (e) { getSelection().selectAllChildren($("go")); $("size").textContent = "selected: copy it"; }
};
$("save").onclick = () => download(file().name.replace(/^.*\//, ""), file().text);
function download(name, text, type = "text/plain") {
  const href = URL.createObjectURL(new Blob([text], {type}));
  el("a", {href, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

// copyOf copies a picture without anything but shapes and words: no links, scripts or styles.
function copyOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(visible(node.data));
  if (node.nodeType !== Node.ELEMENT_NODE || !["svg", "g", "path", "text", "tspan", "rect", "line", "title", "desc"].includes(node.localName)) return "";
  const e = document.createElementNS("http://www.w3.org/2000/svg", node.localName);
  for (const a of node.attributes) if (/^(class|role|aria-label|viewBox|width|height|x|y|x1|x2|y1|y2|dx|dy|d|transform|textLength|text-anchor)$/.test(a.name)) e.setAttribute(a.name, a.value);
  e.append(...[...node.childNodes].map(copyOf));
  return e;
}
let picture = null;
function showPicture(a) {
  picture = a.svg ? a : null;
  options($("pictured"), a.types.map(t => [t, t]), a.name);
  $("pictured").disabled = !a.types.length;
  $("save-svg").disabled = !picture;
  $("bytes-of").textContent = a.size;
  $("ascii").textContent = visible(a.text);
  const svg = picture && new DOMParser().parseFromString(policy.createHTML(a.svg), "text/html").querySelector("svg");
  $("drawing").replaceChildren(svg ? copyOf(svg) : el("p", {class: "note"}, a.failure || "The packet picture of a type is shown here when the interface has no errors."));
}
$("save-svg").onclick = () => download(picture.name.replace(/\W/g, "_") + ".svg", picture.file, "image/svg+xml");

function tab(name, focus) {
  for (const t of document.querySelectorAll("[role=tab]")) {
    const on = t.id === "t-" + name;
    t.setAttribute("aria-selected", on);
    t.tabIndex = on ? 0 : -1;
    $(t.getAttribute("aria-controls")).hidden = !on;
    if (on && focus) t.focus();
  }
}
for (const t of document.querySelectorAll("[role=tab]")) {
  t.onclick = () => tab(t.id.slice(2), true);
  t.onkeydown = e => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[e.key], all = [...document.querySelectorAll("[role=tab]")];
    if (step) { e.preventDefault(); tab(all[(all.indexOf(t) + step + all.length) % all.length].id.slice(2), true); }
  };
}
