package page_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/page"
)

// example returns a file of the page's examples.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("build/web/examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// do sends a request as the page does, and reads the answer.
func do(t *testing.T, s *page.Session, request map[string]any, answer any) {
	t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(s.Do(text), answer); err != nil {
		t.Fatal(err)
	}
}

// The page has the findings of xdrgen check, with the place in the text, and fixes change the text.
func TestFindingsHavePlaceCauseAndFix(t *testing.T) {
	var s page.Session
	u := page.Unit{Text: example(t, "faults.x")}
	c := s.Check(u)
	var got []string
	fix := -1
	for i, f := range c.Findings {
		got = append(got, f.Severity+" "+f.Code)
		if f.Code == "XDR0005" {
			fix = i
			if f.Line != 14 || f.Column != 2 || !f.Fixable || !strings.Contains(f.Text, "input.x:14:2: error") || !strings.Contains(f.Text, "= help: put a ; here") {
				t.Errorf("%+v", f)
			}
		}
	}
	want := []string{"warning XDR0714", "error XDR0005", "error XDR0102", "error XDR0101", "warning XDR0701"}
	if !slices.Equal(got, want) || c.Errors != 3 || c.Warnings != 2 || c.Types != nil || len(c.Explain) != 5 {
		t.Errorf("%v, %d errors, %d warnings, types %v, %d explained; want %v", got, c.Errors, c.Warnings, c.Types, len(c.Explain), want)
	}
	fixed := s.Fix(u, fix)
	if fixed.Failure != "" || strings.Count(fixed.Text, "}") != strings.Count(fixed.Text, "};") {
		t.Errorf("%+v", fixed)
	}
	for _, none := range []int{-1, 0, 99} {
		if f := s.Fix(u, none); f.Failure == "" || f.Text != "" {
			t.Errorf("fix %d: %+v", none, f)
		}
	}
	if c := s.Check(page.Unit{Text: fixed.Text}); c.Errors != 2 {
		t.Errorf("%d errors after the fix", c.Errors)
	}
}

// A finding in the sidecar has no place in the text, and changes nothing there.
func TestFindingsOfTheSidecarHaveNoPlaceInTheText(t *testing.T) {
	var s page.Session
	c := s.Check(page.Unit{Text: "struct s { int i; };", Sidecar: "rename nothing Other\n"})
	if len(c.Findings) != 1 || c.Findings[0].Line != 0 || c.Findings[0].Fixable || !strings.HasPrefix(c.Findings[0].Text, "input.bind:1:") {
		t.Errorf("%+v", c)
	}
}

// A document is compiled in place: the findings have its lines. Only a part of it can be chosen.
func TestDocumentsAreReadInPlace(t *testing.T) {
	var s page.Session
	text := example(t, "draft.txt")
	if c := s.Check(page.Unit{Text: text}); !c.Document || len(c.Findings) != 0 || !slices.Contains(c.Types, "kv_message") || c.Programs {
		t.Errorf("%+v", c)
	}
	c := s.Check(page.Unit{Text: strings.Replace(text, "kv_put  kb_put", "kv_pot  kb_put", 1)})
	if len(c.Findings) != 1 || c.Findings[0].Line != 35 || !strings.HasPrefix(c.Findings[0].Text, "document.txt:35:16: error") || c.Findings[0].Fixable {
		t.Errorf("%+v", c.Findings)
	}
	c = s.Check(page.Unit{Text: strings.Replace(text, "/// };\n\n4.", "/// }\n\n4.", 1)})
	if len(c.Findings) != 1 || c.Findings[0].Code != "XDR0005" || c.Findings[0].Line != 43 || c.Findings[0].Fixable {
		t.Errorf("a fault in a document, which a fix could change: %+v", c.Findings)
	}
	if c := s.Check(page.Unit{Text: text, File: "other.x"}); !strings.Contains(c.Failure, "found the field File: other.x") {
		t.Errorf("%+v", c)
	}
	files := "   /// @@FILE a.x\n   /// struct a { int i; };\n   /// @@FILE b.x\n   /// struct b { int i; };\n\n1.  One\n\n2.  Two\n"
	if c := s.Check(page.Unit{Text: files, File: "b.x"}); !slices.Equal(c.Files, []string{"a.x", "b.x"}) || !slices.Equal(c.Types, []string{"b"}) {
		t.Errorf("%+v", c)
	}
}

