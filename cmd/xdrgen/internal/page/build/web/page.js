// A text longer than this is held outside its field: a field of megabytes stops a browser.
const longest = 300000, shownOfHeld = 20000, largestFile = 16 << 20, largestLink = 4 << 20, longestAddress = 1500000;
const held = {text: null, data: null};
let loaded = {}, name = "", from = 0, run = 0, worker = null, module = null, timer, slow, began, waiting = null, checked = {findings: []}, note = "";

function value(id) { return held[id] === null ? $(id).value : held[id]; }
// put shows a text in its field, or holds it if it is long.
function put(id, text) {
  held[id] = text.length > longest ? text : null;
  $(id).value = held[id] === null ? text : text.slice(0, shownOfHeld);
  $(id).readOnly = held[id] !== null;
  $("held-" + id).hidden = held[id] === null;
  $("held-" + id).textContent = size(text.length) + " are held here. The field shows the first " + size(shownOfHeld) + ", and takes no changes until it is cleared.";
}
function state() {
  const s = {};
  for (const id of ["text", "data"]) s[id] = value(id);
  for (const id of ["sidecar", "file", "section", "package", "type", "reply", "form"]) s[id] = $(id).value;
  for (const id of ["views", "rpc", "tests"]) s[id] = $(id).checked;
  s.name = name;
  return s;
}
// load shows a state. It may be a stranger's: anything that is no text, or no truth value, is left out.
function load(s, from) {
  const text = id => typeof s[id] === "string" ? s[id] : "";
  put("text", text("text"));
  put("data", text("data"));
  name = text("name").slice(0, 100);
  for (const id of ["sidecar", "section", "package"]) $(id).value = text(id);
  loaded = {file: text("file"), type: text("type"), reply: text("reply")};
  $("form").value = ["hex", "base64"].includes(s.form) ? s.form : "auto";
  for (const id of ["views", "rpc", "tests"]) $(id).checked = s[id] === true;
  $("more").open = !!($("sidecar").value || $("section").value || loaded.file);
  note = from;
  submit();
}

// spawn starts a worker. The first one unpacks the compiler, and later ones get it from that.
function spawn() {
  const w = new Worker(policy.createScriptURL(source));
  w.onmessage = e => { if (w === worker) hear(e.data); };
  w.onerror = e => { if (w === worker) hear({failed: e.message}); };
  w.postMessage(module ? {module} : {base64: $("engine").textContent});
  w.ready = w.busy = false;
  return w;
}
const source = URL.createObjectURL(new Blob([$("worker").textContent], {type: "text/javascript"}));

function hear(m) {
  if (m.ready) { module = m.ready; worker.ready = true; if (waiting) send(); return; }
  if (m.failed) { // out of memory, for example: the next run gets a new worker
    stop("the compiler has stopped: " + m.failed, "bad");
    return;
  }
  if (m.run !== run) return;
  if (m.answer.failure !== undefined && Object.keys(m.answer).length === 1) { stop(m.answer.failure, "bad"); return; }
  ({check: showChecked, code: showCode, decode: showBytes, fix: showFixed, picture: showPicture})[m.op](m.answer);
  finish();
}
function say(text, kind) { $("state").textContent = visible(text); $("state").className = kind || ""; }

