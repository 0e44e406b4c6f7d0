package lsp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// notes is a folder with a unit of two files and a sidecar, one that includes it, and one extracted
// from a document.
var notes = map[string]string{
	"notes/types.x": `/* The longest name, in bytes. */
const MAXNAME = 16;
enum kind { SMALL = 1, LARGE = 2 };
typedef string name<MAXNAME>;
`,
	"notes/notes.x": `struct note {
    name title; /* of the note */
    kind how;
    opaque text<>;
};
union result switch (kind how) {
case SMALL:
    note small;
default:
    void;
};
program NOTES {
    version NOTES_V1 {
        result NOTE_GET(name) = 1;
    } = 1;
} = 0x20000200;
`,
	"notes/notes.bind":   "package example.org/notes\nrename note.title Heading\nddp NOTES.NOTES_V1.NOTE_GET result small.text\nopen kind # no kind here: kind\n",
	"user/user.x":        "#include \"notes/types.x\"\ntypedef name other<(MAXNAME + 1)>;\n",
	"rfc/proto.x":        "const FOUR = 4;\ntypedef opaque word[FOUR];\n",
	"rfc/proto.x.origin": "xdr-origin 1 draft.txt\n1 draft.txt 3\n2 draft.txt 5\n",
	"other/other.x":      "const SMALL = 3;\ntypedef opaque name[SMALL];\n",
	"draft.txt":          "A draft.\n\n   const FOUR = 4;\n\n   typedef opaque word[FOUR];\n",
}

// openAll opens files and waits until they are checked without findings.
func (s *session) openAll(names ...string) {
	s.t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			s.t.Fatal(err)
		}
		s.open(name, string(text))
	}
}

// of returns parameters for the n-th occurrence of a word in a file.
func (s *session) of(name, word string, n int) object {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	at := -1
	for range n {
		i := strings.Index(string(text[at+1:]), word)
		if i < 0 {
			s.t.Fatalf("%s has no %q number %d", name, word, n)
		}
		at += 1 + i
	}
	before := string(text[:at])
	p := s.at(name, strings.Count(before, "\n"), at-(strings.LastIndex(before, "\n")+1))
	p["context"] = object{"includeDeclaration": true}
	return p
}

// places returns locations in short: "notes/types.x 1:6-1:13".
func (s *session) places(result string) []string {
	s.t.Helper()
	var all []struct {
		URI   string
		Range rng
	}
	if err := json.Unmarshal([]byte(result), &all); err != nil {
		s.t.Fatalf("%v in %s", err, result)
	}
	var out []string
	for _, l := range all {
		out = append(out, fmt.Sprintf("%s %v", strings.TrimPrefix(l.URI, s.uri("")+"/"), l.Range))
	}
	return out
}

func TestDefinitionsAreFound(t *testing.T) {
	s := begin(t, notes)
	s.initialize()
	s.openAll("notes/notes.x", "notes/notes.bind", "user/user.x", "rfc/proto.x")
	for _, c := range []struct {
		file, word string
		n          int
		want       string
	}{
		{"notes/notes.x", "name title", 1, "notes/types.x 3:15-3:19"},
		{"notes/notes.x", "kind how", 2, "notes/types.x 2:5-2:9"},
		{"notes/notes.x", "SMALL", 1, "notes/types.x 2:12-2:17"},
		{"notes/notes.x", "note small", 1, "notes/notes.x 0:7-0:11"},
		{"notes/notes.x", "title", 1, "notes/notes.x 1:9-1:14"},
		{"notes/notes.x", "name)", 1, "notes/types.x 3:15-3:19"},
		{"notes/notes.bind", "note.title", 1, "notes/notes.x 0:7-0:11"},
		{"notes/notes.bind", "title", 1, "notes/notes.x 1:9-1:14"},
		{"notes/notes.bind", "NOTES_V1", 1, "notes/notes.x 12:12-12:20"},
		{"notes/notes.bind", "NOTE_GET", 1, "notes/notes.x 13:15-13:23"},
		{"notes/notes.bind", "small.text", 1, "notes/notes.x 7:9-7:14"},
		{"notes/notes.bind", "text", 1, "notes/notes.x 3:11-3:15"},
		{"notes/notes.bind", "kind", 1, "notes/types.x 2:5-2:9"},
		{"notes/notes.bind", "kind", 2, ""}, // in the comment
		{"user/user.x", "notes/types.x", 1, "notes/types.x 0:0-0:0"},
		{"user/user.x", "name", 1, "notes/types.x 3:15-3:19"},
		{"user/user.x", "MAXNAME", 1, "notes/types.x 1:6-1:13"},
		{"rfc/proto.x", "FOUR", 2, "rfc/proto.x 0:6-0:10"},
		{"rfc/proto.x", "FOUR", 1, "draft.txt 2:9-2:13"},
		{"rfc/proto.x", "word", 1, "draft.txt 4:18-4:22"},
		{"rfc/proto.x", "opaque", 1, ""},
	} {
		result := s.call("textDocument/definition", s.of(c.file, c.word, c.n))
		if c.want == "" {
			if result != "null" {
				t.Errorf("%s of %s: found %s, want null", c.word, c.file, result)
			}
			continue
		}
		if diff := cmp.Diff([]string{c.want}, s.places(result)); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", c.word, c.file, diff)
		}
	}
}