// The page has the same Go code as xdrgen gen with the same flags.
func TestCodeIsThatOfGen(t *testing.T) {
	var s page.Session
	sidecar, err := os.ReadFile("../../../../examples/notes/notes.bind")
	if err != nil {
		t.Fatal(err)
	}
	u := page.Unit{Name: "notes.x", Text: example(t, "notes.x"), Sidecar: string(sidecar)}
	want, err := os.ReadFile("../../../../examples/notes/notes/notes_xdr.go")
	if err != nil {
		t.Fatal(err)
	}
	c := s.Code(u, page.CodeOptions{Package: "notes"})
	if len(c.Files) < 2 || c.Files[0].Name != "notes_xdr.go" {
		t.Fatalf("%s: %d files", c.Failure, len(c.Files))
	}
	head := func(text string) string { _, rest, _ := strings.Cut(text, "\npackage "); return rest }
	if head(c.Files[0].Text) != head(string(want)) {
		t.Errorf("not the text of examples/notes/notes:\n%.600s", c.Files[0].Text)
	}
	u.Sidecar = ""
	if c := s.Code(u, page.CodeOptions{}); len(c.Files) != 1 || !strings.Contains(c.Files[0].Text, "\npackage protocol\n") {
		t.Errorf("without options: %s, %d files", c.Failure, len(c.Files))
	}
	c = s.Code(u, page.CodeOptions{Views: true, RPC: true, Tests: true})
	var names []string
	for _, f := range c.Files {
		names = append(names, f.Name)
	}
	if len(names) < 4 || !strings.Contains(c.Files[0].Text, "xdrgen gen -o . -package protocol -views -tests -rpc notes.x") {
		t.Errorf("%v: %.400s", names, c.Files[0].Text)
	}
	for _, name := range []string{"a b", "func", "x\n//", strings.Repeat("a", 101)} {
		if c := s.Code(u, page.CodeOptions{Package: name}); c.Failure == "" || len(c.Files) > 0 {
			t.Errorf("package %q: %d files", name, len(c.Files))
		}
	}
	if c := s.Code(page.Unit{Text: example(t, "faults.x")}, page.CodeOptions{}); c.Failure != "" || c.Files == nil || len(c.Files) > 0 {
		t.Errorf("a unit with errors: %+v", c)
	}
}

// A picture is of the type that is asked for, or of the last struct or union.
func TestPictureOfAType(t *testing.T) {
	var s page.Session
	u := page.Unit{Text: example(t, "draft.txt")}
	p := s.Picture(u, "")
	if p.Name != "kv_message" || !slices.Equal(p.Types, []string{"kv_kind", "kv_put", "kv_body", "kv_message"}) || !strings.HasPrefix(p.SVG, "<svg ") || !strings.Contains(p.Text, "km_words") || !strings.Contains(p.File, "xmlns") {
		t.Errorf("%+v", p)
	}
	if p := s.Picture(u, "kv_put"); p.Name != "kv_put" || !strings.Contains(p.Text, "kp_time") {
		t.Errorf("%+v", p)
	}
	if p := s.Picture(page.Unit{Text: "const A = 1;"}, "A"); p.Name != "" || p.Types == nil || p.SVG != "" {
		t.Errorf("%+v", p)
	}
}

