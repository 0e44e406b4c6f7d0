// The bytes and the tree. A node has the items of one path, and the nodes below it.
let items = [], start = 0, total = 0, faults = [], bytes = new Uint8Array(), nodes = [], cursor = -1;

function showBytes(a) {
  items = a.items; start = a.start; total = a.total; faults = a.faults || []; cursor = -1;
  bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(a.bytes) : Uint8Array.from(atob(a.bytes), c => c.charCodeAt(0));
  $("hex").hidden = !bytes.length;
  $("tree").hidden = !items.length;
  $("pages").hidden = !a.from && items.length >= total;
  $("back").disabled = !a.from;
  $("next").disabled = a.from + items.length >= total;
  $("range").textContent = "items " + (a.from + 1) + " to " + (a.from + items.length) + " of " + total.toLocaleString("en");
  const list = faults.map(f => el("article", {class: "finding", "aria-label": "fault"},
    el("p", {class: "head"}, el("b", {class: "bad"}, "fault"), " at offset " + f.offset + (f.path ? ", in " + f.path : "") + ": " + f.message),
    el("p", {class: "note"}, "rule: " + f.rule), ...(f.note ? [el("p", {class: "note"}, "note: " + f.note)] : [])));
  if (a.failure) list.unshift(el("p", {class: "bad"}, a.failure));
  else if (a.rest && !faults.length) list.unshift(el("p", {class: "note"}, count(a.rest, "byte") + " after the value, not decoded"));
  $("faults").replaceChildren(...list);
  $("where").textContent = a.length ? count(a.length, "byte") + " of " + a.form + (faults.length ? "" : ", which keep all rules") : "";
  showHex();
  showTree();
}
function showHex() {
  const rows = [], bad = o => faults.some(f => o >= f.offset && o < f.offset + Math.max(1, f.length));
  for (let at = start - start % 8; at < start + bytes.length; at += 8) {
    const row = el("div", {}, el("span", {class: "o"}, at.toString(16).padStart(8, "0")), " ");
    let text = "";
    for (let o = at; o < at + 8; o++) {
      const b = bytes[o - start];
      if (o % 4 === 0) row.append(" ");
      if (o < start || b === undefined) { row.append(el("span", {class: "none"}, "  "), " "); text += " "; continue; }
      row.append(el("span", {"data-o": o, class: bad(o) ? "miss" : ""}, b.toString(16).padStart(2, "0")), " ");
      text += b >= 32 && b < 127 ? String.fromCharCode(b) : ".";
    }
    row.append(el("span", {class: "o"}, "|" + text + "|"));
    rows.push(row);
  }
  $("hex").replaceChildren(...rows);
}

// showTree makes nodes of the paths: "body.writes[3].target" is below "body.writes[3]".
function showTree() {
  nodes = [];
  const root = {path: "", level: 0, kids: []}, open = [root];
  const add = (path, name) => {
    const n = {path, name, level: open.length, kids: [], from: Infinity, to: -1, parent: open[open.length - 1]};
    n.parent.kids.push(n);
    open.push(n);
    nodes.push(n);
    return n;
  };
  for (const it of items) {
    const steps = it.path ? it.path.match(/\[[^\]]*\]|[^.[\]]+/g) || [it.path] : ["value"];
    let path = "", depth = 1;
    for (const [i, s] of steps.entries()) {
      path += (path && s[0] !== "[" ? "." : "") + s;
      const last = i === steps.length - 1, same = open[depth] && open[depth].path === path;
      if (!same || last) { open.length = depth; add(path, s); }
      depth++;
    }
    const leaf = open[depth - 1];
    open.length = depth;
    leaf.item = it;
    for (let n = leaf; n.level; n = n.parent) { n.from = Math.min(n.from, it.offset); n.to = Math.max(n.to, it.offset + it.length); }
  }
  $("tree").replaceChildren(...root.kids.map(branch));
  if (nodes.length) nodes[0].el.tabIndex = 0;
}
function branch(n) {
  const it = n.item, row = el("div", {class: "row"}, el("span", {class: "fold", "aria-hidden": "true"}, n.kids.length ? "▾" : ""), el("span", {class: "name"}, n.name),
    el("span", {class: "value"}, it ? it.text : ""), el("span", {class: "place", title: it ? it.type : ""}, n.to > n.from ? n.from + (n.to - n.from > 1 ? "–" + (n.to - 1) : "") : ""));
  n.el = el("div", {role: "treeitem", "aria-level": n.level, tabindex: -1, class: it && it.role !== "value" ? "word" : "", "aria-expanded": n.kids.length ? "true" : undefined}, row);
  if (n.kids.length) n.el.append(el("div", {role: "group"}, ...n.kids.map(branch)));
  n.el.node = n;
  return n.el;
}
function fold(n, shut) {
  if (!n.kids.length) return;
  n.el.setAttribute("aria-expanded", !shut);
  n.el.querySelector(".fold").textContent = shut ? "▸" : "▾";
}