func TestReferencesAreFoundInAllUnits(t *testing.T) {
	s := begin(t, notes)
	s.initialize()
	s.openAll("notes/types.x")
	for _, c := range []struct {
		file, word string
		n          int
		want       []string
	}{
		{"notes/types.x", "MAXNAME", 1, []string{"notes/types.x 1:6-1:13", "notes/types.x 3:20-3:27", "user/user.x 1:20-1:27"}},
		{"notes/types.x", "name<", 1, []string{"notes/notes.x 1:4-1:8", "notes/notes.x 13:24-13:28", "notes/types.x 3:15-3:19", "user/user.x 1:8-1:12"}},
		{"notes/types.x", "kind", 1, []string{"notes/notes.bind 3:5-3:9", "notes/notes.x 2:4-2:8", "notes/notes.x 5:21-5:25", "notes/types.x 2:5-2:9"}},
		{"notes/types.x", "SMALL", 1, []string{"notes/notes.x 6:5-6:10", "notes/types.x 2:12-2:17"}},
	} {
		if diff := cmp.Diff(c.want, s.places(s.call("textDocument/references", s.of(c.file, c.word, c.n)))); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", c.word, c.file, diff)
		}
	}
	p := s.of("notes/types.x", "SMALL", 1)
	p["context"] = object{"includeDeclaration": false}
	if got := s.places(s.call("textDocument/references", p)); len(got) != 1 {
		t.Errorf("without the declaration: %q", got)
	}
	s.change("notes/types.x", 2, "/* SMALL */ ", 2, 0, 2, 0)
	p["position"] = object{"line": 2, "character": 26}
	p["context"] = object{"includeDeclaration": true}
	if diff := cmp.Diff([]string{"notes/notes.x 6:5-6:10", "notes/types.x 2:24-2:29"}, s.places(s.call("textDocument/references", p))); diff != "" {
		t.Errorf("after an edit (-want +got):\n%s", diff)
	}
}

