package chromium

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
)

// Page is an open page.
type Page struct {
	tb      testing.TB
	b       *Browser
	session string

	// Guarded by b.mu:
	requests, console []string
}

func newTimer() *time.Timer { return time.NewTimer(leak.Patience()) }

// Open opens an empty page of a size in pixels, with a light or dark style. It fails the test if it
// cannot, as all methods of a Page do.
func (b *Browser) Open(tb testing.TB, width, height int, dark bool) *Page {
	tb.Helper()
	p := &Page{tb: tb, b: b}
	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	p.session = session.SessionID
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	tb.Cleanup(func() { _, _ = b.call("", "Target.closeTarget", map[string]any{"targetId": target.TargetID}) })
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.call(domain+".enable", nil, nil)
	}
	p.Look(width, height, dark)
	return p
}

// Look changes the size of the window in pixels, and whether the user wants a dark style.
func (p *Page) Look(width, height int, dark bool) {
	p.tb.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// call runs a command of the page's session.
func (p *Page) call(method string, params, result any) {
	p.tb.Helper()
	out, err := p.b.call(p.session, method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(out, result)
	}
	if err != nil {
		p.tb.Fatal(err)
	}
}

// event records an event.
func (p *Page) event(m message) {
	var e struct {
		Request          struct{ URL string }
		Entry            struct{ Text, Level, URL string }
		Args             []struct{ Value, Description any }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	switch m.Method {
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	case "Log.entryAdded":
		p.console = append(p.console, e.Entry.Level+": "+e.Entry.Text+" "+e.Entry.URL)
	case "Runtime.consoleAPICalled":
		p.console = append(p.console, fmt.Sprint(e.Args))
	case "Runtime.exceptionThrown":
		p.console = append(p.console, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	}
}

// Go opens an address.
func (p *Page) Go(url string) {
	p.tb.Helper()
	var r struct{ ErrorText string }
	p.call("Page.navigate", map[string]any{"url": url}, &r)
	if r.ErrorText != "" {
		p.tb.Fatalf("%.100s: %s", url, r.ErrorText)
	}
}

// Requests returns the addresses that the page has requested.
func (p *Page) Requests() []string { return p.list(&p.requests) }

// Console returns what the page has printed, and its errors.
func (p *Page) Console() []string { return p.list(&p.console) }

func (p *Page) list(l *[]string) []string {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return slices.Clone(*l)
}

// Eval returns the value of a JavaScript expression, with numbers as float64. It waits for a
// promise.
func (p *Page) Eval(expression string) any {
	p.tb.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if e := r.ExceptionDetails; e != nil {
		p.tb.Fatalf("%.200s: %s %s", expression, e.Text, e.Exception.Description)
	}
	return r.Result.Value
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) {
	p.tb.Helper()
	end := time.Now().Add(leak.Patience())
	for p.Eval(expression) != true {
		if time.Now().After(end) {
			p.tb.Fatalf("not true after %v: %s\nthe console says %q", leak.Patience(), expression, p.Console())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// keys are the keys that have no character, by their code in the protocol.
var keys = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}

// Press presses keys one after the other, each a character or a name such as ArrowDown.
func (p *Page) Press(names ...string) {
	p.tb.Helper()
	for _, name := range names {
		e := map[string]any{"type": "keyDown", "key": name, "windowsVirtualKeyCode": keys[name]}
		switch {
		case keys[name] == 0:
			e["text"] = name
		case name == "Enter":
			e["text"] = "\r"
		}
		p.call("Input.dispatchKeyEvent", e, nil)
		p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "windowsVirtualKeyCode": keys[name]}, nil)
	}
}

// Type inserts a text where the cursor is, as a user's input method does.
func (p *Page) Type(text string) {
	p.tb.Helper()
	p.call("Input.insertText", map[string]any{"text": text}, nil)
}

// Move moves the mouse to the middle of the first element that a selector matches.
func (p *Page) Move(selector string) {
	p.tb.Helper()
	quoted, err := json.Marshal(selector)
	if err != nil {
		p.tb.Fatal(err)
	}
	at, ok := p.Eval(`(() => { const e = document.querySelector(` + string(quoted) + `); e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`).(map[string]any)
	if !ok {
		p.tb.Fatalf("no element %s", selector)
	}
	p.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": at["x"], "y": at["y"]}, nil)
}

// Picture writes a picture of the page to a file, as PNG.
func (p *Page) Picture(file string) {
	p.tb.Helper()
	var r struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(file, data, 0o666)
	}
	if err != nil {
		p.tb.Fatal(err)
	}
}
