// The worker: it runs the compiler, so that the page answers meanwhile. It begins after wasm_exec.js
// in one script.
async function compile(base64) {
  const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64) : Uint8Array.from(atob(base64), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}
async function start(m) {
  const module = m.module || await compile(m.base64), go = new Go();
  go.run(await WebAssembly.instantiate(module, go.importObject)).then(() => postMessage({failed: "the compiler has ended"}));
  postMessage({ready: module});
}
function run(m) { postMessage({run: m.run, op: m.part.op, answer: JSON.parse(xdrgen(JSON.stringify(m.part)))}); }
onmessage = async e => {
  try { await (e.data.part ? run : start)(e.data); } catch (err) { postMessage({failed: String(err)}); }
};
