package diag

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

func example(t *testing.T) (Diagnostic, *source.File) {
	t.Helper()
	f := source.NewFile("u/u.x", []byte("const A = 1;\n\tstruct é { int A; };\nstruct long {\n};\n"))
	o, err := source.ParseOrigin([]byte("xdr-origin 1 doc.txt\n1-4 doc.txt 300\n"))
	if err != nil {
		t.Fatal(err)
	}
	f.Origin = o
	d := New(DuplicateName, source.Span{File: f, Start: 27, End: 28}, "%s is declared twice", "A").
		With(source.Span{File: f, Start: 6, End: 7}, "declared here first").
		With(source.Span{}, "no place").
		Note("a note with \x1b[31m in it")
	return d, f
}

func TestFindingsAreText(t *testing.T) {
	d, _ := example(t)
	var b strings.Builder
	if err := WriteText(&b, d, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"u/u.x:2:14: error: XDR0103 duplicate-name: A is declared twice",
		"  --> doc.txt:301",
		"  |",
		"1 | const A = 1;",
		"  |       - declared here first (doc.txt:300)",
		"2 |         struct é { int A; };",
		"  |                     ^",
		"  = note: a note with \ufffd[31m in it",
		"  = rule: RFC 4506 §6.4 (3)",
		"  = help: rename one of the two",
		"",
	}, "\n")
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := WriteText(&b, d, TextOptions{Color: true}); err != nil || !strings.Contains(b.String(), red+"error:"+reset) {
		t.Errorf("found no colour: %v %q", err, b.String())
	}
}

func TestFindingsAreJSON(t *testing.T) {
	d, _ := example(t)
	var b strings.Builder
	if err := WriteJSON(&b, d); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSONSummary(&b, 1, 2, 3); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"v": 1.0, "type": "diagnostic", "severity": "error", "code": "XDR0103", "rule": "duplicate-name",
		"message": "A is declared twice", "section": "RFC 4506 §6.4 (3)", "help": "rename one of the two",
		"where": map[string]any{
			"file": "u/u.x", "line": 2.0, "column": 14.0, "end_line": 2.0, "end_column": 15.0,
			"origin": map[string]any{"document": "doc.txt", "line": 301.0},
		},
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	if want := `{"v":1,"type":"summary","errors":1,"warnings":2,"hidden":3}`; lines[1] != want {
		t.Errorf("summary %s", lines[1])
	}
}

func TestSortAndLimit(t *testing.T) {
	a, b := source.NewFile("b.x", []byte("0123456789")), source.NewFile("a.x", []byte("0123456789"))
	at := func(f *source.File, n int) source.Span { return source.Span{File: f, Start: n, End: n} }
	ds := []Diagnostic{
		New(UndefinedType, at(b, 1), "4"), New(CTypeName, at(a, 5), "3"), New(UndefinedType, at(a, 5), "2"), New(BadBound, at(a, 0), "1"),
	}
	Sort(ds, []*source.File{a, b})
	got := ""
	for _, d := range ds {
		got += d.Message
	}
	if got != "1234" {
		t.Errorf("order %s", got)
	}
	if e, w := Count(ds); e != 3 || w != 1 || !HasErrors(ds) || HasErrors(ds[2:3]) {
		t.Errorf("%d errors, %d warnings", e, w)
	}
	for _, c := range []struct{ n, kept, cut int }{{0, 4, 0}, {3, 4, 0}, {2, 2, 1}, {1, 1, 2}} {
		if kept, cut := Limit(ds, c.n); len(kept) != c.kept || cut != c.cut {
			t.Errorf("limit %d: kept %d, cut %d", c.n, len(kept), cut)
		}
	}
}

func TestQuotedTextIsPlain(t *testing.T) {
	if got := Quote(strings.Repeat("x", 100)); len(got) != 66 || !strings.HasSuffix(got, `..."`) {
		t.Errorf("%s", got)
	}
	if got := Quote("a\n\x00"); got != `"a\n\x00"` {
		t.Errorf("%s", got)
	}
}

func TestRuleOutOfRange(t *testing.T) {
	if Rule(-1).Info().Code != "XDR0000" || numRules.Info().Code != "XDR0000" {
		t.Error("a number that is not a rule has a code of a rule")
	}
	if len(Rules()) != int(numRules) {
		t.Error("Rules does not return all rules")
	}
}
