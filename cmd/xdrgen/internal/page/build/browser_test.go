package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/chromium"
)

// TestPageInABrowser builds the page once, and uses it in one browser. Set PAGE_PICTURES to a
// folder for screenshots.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for WebAssembly, and starts a browser")
	}
	b := chromium.Start(t)
	folder := t.TempDir()
	var said strings.Builder
	if err := run(t.Context(), folder, &said); err != nil {
		t.Fatal(err)
	}
	t.Log(said.String())
	u := user{b: b, url: "file://" + filepath.ToSlash(folder) + "/index.html"}
	u.page = u.open(t, "")
	for _, test := range []struct {
		name string
		f    func(*testing.T)
	}{
		{"Keyboard", u.keyboard},
		{"BytesAndFields", u.bytesAndFields},
		{"FindingsAreMended", u.findings},
		{"HostileTexts", u.hostileTexts},
		{"HostileLinks", u.hostileLinks},
		{"Looks", u.looks},
		{"GarbageDoesNotFreeze", u.garbage},
		{"Sharing", u.sharing},
		{"FromDiskAndServer", func(t *testing.T) { u.fromDiskAndServer(t, folder) }},
	} {
		if !t.Run(test.name, test.f) {
			return // the page is in a state that the next test does not expect
		}
	}
}

// user has the page open in a browser. Most tests use this page one after the other, since each
// further one compiles the program again.
type user struct {
	b    *chromium.Browser
	url  string
	page *chromium.Page
}

// open opens the page, and waits until the compiler has started.
func (u user) open(t *testing.T, fragment string) *chromium.Page {
	t.Helper()
	p := u.b.Open(t, 1400, 900, false)
	p.Go(u.url + fragment)
	p.Wait(`document.body !== null && (document.body.dataset.ready || document.body.dataset.damaged || "") !== ""`)
	return p
}

// choose shows an example, and waits for all of its results.
func choose(t *testing.T, p *chromium.Page, n int) {
	t.Helper()
	after(t, p, fmt.Sprintf(`const e = document.getElementById("example"); e.value = "%d"; e.dispatchEvent(new Event("change"))`, n))
}

// after runs statements, and waits for the end of the run that they begin.
func after(t *testing.T, p *chromium.Page, statements string) {
	t.Helper()
	p.Eval(`{ window.before = document.body.dataset.ready; ` + statements + `; null }`)
	p.Wait(`document.body.dataset.ready !== window.before`)
}

// set puts a text into a field, as if it was typed.
func set(t *testing.T, p *chromium.Page, id, text string) {
	t.Helper()
	after(t, p, fmt.Sprintf(`const e = document.getElementById(%s); e.value = %s; e.dispatchEvent(new Event("input"))`, quote(id), quote(text)))
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func textOf(p *chromium.Page, id string) string {
	return p.Eval(`document.getElementById(` + quote(id) + `).textContent`).(string)
}

// quiet checks that a page has requested itself alone, and printed nothing.
func quiet(t *testing.T, p *chromium.Page) {
	t.Helper()
	for i, url := range p.Requests() {
		if i > 0 && !strings.HasPrefix(url, "blob:") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page requests %.200s", url)
		}
	}
	if lines := p.Console(); len(lines) > 0 {
		t.Errorf("the console says %q", lines)
	}
}

// want checks that a text has all parts.
func want(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %.2000s", part, text)
		}
	}
}

