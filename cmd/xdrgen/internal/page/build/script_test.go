package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/chromium"
)

// imitation stands for the compiler: it names the struct of a text, takes forever for a long text,
// and finds the fault "turned" in a text with that word.
const imitation = `class Go {
  importObject = {};
  run() {
    const name = text => (/struct (\w+)/.exec(text) || [])[1];
    const answers = {
      check: u => ({findings: u.text.includes("turned") ? [{severity: "error", code: "XDR0000", rule: "turned", message: u.text, text: u.text + "\n", line: 1, column: 1, end_line: 1, end_column: 2}] : [],
        errors: u.text.includes("turned") ? 1 : 0, warnings: 0, hidden: 0, types: name(u.text) && [name(u.text)]}),
      decode: () => ({items: [], bytes: "", from: 0, start: 0, total: 0, length: 0}),
      picture: () => ({types: [], name: "", size: "", svg: "", text: ""}),
      code: u => ({files: [{name: "x.go", text: "type " + String(name(u.text)).toUpperCase() + " struct"}]}),
    };
    globalThis.xdrgen = text => { const r = JSON.parse(text); while (r.unit.text.length > 1e6); return JSON.stringify(answers[r.op](r.unit)); };
    return new Promise(() => {});
  }
}
`

// The scripts of the page are tested without the compiler, since it takes long to build.
func TestScriptsWithoutTheCompiler(t *testing.T) {
	b := chromium.Start(t)
	text, err := assemble([]byte("\x00asm\x01\x00\x00\x00"), imitation)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "index.html")
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
	u := user{b: b, url: "file://" + filepath.ToSlash(name)}
	u.page = u.open(t, "")
	u.hostileLinks(t)
	u.garbage(t)
	set(t, u.page, "text", "turned \u202e\u0001 <b>")
	want(t, textOf(u.page, "findings"), `turned \u202e\u0001 <b>`)
	if u.page.Eval(unharmed) != true || u.page.Eval(`document.querySelector("#findings b:not(.bad)")`) != nil {
		t.Error("a message has become markup")
	}
	quiet(t, u.page)
}
