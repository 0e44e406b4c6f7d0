package main

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// link returns a fragment that holds a text.
func link(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "#x1=" + base64.RawURLEncoding.EncodeToString(out.Bytes())
}

// unharmed checks that no text became markup or ran: the page has the elements that it should.
const unharmed = `document.title === "xdrgen in a browser" && document.querySelector("img, iframe, object, embed, base, a[href], svg a, svg image, svg foreignObject, script[src], main script, main style") === null && window.owned === undefined`

// Names, comments and bytes that are markup, script or turned text are shown as they are.
func (u user) hostileTexts(t *testing.T) {
	p := u.page
	const evil = `<img src=x onerror=\"window.owned=1\"></script><script>window.owned=1</script>`
	set(t, p, "text", "/* "+strings.ReplaceAll(evil, `\`, "")+" \u202e */\nstruct <svg/onload=owned=1> { int i; };\n%"+strings.ReplaceAll(evil, `\`, "")+"\n")
	want(t, textOf(p, "findings"), "<svg", "error")
	set(t, p, "text", "/* "+strings.ReplaceAll(evil, `\`, "")+" \u202e turned */\nstruct s { string name<>; };\n")
	want(t, textOf(p, "go"), "<img src=x", `\u202e turned`)
	var hex strings.Builder
	name := strings.ReplaceAll(evil, `\`, "") + "\u202e"
	fmt.Fprintf(&hex, "%08x%x%s", len(name), name, strings.Repeat("00", (4-len(name)%4)%4))
	set(t, p, "data", hex.String())
	want(t, textOf(p, "tree"), "<img src=x onerror=", "</script><script>")
	if strings.Contains(textOf(p, "tree"), "\u202e") {
		t.Error("the tree has a character that turns text")
	}
	set(t, p, "section", `"><script>owned=1</script>`)
	want(t, textOf(p, "findings"), "no document among the files")
	set(t, p, "section", "")
	set(t, p, "package", `x"><script>owned=1</script>`)
	want(t, textOf(p, "go"), "found the package name")
	p.Move(`#tree [role=treeitem]:last-child > .row`)
	if p.Eval(unharmed) != true {
		t.Error("a text has become markup")
	}
	quiet(t, p)
}

// A link is data. What it holds of another form, of no form, or without end, does no harm.
func (u user) hostileLinks(t *testing.T) {
	p := u.page
	before := p.Eval(`document.getElementById("text").value`)
	for fragment, says := range map[string]string{
		"#x1=%%%":                            "the link is damaged",
		"#x1=AAAA":                           "the link is damaged",
		"#<img src=x onerror=owned=1>":       "the link is damaged",
		"#javascript:owned=1":                "the link is damaged",
		link(t, `not json`):                  "the link is damaged",
		link(t, `null`):                      "it holds no texts",
		link(t, strings.Repeat(" ", 16<<20)): "it holds more than 4.2 MB",
	} {
		p.Eval(`document.getElementById("state").textContent = ""; location.hash = ` + quote(fragment))
		p.Wait(`document.getElementById("state").textContent.startsWith("the link is damaged")`)
		want(t, textOf(p, "state"), says)
		if p.Eval(unharmed) != true || p.Eval(`document.getElementById("text").value`) != before {
			t.Errorf("%.40s: the page has changed", fragment)
		}
	}
	set(t, p, "text", "struct s { int i; };") // it works after them
	want(t, textOf(p, "state"), "no findings")
	const state = `{"text":{"toString":1},"data":["<b>"],"name":"<img src=x>","file":"\"><img src=x>","type":"type:__proto__","reply":"x","form":"<b>","views":"yes","package":7,
		"__proto__":{"text":"polluted"},"constructor":{"prototype":{"owned":1}},"sidecar":"<script>owned=1</script>"}`
	after(t, p, `location.hash = `+quote(link(t, state)))
	want(t, textOf(p, "state"), "from a link")
	got := p.Eval(`[document.getElementById("text").value, document.getElementById("data").value, document.getElementById("form").value, document.getElementById("views").checked, ({}).owned === undefined].join("|")`)
	if got != "||auto|false|true" || p.Eval(unharmed) != true {
		t.Errorf("the state is %v", got)
	}
	after(t, p, `location.hash = `+quote(link(t, `{"text":"struct t { int j; };"}`)))
	want(t, textOf(p, "go"), "type T struct")
	quiet(t, p)
}

// A link opens with the state that was shared, and a change removes it from the address.
func (u user) sharing(t *testing.T) {
	p := u.page
	choose(t, p, 1)
	set(t, p, "sidecar", "rpc\n")
	after(t, p, `document.getElementById("tests").click()`)
	const state = `JSON.stringify([...document.querySelectorAll("textarea, select, input:not([type=file], #address)")].map(e => [e.id, e.type === "checkbox" ? e.checked : e.value]))`
	before := p.Eval(state)
	p.Eval(`document.getElementById("share").click()`)
	p.Wait(`document.body.dataset.shared === "1"`)
	address := p.Eval(`document.getElementById("address").value`).(string)
	if address != p.Eval(`location.href`) || !strings.HasPrefix(address, u.url+"#x1=") || len(address) > 2000 {
		t.Errorf("%d characters: %s", len(address), address)
	}
	again := u.open(t, strings.TrimPrefix(address, u.url))
	if got := again.Eval(state); got != before {
		t.Errorf("shared:\n%v\nopened:\n%v", before, got)
	}
	want(t, textOf(again, "tree"), `"shopping"`)
	want(t, textOf(again, "state"), "from a link")
	set(t, again, "text", "struct s { int i; };")
	if hash := again.Eval(`location.hash`); hash != "" {
		t.Errorf("after a change the address has %v", hash)
	}
	quiet(t, again)
}

// 10 MB do not stop the page. A later text cancels their run, and so does Escape.
func (u user) garbage(t *testing.T) {
	p := u.page
	const paste = `(() => {
		let seed = 1, text = "";
		const words = ["struct", "{", "}", ";", "<", ">", "int", "foo", "union", "switch", "(", ")", "\n", "/*", "*/", "\u0000", "é", "case", "=", "7"];
		const line = Array.from({length: 4000}, () => words[seed = (seed * 16807) % 2147483647, seed % words.length]).join(" ");
		while (text.length < 10e6) text += line;
		const data = new DataTransfer();
		data.setData("text/plain", text);
		document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
	})()`
	p.Eval(paste)
	p.Wait(`document.getElementById("stop").hidden === false`)
	frames := p.Eval(`new Promise(done => { let n = 0; const next = () => ++n < 10 ? requestAnimationFrame(next) : done(n); next(); })`)
	if frames != 10.0 || !strings.HasPrefix(textOf(p, "state"), "working") {
		t.Errorf("%v frames while %s", frames, textOf(p, "state"))
	}
	want(t, textOf(p, "held-text"), "10.0 MB are held")
	if n := p.Eval(`document.getElementById("text").value.length`); n != 20000.0 {
		t.Errorf("the field has %v characters", n)
	}
	p.Eval(`document.getElementById("clear").click()`)
	set(t, p, "text", "struct s { int i; };")
	want(t, textOf(p, "state"), "no findings")
	if n := p.Eval(`Number(document.body.dataset.cancelled)`); n == 0.0 {
		t.Error("the run of the garbage was not cancelled")
	}
	p.Eval(paste)
	p.Wait(`document.getElementById("stop").hidden === false`)
	p.Eval(`document.activeElement.blur()`)
	p.Press("Escape")
	p.Wait(`document.body.dataset.stopped === "1" && document.getElementById("state").textContent === "stopped"`)
	p.Eval(`document.getElementById("clear").click()`)
	set(t, p, "text", "struct u { int i; };")
	want(t, textOf(p, "go"), "type U struct")
	quiet(t, p)
}