// From a disk and from a server the page works, and requests nothing but itself.
func (u user) fromDiskAndServer(t *testing.T, folder string) {
	var mu sync.Mutex
	var paths []string
	files := http.FileServer(http.Dir(folder))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	defer web.Close()
	served := user{b: u.b, url: web.URL + "/"}
	for _, p := range []*chromium.Page{u.page, served.open(t, "")} {
		choose(t, p, 1)
		want(t, textOf(p, "state"), "no findings")
		want(t, textOf(p, "tree"), "xid", "CALL (0)", `"shopping"`, "arg1")
		want(t, textOf(p, "go"), "type Note struct", "package protocol")
		want(t, textOf(p, "ascii"), "+-+-+")
		if n := p.Eval(`document.querySelectorAll("#drawing svg path").length`); n == 0.0 {
			t.Error("the picture has no lines")
		}
		for _, try := range []string{`fetch("` + web.URL + `/sent")`, `new Promise((ok, no) => { const i = new Image(); i.onload = ok; i.onerror = no; i.src = "` + web.URL + `/sent.png"; })`} {
			if got := p.Eval(`(` + try + `).then(() => "sent", () => "refused")`); got != "refused" {
				t.Errorf("%s: %v", try, got)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(paths) != 1 || paths[0] != "/" {
		t.Errorf("the server was asked for %v", paths)
	}
}

// All can be done by keys.
func (u user) keyboard(t *testing.T) {
	p := u.page
	p.Press("1")
	p.Type("struct s { int a; opaque b<4>; };")
	p.Wait(`document.getElementById("state").textContent.startsWith("no findings")`)
	p.Press("Escape", "3")
	p.Wait(`!document.getElementById("code").hidden && document.activeElement.id === "t-code"`)
	p.Press("ArrowRight")
	p.Wait(`!document.getElementById("picture").hidden && document.getElementById("code").hidden`)
	p.Press("ArrowRight")
	p.Wait(`!document.getElementById("findings").hidden && document.activeElement.id === "t-findings"`)
	p.Press("5")
	p.Type("00000007 00000002 41420000")
	p.Wait(`document.getElementById("tree").textContent.includes("2 bytes")`)
	p.Press("Escape", "6", "ArrowDown")
	p.Wait(`document.getElementById("where").textContent.startsWith("offset 4 (0x4), 4 bytes: b: 2 bytes")`)
	p.Press("End", "Home")
	p.Wait(`document.getElementById("where").textContent.startsWith("offset 0 (0x0), 4 bytes: a = 7 (int)")`)
	p.Eval(`document.getElementById("hex").focus()`)
	p.Press("ArrowRight", "ArrowDown")
	p.Wait(`document.getElementById("where").textContent.startsWith("offset 8 (0x8), 4 bytes: b = ") && document.querySelectorAll("#hex .on").length === 4`)
	if got := p.Eval(`[...document.querySelectorAll("button, select, input, textarea")].filter(e => e.type !== "file" && !(e.textContent.trim() || e.labels && e.labels.length || e.getAttribute("aria-label"))).map(e => e.id).join()`); got != "" {
		t.Errorf("without a name: %v", got)
	}
	quiet(t, p)
}

// The mouse over a byte marks its field, and over a field its bytes. Faults are marked, too.
func (u user) bytesAndFields(t *testing.T) {
	p := u.page
	choose(t, p, 2)
	p.Move(`#hex [data-o="20"]`)
	p.Wait(`document.querySelector("#tree .on > .row")?.textContent.includes("colors") === true`)
	p.Move(`#tree [aria-level="1"]:nth-child(2) > .row`)
	p.Wait(`document.querySelectorAll("#hex .on").length === 56 && document.getElementById("where").textContent.includes("km_bodies: 2 elements")`)
	p.Eval(`document.querySelector("#tree .fold:not(:empty)").click()`)
	p.Wait(`document.querySelector("#tree [aria-expanded=false]") !== null`)
	set(t, p, "data", "00000001 00000001 00000009")
	want(t, textOf(p, "faults"), "offset 8", "km_bodies[0].kb_kind", "rule: ")
	if n := p.Eval(`document.querySelectorAll("#hex .miss").length`); n != 4.0 {
		t.Errorf("%v bytes are marked as faulty", n)
	}
	set(t, p, "text", "struct s { int list<>; };")
	set(t, p, "data", "000009c4"+strings.Repeat("00000007", 2500))
	want(t, textOf(p, "range"), "items 1 to 1000 of 2,501")
	after(t, p, `document.getElementById("next").click()`)
	want(t, textOf(p, "range"), "items 1001 to 2000 of 2,501")
	want(t, textOf(p, "tree"), "[1500]")
	quiet(t, p)
}

// A finding leads to its place, says what its code means, and is mended.
func (u user) findings(t *testing.T) {
	p := u.page
	choose(t, p, 0)
	want(t, textOf(p, "state"), "3 errors, 2 warnings")
	want(t, textOf(p, "findings"), "XDR0102 undefined-constant", "did you mean MAXNAME?", "RFC 4506", "What XDR0005 means")
	got := p.Eval(`(() => { [...document.querySelectorAll(".finding button")].find(b => b.textContent === "Line 17").click(); const t = document.activeElement; return t.value.slice(t.selectionStart, t.selectionEnd); })()`)
	if got != "MAX_NAME" {
		t.Errorf("selected: %q", got)
	}
	after(t, p, `[...document.querySelectorAll(".finding button")].find(b => b.textContent === "Mend it").click()`)
	p.Wait(`document.getElementById("state").textContent.startsWith("2 errors")`)
	if lines := p.Eval(`document.querySelectorAll("#lines b").length`); lines != 2.0 {
		t.Errorf("%v lines are marked", lines)
	}
	quiet(t, p)
}

// On a narrow window nothing is cut off, and a dark style is dark.
func (u user) looks(t *testing.T) {
	type look struct {
		name          string
		width, height int
		dark          bool
		example       int
		tab           string
	}
	looks := []look{{"draft", 1500, 900, true, 2, "picture"}, {"narrow", 400, 2600, false, 2, "picture"}}
	folder := os.Getenv("PAGE_PICTURES")
	if folder != "" {
		looks = append(looks, look{"wide", 1500, 900, false, 1, "picture"}, look{"faults", 1500, 900, true, 0, "findings"}, look{"code", 1100, 800, false, 1, "code"}, look{"narrow-dark", 400, 2600, true, 0, "findings"})
	}
	for _, look := range looks {
		p := u.page
		p.Look(look.width, look.height, look.dark)
		choose(t, p, look.example)
		p.Eval(`document.getElementById("t-` + look.tab + `").click()`)
		if over := p.Eval(`document.documentElement.scrollWidth - innerWidth`).(float64); over > 0 {
			t.Errorf("%s: the page is %v pixels wider than the window", look.name, over)
		}
		outside := p.Eval(`[...document.querySelectorAll("button, select, input, textarea, .head, #where, #tree .row")].filter(e => e.offsetParent && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.id || e.className || e.textContent).join()`)
		if outside != "" {
			t.Errorf("%s: outside of the window: %v", look.name, outside)
		}
		back := p.Eval(`getComputedStyle(document.body).backgroundColor`)
		if dark := back == "rgb(22, 25, 29)"; dark != look.dark {
			t.Errorf("%s: the background is %v", look.name, back)
		}
		if folder != "" {
			p.Picture(filepath.Join(folder, look.name+".png"))
		}
		quiet(t, p)
	}
}

// The page is below the limit, the same for the same compiler, and has no address of another.
func TestPageIsSmallAndReproducible(t *testing.T) {
	engine := []byte("engine")
	first, err := assemble(engine, "runtime")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := assemble(engine, "runtime"); err != nil || string(again) != string(first) {
		t.Errorf("differs in a second run: %v", err)
	}
	if len(first) > 100_000 {
		t.Errorf("without the compiler the page has %d bytes", len(first))
	}
	text := strings.ReplaceAll(string(first), "http://www.w3.org/2000/svg", "")
	for _, part := range []string{"http:", "https:", "src=", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "localStorage", "{{", "unsafe-inline", "'unsafe-eval'"} {
		if strings.Contains(text, part) {
			t.Errorf("the page contains %q", part)
		}
	}
	for _, part := range []string{"default-src 'none'", "worker-src blob:", "form-action 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(text, part) {
			t.Errorf("the policy lacks %q", part)
		}
	}
	if _, err := script("a </ScRiPt>"); err == nil {
		t.Error("a script may end its element")
	}
	if _, err := fill("{{A}} {{A}}", map[string]string{"A": ""}); err == nil {
		t.Error("a mark may be there twice")
	}
}