// point marks a field and its bytes, and says what they are.
function point(n, byte) {
  for (const e of document.querySelectorAll("#hex .on, #hex .at, #tree .on")) e.classList.remove("on", "at");
  if (!n) { if (byte !== undefined) { mark(byte, "at"); $("where").textContent = "offset " + byte + ": not decoded"; } return; }
  n.el.classList.add("on");
  for (let o = Math.max(n.from, start); o < Math.min(n.to, start + bytes.length); o++) mark(o, "on");
  if (byte !== undefined) mark(byte, "at");
  const it = n.item;
  $("where").textContent = visible("offset " + n.from + " (0x" + n.from.toString(16) + "), " + count(Math.max(0, n.to - n.from), "byte") + ": " + n.path + (it ? (it.role === "value" ? " = " : ": ") + it.text + (it.type ? " (" + it.type + ")" : "") : ""));
}
function mark(o, word) { const e = cell(o); if (e) e.classList.add(word); }
function cell(o) {
  const row = $("hex").children[Math.floor(o / 8) - Math.floor(start / 8)];
  return row && row.querySelector('[data-o="' + o + '"]');
}
// nodeAt returns the field with a byte.
function nodeAt(o) { return nodes.find(n => n.item && o >= n.item.offset && o < n.item.offset + n.item.length); }
function toByte(o) {
  cursor = Math.min(Math.max(o, start), start + bytes.length - 1);
  const n = nodeAt(cursor);
  point(n, cursor);
  const c = cell(cursor);
  if (c) c.scrollIntoView({block: "nearest"});
  if (n) n.el.scrollIntoView({block: "nearest"});
}
function toNode(n) {
  for (const o of nodes) o.el.tabIndex = -1;
  n.el.tabIndex = 0;
  n.el.focus();
  point(n);
  const c = cell(n.from);
  if (c) $("hex").scrollTop = Math.max(0, c.offsetTop - $("hex").offsetTop - 40);
}
$("hex").onmouseover = e => { const o = e.target.dataset && e.target.dataset.o; if (o !== undefined) point(nodeAt(+o), +o); };
$("hex").onclick = e => { const o = e.target.dataset && e.target.dataset.o; if (o !== undefined) toByte(+o); };
$("hex").onfocus = () => { if (cursor < 0 && bytes.length && $("hex").matches(":focus-visible")) toByte(start); };
$("hex").onkeydown = e => {
  const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8, Home: -bytes.length, End: bytes.length}[e.key];
  if (step && bytes.length && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); toByte((cursor < 0 ? start : cursor) + step); }
};
function nodeOf(e) { const i = e.target.closest("[role=treeitem]"); return i && i.node; }
$("tree").onmouseover = e => { const n = nodeOf(e); if (n) point(n); };
$("tree").onclick = e => {
  const n = nodeOf(e);
  if (!n) return;
  if (e.target.className === "fold") fold(n, n.el.getAttribute("aria-expanded") === "true");
  toNode(n);
};
$("tree").onkeydown = e => {
  const n = nodeOf(e), shown = nodes.filter(o => o.el.offsetParent !== null && o.el.offsetHeight), i = shown.indexOf(n);
  if (!n || e.ctrlKey || e.metaKey || e.altKey) return;
  const to = {ArrowDown: shown[i + 1], ArrowUp: shown[i - 1], Home: shown[0], End: shown[shown.length - 1]}[e.key];
  if (to) toNode(to);
  else if (e.key === "ArrowLeft") n.el.getAttribute("aria-expanded") === "true" ? fold(n, true) : n.level > 1 && toNode(n.parent);
  else if (e.key === "ArrowRight") n.el.getAttribute("aria-expanded") === "false" ? fold(n, false) : n.kids[0] && toNode(n.kids[0]);
  else if (!["ArrowDown", "ArrowUp", "Home", "End"].includes(e.key)) return;
  e.preventDefault();
};