function unit() { return {name, text: value("text"), sidecar: $("sidecar").value, file: loaded.file ?? $("file").value, section: $("section").value}; }
function dataPart() {
  const chosen = loaded.type ?? $("type").value, i = chosen.indexOf(":"), kind = i < 0 ? "" : chosen.slice(0, i);
  return {op: "decode", unit: unit(), data: {text: value("data"), form: $("form").value, kind, type: chosen.slice(i + 1), reply: loaded.reply ?? $("reply").value, from}};
}
function picturePart() { return {op: "picture", unit: unit(), type: $("pictured").value}; }
function codePart() { return {op: "code", unit: unit(), code: {package: $("package").value, views: $("views").checked, rpc: $("rpc").checked, tests: $("tests").checked}}; }
// submit runs parts for what the fields have now, by default all. A part is made when the one before
// it has been answered: the bytes need the types. A run that has begun is over, and its worker ends.
function submit(...parts) {
  clearTimeout(timer);
  run++;
  if (!parts.length) from = 0;
  waiting = parts.length ? parts : [() => ({op: "check", unit: unit()}), dataPart, picturePart, codePart];
  if (worker && worker.busy) { worker.terminate(); worker = null; document.body.dataset.cancelled = Number(document.body.dataset.cancelled || 0) + 1; }
  if (!worker) worker = spawn();
  began = performance.now();
  clearTimeout(slow);
  slow = setTimeout(() => { say("working"); $("stop").hidden = false; }, 300);
  if (worker.ready) send();
}
function send() {
  worker.busy = true;
  worker.postMessage({run, part: waiting.shift()()});
}
function finish() {
  if (waiting.length) { send(); return; }
  worker.busy = false;
  waiting = null;
  loaded = {};
  clearTimeout(slow);
  $("stop").hidden = true;
  const ms = Math.max(1, Math.round(performance.now() - began)), found = checked.errors + checked.warnings;
  const what = checked.failure ? "not compiled" : found ? count(checked.errors, "error") + ", " + count(checked.warnings, "warning") : checked.types ? "no findings" : "ready";
  say((note ? note + ": " : "") + what + (what === "ready" ? "" : ", " + ms + " ms"), checked.errors || checked.failure ? "bad" : "");
  document.body.dataset.ready = Number(document.body.dataset.ready || 0) + 1;
}
function stop(text, kind) {
  clearTimeout(slow);
  run++;
  if (worker) worker.terminate();
  waiting = worker = null;
  $("stop").hidden = true;
  say(text, kind);
  document.body.dataset.stopped = Number(document.body.dataset.stopped || 0) + 1;
}

function showChecked(a) {
  checked = a;
  showFindings(a, index => submit(() => ({op: "fix", unit: unit(), fix: index})));
  showLines($("text").value, a.findings);
  $("kind").textContent = !value("text").trim() ? "" : a.document ? "a document" : "a .x file";
  options($("file"), [["", "all"], ...(a.files || []).map(f => [f, f])], loaded.file || $("file").value);
  loaded.file = undefined;
  if (a.errors || a.failure) return; // the types are those of the last text without errors
  const types = [["rpc:", "RPC message"], ...(a.messages || []).map(m => ["message:" + m, "message that begins with " + m]), ...(a.types || []).map(t => ["type:" + t, t])];
  const own = (a.types || []).filter(t => !t.includes(".")), first = a.programs || !own.length ? "rpc:" : "type:" + own[own.length - 1];
  const wanted = loaded.type || (touched ? $("type").value : "");
  options($("type"), types, types.some(t => t[0] === wanted) ? wanted : first);
  loaded.type = undefined;
  options($("reply"), [["", "any call"], ...(a.results || []).map(r => [r, r])], loaded.reply || $("reply").value);
  loaded.reply = undefined;
  $("reply").disabled = !(a.results || []).length;
}
function showFixed(a) {
  if (a.failure) { say(a.failure, "bad"); return; }
  put("text", a.text);
  changed();
}