// Bytes become items, each byte in one of them, and a fault says which rule they break.
func TestBytesBecomeItems(t *testing.T) {
	var s page.Session
	u := page.Unit{Text: example(t, "draft.txt")}
	o := page.DataOptions{Text: example(t, "draft.hex"), Kind: "type", Type: "kv_message"}
	d := s.Decode(u, o)
	if d.Failure != "" || d.Faults != nil || d.Form != "hex" || d.Length != 60 || d.Rest != 0 || d.Total != len(d.Items) || len(d.Bytes) != 60 {
		t.Fatalf("%+v", d)
	}
	at := 0
	for _, it := range d.Items {
		if it.Offset != at {
			t.Errorf("%+v begins at %d, want %d", it, it.Offset, at)
		}
		at = it.Offset + it.Length
	}
	last := d.Items[len(d.Items)-1]
	if at != 60 || last.Path != "km_bodies[1].kb_key" || last.Text != `"colors"` || last.Role != "value" {
		t.Errorf("the last ends at %d: %+v", at, last)
	}
	data, err := base64.StdEncoding.DecodeString(base64.StdEncoding.EncodeToString(d.Bytes))
	if err != nil {
		t.Fatal(err)
	}
	o.Text, o.Form = base64.StdEncoding.EncodeToString(data), "base64"
	if again := s.Decode(u, o); len(again.Items) != len(d.Items) || again.Form != "base64" {
		t.Errorf("as base64: %+v", again)
	}
	o.Text, o.Form = strings.Replace(example(t, "draft.hex"), "00000001 00000006", "00000009 00000006", 1), "auto"
	d = s.Decode(u, o)
	if len(d.Faults) != 1 || d.Faults[0].Path != "km_bodies[1].kb_kind" || d.Faults[0].Offset != 44 || d.Faults[0].Rule == "" || d.Rest == 0 {
		t.Errorf("%+v", d)
	}
	for text, want := range map[string]string{"00 0z": "neither hex nor base64", "not bytes": "neither hex nor base64"} {
		if d := s.Decode(u, page.DataOptions{Text: text, Kind: "type", Type: "kv_message"}); !strings.Contains(d.Failure, want) {
			t.Errorf("%q: %+v", text, d)
		}
	}
	if d := s.Decode(u, page.DataOptions{Text: "0g", Form: "hex"}); !strings.Contains(d.Failure, `found "g"`) {
		t.Errorf("%+v", d)
	}
	if d := s.Decode(u, page.DataOptions{Text: "00", Form: "hex", Kind: "type", Type: "kv_massage"}); !strings.Contains(d.Failure, "kv_massage") {
		t.Errorf("%+v", d)
	}
}

// An RPC message needs no interface, but only an interface gives its arguments names.
func TestMessagesOfRPC(t *testing.T) {
	var s page.Session
	o := page.DataOptions{Text: example(t, "notes.hex"), Kind: "rpc"}
	d := s.Decode(page.Unit{}, o)
	if d.Failure != "" || d.Faults != nil || d.Items[0].Path != "rpc.xid" || d.Items[len(d.Items)-1].Path != "payload" {
		t.Errorf("%+v", d)
	}
	u := page.Unit{Text: example(t, "notes.x")}
	if c := s.Check(u); !c.Programs || !slices.Contains(c.Results, "NOTES.NOTES_V1.NOTES_GET") {
		t.Errorf("%+v", c)
	}
	d = s.Decode(u, o)
	if last := d.Items[len(d.Items)-1]; d.Faults != nil || last.Path != "args.arg1.text" || last.Text != "6 bytes" {
		t.Errorf("%+v", last)
	}
	reply := page.DataOptions{Text: "00000001 00000001 00000000 00000000 00000000 00000000 00000002", Kind: "rpc", Reply: "NOTES.NOTES_V1.NOTES_GET"}
	if d := s.Decode(u, reply); d.Faults != nil || d.Items[len(d.Items)-1].Text != "NOTE_UNKNOWN (2)" {
		t.Errorf("%+v", d)
	}
	for _, o := range []page.DataOptions{{Text: "00000000", Kind: "type", Type: "x"}, {Text: "00000000", Kind: "message"}} {
		if d := s.Decode(page.Unit{}, o); !strings.Contains(d.Failure, "only be an RPC message") {
			t.Errorf("without an interface: %+v", d)
		}
	}
	if d := s.Decode(page.Unit{Text: "struct {"}, o); !strings.Contains(d.Failure, "no errors") || len(d.Items) > 0 {
		t.Errorf("of an interface with errors: %+v", d)
	}
	with := page.Unit{Text: "struct p { int kind; };", Sidecar: "message p kind\n"}
	if d := s.Decode(with, page.DataOptions{Text: "00000000", Kind: "message", Type: "q"}); !strings.Contains(d.Failure, "-message") {
		t.Errorf("%+v", d)
	}
}