func TestHoversSayBytesValuesAndComments(t *testing.T) {
	s := begin(t, notes)
	s.initialize()
	s.openAll("notes/notes.x", "user/user.x", "rfc/proto.x", "notes/notes.bind")
	for _, c := range []struct {
		file, word string
		n          int
		want       []string
	}{
		{"user/user.x", "MAXNAME", 1, []string{"const MAXNAME = 16\n", "value 16 (0x10)", "The longest name, in bytes.", "declared at types.x:2"}},
		{"notes/notes.x", "name title", 1, []string{"typedef string name<16>\n", "on the wire 4 to 20 bytes"}},
		{"notes/notes.x", "SMALL", 1, []string{"SMALL = 1\n", "member of enum kind: 1 (0x1)"}},
		{"notes/notes.x", "note small", 1, []string{"struct note {\n    name title;\n    kind how;\n    opaque text<>;\n};", "on the wire 12 to 4294967324 bytes", "+-+-+"}},
		{"notes/notes.x", "title", 1, []string{"name title\n", "in struct note; on the wire 4 to 20 bytes", "of the note"}},
		{"notes/notes.x", "result", 1, []string{"union result switch (kind how) {\n    case SMALL: note small;\n    default: void;\n};", "4 to 4294967328 bytes"}},
		{"notes/notes.x", "NOTE_GET", 1, []string{"result NOTE_GET(name) = 1\n", "procedure 1 of version NOTES_V1 of program NOTES"}},
		{"notes/notes.x", "NOTES_V1", 1, []string{"version NOTES_V1 = 1\n"}},
		{"notes/notes.x", "NOTES", 1, []string{"program NOTES {\n    version NOTES_V1 = 1: 1 procedures\n} = 536871424;", "0x20000200"}},
		{"notes/notes.bind", "small", 1, []string{"note small\n"}},
		{"rfc/proto.x", "FOUR", 2, []string{"declared at proto.x:1, from draft.txt:3"}},
	} {
		result := s.call("textDocument/hover", s.of(c.file, c.word, c.n))
		var h struct{ Contents struct{ Kind, Value string } }
		if err := json.Unmarshal([]byte(result), &h); err != nil || h.Contents.Kind != "markdown" {
			t.Errorf("%s of %s: %s (%v)", c.word, c.file, result, err)
		}
		for _, w := range c.want {
			if !strings.Contains(h.Contents.Value, w) {
				t.Errorf("%s of %s: found\n%s\nwant %q in it", c.word, c.file, h.Contents.Value, w)
			}
		}
	}
	for _, p := range []object{s.of("notes/notes.x", "struct", 1), s.at("notes/notes.x", 999, 0)} {
		if got := s.call("textDocument/hover", p); got != "null" {
			t.Errorf("hover at no name: %s", got)
		}
	}
}

// A comment cannot leave its block or turn the text around it.
func TestCommentsAreNoMarkup(t *testing.T) {
	s := begin(t, nil)
	s.initialize()
	s.open("a.x", "/* ```\n<script>alert(1)</script> [x](command:y) ```` \u202e\u2066 */\nconst A = 1;\n")
	got := s.call("textDocument/hover", s.at("a.x", 2, 6))
	if want := "`````text\\n```\\n\\u003cscript\\u003e"; !strings.Contains(got, want) || strings.ContainsAny(got, "\u202e\u2066") {
		t.Errorf("found %s, want %s in it", got, want)
	}
}

func TestHoversInAUnitWithErrorsHaveNoBytes(t *testing.T) {
	s := begin(t, nil)
	s.initialize()
	s.open("a.x", "struct s { int a; missing b; };\nunion u switch (int k) { case 1: int x; };\ntypedef s t;\n")
	got := s.call("textDocument/hover", s.at("a.x", 2, 8))
	if !strings.Contains(got, "known when the unit has no errors") || !strings.Contains(got, `int a;`) {
		t.Errorf("found %s", got)
	}
	for line := range 3 {
		for c := range 45 { // no place makes it fail
			s.call("textDocument/hover", s.at("a.x", line, c))
		}
	}
}