// The state in a link is packed into the fragment, which a browser sends nowhere.
async function pack(s) {
  const out = new Blob([JSON.stringify(s)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const b = new Uint8Array(await new Response(out).arrayBuffer());
  let text = "";
  for (let i = 0; i < b.length; i += 8192) text += String.fromCharCode(...b.subarray(i, i + 8192));
  return "#x1=" + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
// unpack reads a fragment. It stops at a limit: a short link may hold a gigabyte of blanks.
async function unpack(fragment) {
  if (!fragment.startsWith("#x1=")) throw new Error("it begins with another word than x1");
  const packed = Uint8Array.from(atob(fragment.slice(4).replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader(), parts = [];
  for (let n = 0; ;) {
    const {done, value} = await reader.read();
    if (done) break;
    n += value.length;
    if (n > largestLink) { reader.cancel().catch(() => {}); throw new Error("it holds more than " + size(largestLink)); }
    parts.push(value);
  }
  const s = JSON.parse(await new Blob(parts).text());
  if (typeof s !== "object" || s === null) throw new Error("it holds no texts");
  return s;
}
async function follow() {
  const fragment = location.hash;
  if (fragment.length < 2) return false;
  try { load(await unpack(fragment), "from a link"); } catch (e) { say("the link is damaged: " + e.message, "bad"); document.body.dataset.damaged = "1"; }
  return true;
}
async function share() {
  const fragment = await pack(state());
  $("link").hidden = false;
  if (fragment.length > longestAddress) { $("address").value = ""; $("about").textContent = "This is too much for a link: " + size(fragment.length) + " packed, and browsers take " + size(longestAddress) + "."; return; }
  history.replaceState(null, "", fragment);
  $("address").value = location.href;
  $("address").focus();
  $("address").select();
  let copied = "copy it";
  try { await navigator.clipboard.writeText(location.href); copied = "it is in the clipboard"; } catch (e) { /* the user copies it */ }
  $("about").textContent = count(fragment.length, "character") + ": " + copied + ". The texts are in the part after #, which a browser sends to no server."
    + (fragment.length > 30000 ? " Some programs cut links of this length." : "");
  document.body.dataset.shared = Number(document.body.dataset.shared || 0) + 1;
}
function changed() {
  note = "";
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  clearTimeout(timer);
  timer = setTimeout(submit, 150);
}

let touched = false;
async function open(id, file) {
  if (!file) return;
  if (file.size > largestFile) { say(file.name + " is too large: the limit is " + size(largestFile), "bad"); return; }
  if (id === "text") { name = file.name; put("text", await file.text()); } else put("data", await dataOf(file));
  changed();
}
// dataOf returns a file of bytes as text: as it is if it is text, else in hex.
async function dataOf(file) {
  const b = new Uint8Array(await file.arrayBuffer());
  if (b.every(c => c === 9 || c === 10 || c === 13 || c >= 32 && c < 127)) return new TextDecoder().decode(b);
  const digits = Array.from({length: 256}, (_, i) => i.toString(16).padStart(2, "0")), parts = [];
  for (let i = 0; i < b.length; i += 16) parts.push(Array.from(b.subarray(i, i + 16), c => digits[c]).join(" "));
  return parts.join("\n");
}
for (const [id, pick, opener, clear] of [["text", "pick", "open", "clear"], ["data", "pick-data", "open-data", "clear-data"]]) {
  $(id).oninput = () => { if ($(id).value.length > longest) put(id, $(id).value); if (id === "text") showLines($(id).value, []); changed(); };
  $(id).onpaste = e => {
    const text = e.clipboardData.getData("text/plain");
    if (text.length > longest && held[id] === null) { e.preventDefault(); put(id, text); changed(); }
  };
  $(id).ondrop = e => { if (e.dataTransfer.files.length) { e.preventDefault(); open(id, e.dataTransfer.files[0]); } };
  $(pick).onchange = () => { open(id, $(pick).files[0]); $(pick).value = ""; };
  $(opener).onclick = () => $(pick).click();
  $(clear).onclick = () => { put(id, ""); if (id === "text") name = ""; changed(); $(id).focus(); };
}
$("text").onscroll = () => { $("lines").scrollTop = $("text").scrollTop; };
for (const id of ["sidecar", "section", "package"]) $(id).oninput = changed;
for (const id of ["file", "views", "rpc", "tests"]) $(id).onchange = changed;
for (const id of ["type", "reply", "form"]) $(id).onchange = () => { touched = true; changed(); };
$("back").onclick = () => { from = Math.max(0, from - 1000); submit(dataPart); };
$("next").onclick = () => { from += 1000; submit(dataPart); };
$("pictured").onchange = () => submit(picturePart);
$("stop").onclick = () => stop("stopped");
$("share").onclick = share;
$("close").onclick = () => { $("link").hidden = true; $("share").focus(); };
const examples = JSON.parse($("examples").textContent);
$("example").append(...examples.map((x, i) => el("option", {value: i}, x.title)));
$("example").onchange = () => {
  const x = examples[$("example").value];
  if (!x) return;
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  touched = false;
  load(x, "");
  $("example").value = "";
};
document.onkeydown = e => {
  const field = e.target.matches("textarea, input:not([type=checkbox]), select");
  if (e.key === "Escape") { if (field) e.target.blur(); else if (worker && worker.busy) stop("stopped"); return; }
  if (field || e.ctrlKey || e.metaKey || e.altKey) return;
  const to = {1: () => $("text").focus(), 2: () => tab("findings", true), 3: () => tab("code", true), 4: () => tab("picture", true), 5: () => $("data").focus(), 6: () => nodes.length && toNode(nodes[0])}[e.key];
  if (to) { e.preventDefault(); to(); }
};
onhashchange = follow;
follow().then(done => { if (!done) submit(); });