// Of many items an answer has a part, with the bytes of that part.
func TestManyItemsComeInPages(t *testing.T) {
	var s page.Session
	u := page.Unit{Text: "struct s { opaque big<>; int list<>; };"}
	text := "00010000" + strings.Repeat("00", 65536) + "000009c4" + strings.Repeat("00000007", 2500)
	o := page.DataOptions{Text: text, Kind: "type", Type: "s"}
	d := s.Decode(u, o)
	if d.Total != 2503 || len(d.Items) != 1000 || len(d.Bytes) != 16<<10 || d.Start != 0 || d.Failure != "" {
		t.Errorf("%d of %d items, %d bytes from %d: %s", len(d.Items), d.Total, len(d.Bytes), d.Start, d.Failure)
	}
	o.From = 2000
	d = s.Decode(u, o)
	if len(d.Items) != 503 || d.Items[0].Path != "list[1997]" || d.Start != d.Items[0].Offset || len(d.Bytes) != 4*503 {
		t.Errorf("%d items, %+v, %d bytes", len(d.Items), d.Items[0], len(d.Bytes))
	}
	o.From = 1 << 30
	if d := s.Decode(u, o); len(d.Items) != 0 || d.Total != 2503 {
		t.Errorf("beyond the end: %d of %d", len(d.Items), d.Total)
	}
}

// No request reads a file of the system, and a name of the user's choice becomes no path.
func TestRequestsReadNoFiles(t *testing.T) {
	var s page.Session
	for _, file := range []string{"../../../../examples/notes/notes.x", "build/web/examples/notes.x"} {
		c := s.Check(page.Unit{Text: "#include \"" + file + "\"\nstruct s { note_name n; };"})
		if c.Errors == 0 || !strings.Contains(c.Findings[0].Text, "include-not-found") {
			t.Errorf("%s: %+v", file, c)
		}
	}
	for name, want := range map[string]string{
		"notes.x": "notes.x:1:", "../../../../examples/notes/notes.x": "input.x:1:", "<img>.x": "input.x:1:", "-x": "input.x:1:",
		".x": "input.x:1:", "a.bind": "input.x:1:", strings.Repeat("a", 101): "input.x:1:", "\u202e.x": "input.x:1:",
	} {
		c := s.Check(page.Unit{Name: name, Text: "struct"})
		if len(c.Findings) == 0 || !strings.HasPrefix(c.Findings[0].Text, want) {
			t.Errorf("name %q: %+v", name, c)
		}
	}
}

// Of many errors the first 20 are shown.
func TestManyErrorsAreCut(t *testing.T) {
	var s page.Session
	c := s.Check(page.Unit{Text: strings.Repeat("struct s { thing t; };\n", 300)})
	if c.Errors < 300 || len(c.Findings) != 20 || c.Hidden == 0 {
		t.Errorf("%d errors, %d shown, %d hidden", c.Errors, len(c.Findings), c.Hidden)
	}
	many := ""
	for i := range 400 {
		many += "enum e" + strings.Repeat("x", i) + " { A" + strings.Repeat("y", i) + " = 1, B" + strings.Repeat("y", i) + " = 1 };\n"
	}
	if c := s.Check(page.Unit{Text: many}); c.Errors != 0 || c.Warnings < 400 || len(c.Findings) != 200 || c.Hidden != c.Warnings-200 {
		t.Errorf("%d errors, %d warnings, %d shown, %d hidden", c.Errors, c.Warnings, len(c.Findings), c.Hidden)
	}
}

// Whatever a request is, its answer is JSON, and small.
func TestAnswersAreSmallJSON(t *testing.T) {
	var s page.Session
	for _, text := range []string{"", "{", "[]", `{"op":"x"}`, `{"op":"check","unit":{"text":1}}`, "\xff"} {
		var f struct{ Failure string }
		if err := json.Unmarshal(s.Do([]byte(text)), &f); err != nil || f.Failure == "" {
			t.Errorf("%q: %v %+v", text, err, f)
		}
	}
	garbage := strings.Repeat("struct \x00<img src=x> { enum }} ;; /* ", 3000)
	for _, op := range []string{"check", "fix", "code", "picture", "decode"} {
		var answer map[string]any
		request := map[string]any{"op": op, "unit": page.Unit{Text: garbage}, "data": page.DataOptions{Text: garbage, Kind: "rpc"}}
		do(t, &s, request, &answer)
		text, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		if out := s.Do(text); len(out) > 200_000 || bytes.Count(out, []byte("\n")) != 1 {
			t.Errorf("%s: %d bytes, %d lines", op, len(out), bytes.Count(out, []byte("\n")))
		}
	}
	big := page.Unit{Text: "struct s { int i; };" + strings.Repeat(" ", 17<<20)}
	if c := s.Check(big); c.Failure == "" && c.Errors == 0 {
		t.Errorf("a text above the limit: %+v", c)
	}
}