func TestFixesAreActions(t *testing.T) {
	s := begin(t, map[string]string{"b.x.origin": "xdr-origin 1 d.txt\n1 d.txt 1\n"})
	s.initialize()
	s.open("a.x", "struct s { unsigned a; string b; };\r\n")
	version, uri := 1, s.uri("a.x")
	ask := func(name string, from, to int, only ...string) string {
		p := s.at(name, 0, 0)
		p["range"] = object{"start": object{"line": 0, "character": from}, "end": object{"line": 0, "character": to}}
		p["context"] = object{"diagnostics": []object{}, "only": only}
		return s.call("textDocument/codeAction", p)
	}
	got := ask("a.x", 12, 12)
	var actions []struct {
		Title, Kind string
		Diagnostics []struct{ Code string }
		Edit        struct {
			DocumentChanges []struct {
				TextDocument struct {
					URI     string
					Version int
				}
				Edits []struct {
					Range   rng
					NewText string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(got), &actions); err != nil || len(actions) != 2 {
		t.Fatalf("found %s (%v)", got, err)
	}
	first := actions[0]
	if e := first.Edit.DocumentChanges; first.Title != "write unsigned int" || first.Kind != "quickfix" || first.Diagnostics[0].Code != "XDR0702" ||
		len(e) != 1 || e[0].TextDocument.URI != uri || e[0].TextDocument.Version != version || len(e[0].Edits) != 1 ||
		e[0].Edits[0].Range.String() != "0:11-0:19" || e[0].Edits[0].NewText != "unsigned int" {
		t.Errorf("found %+v", first)
	}
	if all := actions[1]; all.Kind != "source.fixAll" || len(all.Edit.DocumentChanges[0].Edits) != 2 {
		t.Errorf("found %+v", all)
	}
	for only, want := range map[string]int{"quickfix": 1, "source": 1, "source.fixAll": 1, "refactor": 0, "quick": 0} {
		if got := ask("a.x", 12, 12, only); strings.Count(got, `"title"`) != want {
			t.Errorf("only %s: %s", only, got)
		}
	}
	if got := ask("a.x", 0, 3, "quickfix"); got != "[]" {
		t.Errorf("where nothing is found: %s", got)
	}
	s.open("b.x", "struct s { unsigned a; };\n")
	if got := ask("b.x", 0, 20); got != "[]" {
		t.Errorf("a file that was extracted: %s", got)
	}
}

func TestSymbolsAreATree(t *testing.T) {
	s := begin(t, notes)
	s.initialize()
	s.openAll("notes/notes.x", "notes/notes.bind")
	type tree struct {
		Name           string
		Kind           int
		Range          rng
		SelectionRange rng
		Children       []json.RawMessage
	}
	var show func(raw json.RawMessage) string
	show = func(raw json.RawMessage) string {
		var x tree
		if err := json.Unmarshal(raw, &x); err != nil {
			t.Fatal(err)
		}
		out := fmt.Sprintf("%s:%d", x.Name, x.Kind)
		if in, own := x.Range, x.SelectionRange; own.Start.Line < in.Start.Line || own.End.Line > in.End.Line {
			t.Errorf("%s: the name %v is outside %v", x.Name, own, in)
		}
		for _, c := range x.Children {
			out += "(" + show(c) + ")"
		}
		return out
	}
	var all []json.RawMessage
	result := s.call("textDocument/documentSymbol", s.at("notes/notes.x", 0, 0))
	if err := json.Unmarshal([]byte(result), &all); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, raw := range all {
		got = append(got, show(raw))
	}
	want := []string{"note:23(title:8)(how:8)(text:8)", "result:11(how:8)(small:8)", "NOTES:2(NOTES_V1:3(NOTE_GET:12))"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("symbols (-want +got):\n%s", diff)
	}
	if got := s.call("textDocument/documentSymbol", s.at("notes/notes.bind", 0, 0)); got != "null" {
		t.Errorf("symbols of a sidecar: %s", got)
	}
	var found []struct {
		Name     string
		Location struct{ URI string }
	}
	if err := json.Unmarshal([]byte(s.call("workspace/symbol", object{"query": "nAm"})), &found); err != nil || len(found) != 3 || found[0].Name != "MAXNAME" || found[1].Name != "name" {
		t.Errorf("names with nAm: %+v (%v)", found, err)
	}
}

func TestNamesAreCompleted(t *testing.T) {
	s := begin(t, notes)
	s.initialize()
	s.openAll("notes/notes.x", "notes/notes.bind", "user/user.x")
	labels := func(p object) string {
		var all []struct{ Label string }
		if err := json.Unmarshal([]byte(s.call("textDocument/completion", p)), &all); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, x := range all {
			out = append(out, x.Label)
		}
		return " " + strings.Join(out, " ") + " "
	}
	if got := labels(s.of("user/user.x", "other", 1)); !strings.Contains(got, " note ") || !strings.Contains(got, " SMALL ") || !strings.Contains(got, " typedef ") {
		t.Errorf("in a typedef: %s", got)
	}
	if got := labels(s.of("notes/notes.x", "the note", 1)); got != "  " {
		t.Errorf("in a comment: %s", got)
	}
	if got := labels(s.of("notes/notes.bind", "title", 1)); got != " title how text " {
		t.Errorf("after note.: %s", got)
	}
	if got := labels(s.of("notes/notes.bind", "NOTE_GET", 1)); got != " NOTE_GET " {
		t.Errorf("after NOTES.NOTES_V1.: %s", got)
	}
	if got := labels(s.of("notes/notes.bind", "text", 1)); got != " title how text " {
		t.Errorf("after small. of a procedure's result: %s", got)
	}
	if got := labels(s.of("notes/notes.bind", "ddp", 1)); !strings.Contains(got, " nonblocking ") || strings.Contains(got, " note ") {
		t.Errorf("at the start of a line: %s", got)
	}
}
