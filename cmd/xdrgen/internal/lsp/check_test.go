package lsp_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/lsp"
)

// expect compares the findings in a version of a document.
func (s *session) expect(name string, version int, want ...string) {
	s.t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, s.findings(name, version)); diff != "" {
		s.t.Errorf("findings of %s, version %d (-want +got):\n%s", name, version, diff)
	}
}

// become waits until a document has findings. Several units that have it are checked one by one.
func (s *session) become(name string, version int, want ...string) {
	s.t.Helper()
	var got []string
	for range 9 {
		if got = s.findings(name, version); slices.Equal(got, want) {
			return
		}
	}
	s.t.Fatalf("findings of %s, version %d: %q, want %q", name, version, got, want)
}

func TestFindingsFollowTheText(t *testing.T) {
	s := begin(t, map[string]string{"a.x": "const A = 1;\n"})
	s.initialize()
	s.open("a.x", "/* \U0001F600 */ typedef nane x;\n")
	s.expect("a.x", 1, "0:17-0:21 XDR0101 type nane is not declared")
	s.change("a.x", 2, "opaque nane<4>;\ntypedef", 0, 9, 0, 16)
	s.expect("a.x", 2, "0:9-0:15 XDR0004 found \"opaque\", expected const, typedef, enum, struct, union or program")
	s.change("a.x", 3, "typedef opaque nane<4>;\r\ntypedef nane x;\r\n")
	s.expect("a.x", 3)
	if c := s.end(); c != 0 {
		t.Errorf("exit code %d", c)
	}
}

func TestColumnsAreBytesForAClientThatOffersThem(t *testing.T) {
	s := begin(t, nil)
	s.initialize("utf-16", "utf-8")
	s.open("a.x", "/* \U0001F600 */ typedef nane x;\n")
	s.expect("a.x", 1, "0:19-0:23 XDR0101 type nane is not declared")
	s.change("a.x", 2, "int", 0, 19, 0, 23)
	s.expect("a.x", 2)
}

// Files of one folder with its sidecar are a unit; so are a file and those that it includes. A unit
// of another folder is found without a flag.
func TestOpenTextsOfAUnitAreCheckedTogether(t *testing.T) {
	s := begin(t, map[string]string{
		"two/two.bind":    "package example.org/two\n",
		"two/a.x":         "typedef number x;\n",
		"two/b.x":         "typedef int number;\n",
		"inc/main.x":      "#include \"part.x\"\nconst SIZE = 4;\n",
		"inc/part.x":      "typedef opaque block[SIZE];\n",
		"user/user.x":     "#include \"two/b.x\"\ntypedef number y;\n",
		"outside/other.x": "const X = 1;\n",
	})
	s.initialize()
	for _, name := range []string{"two/a.x", "inc/part.x", "user/user.x", "two/two.bind"} {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		s.open(name, string(text))
		s.expect(name, 1)
	}
	s.open("two/b.x", "typedef int numbers;\n")
	s.become("two/a.x", 1, "0:8-0:14 XDR0101 type number is not declared")
	s.become("user/user.x", 1, "1:8-1:14 XDR0101 type number is not declared")
	s.notify("textDocument/didClose", object{"textDocument": object{"uri": s.uri("two/b.x")}})
	s.become("two/a.x", 1) // of the file on disk
	s.change("two/two.bind", 2, "rename nothing Nothing\n")
	s.become("two/two.bind", 2, "0:7-0:14 XDR0803 the unit has no nothing to rename")
}

func TestFilesThatOtherProgramsChangeAreReadAgain(t *testing.T) {
	s := begin(t, map[string]string{"a/b.x": "typedef int t;\n"})
	s.initialize()
	s.open("a/a.x", "#include \"b.x\"\ntypedef t u;\n")
	s.expect("a/a.x", 1)
	if err := os.WriteFile(filepath.Join(s.dir, "a", "b.x"), []byte("typedef int s;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": s.uri("a/b.x"), "type": 2}}})
	s.expect("a/a.x", 1, "1:8-1:9 XDR0101 type t is not declared")
	if err := os.Remove(filepath.Join(s.dir, "a", "b.x")); err != nil {
		t.Fatal(err)
	}
	s.notify("textDocument/didSave", object{"textDocument": object{"uri": s.uri("a/a.x")}})
	s.expect("a/a.x", 1, "0:0-0:14 XDR0601 file \"b.x\" is not found")
}

func TestDocumentsWithoutAFileAreChecked(t *testing.T) {
	s := begin(t, nil)
	s.initialize()
	doc := object{"uri": "untitled:Untitled-1", "languageId": "xdr", "version": 1, "text": "const A = B;\n"}
	s.notify("textDocument/didOpen", object{"textDocument": doc})
	r := s.next()
	for r.Method != "textDocument/publishDiagnostics" {
		r = s.next()
	}
	if text := string(r.Params); !strings.Contains(text, `"untitled:Untitled-1"`) || !strings.Contains(text, "constant B is not declared") {
		t.Errorf("found %s", text)
	}
}

// stepped is a compiler that waits at each call until the test lets it go on.
type stepped struct {
	began, goOn chan struct{}
	calls       atomic.Int32
	failed      atomic.Int32 // calls whose file system failed
}

func (c *stepped) compile(o sema.Options) (*sema.Result, error) {
	c.calls.Add(1)
	c.began <- struct{}{}
	<-c.goOn
	r, err := sema.Compile(o)
	if err != nil {
		c.failed.Add(1)
	}
	return r, err
}

func TestEditsSupersedeTheCheckThatRuns(t *testing.T) {
	c := &stepped{began: make(chan struct{}), goOn: make(chan struct{})}
	s := begin(t, nil, func(cfg *lsp.Config) { cfg.Compile = c.compile })
	s.initialize()
	s.open("a.x", "const A = 0;\n")
	<-c.began
	for i := range 9 {
		s.change("a.x", 2+i, string(rune('1'+i)), 0, 10, 0, 11)
	}
	if code := s.refused("x", nil); code == 0 { // all edits have been taken
		t.Error("x is not refused")
	}
	hover := s.ask("textDocument/hover", s.at("a.x", 0, 6))
	cancelled := s.ask("textDocument/hover", s.at("a.x", 0, 6))
	s.notify("$/cancelRequest", object{"id": cancelled})
	if r := s.answer(cancelled); r.Error == nil || r.Error.Code != -32800 {
		t.Errorf("the response to a cancelled request is %s %+v", r.Result, r.Error)
	}
	c.goOn <- struct{}{}
	<-c.began
	c.goOn <- struct{}{}
	if r := s.answer(hover); !strings.Contains(string(r.Result), "value 9") {
		t.Errorf("hover after the edits: %s", r.Result)
	}
	s.expect("a.x", 10)
	if n, failed := c.calls.Load(), c.failed.Load(); n != 2 || failed != 1 {
		t.Errorf("%d checks, %d cancelled; want 2 and 1", n, failed)
	}
}

// The check of one unit is not cancelled by edits of another, but it is repeated if it has read a
// file that changed while it ran.
func TestEditsSupersedeOnlyChecksOfTheirFile(t *testing.T) {
	c := &stepped{began: make(chan struct{}), goOn: make(chan struct{})}
	s := begin(t, map[string]string{"two/c.x": "typedef int t;\n"}, func(cfg *lsp.Config) { cfg.Compile = c.compile })
	s.initialize()
	step := func() { <-c.began; c.goOn <- struct{}{} }
	s.open("one/a.x", "const A = 0;\n")
	step()
	s.expect("one/a.x", 1)
	s.open("two/b.x", "const B = 0;\n")
	step()
	s.expect("two/b.x", 1)
	s.open("two/c.x", "typedef int t;\n")
	step()
	s.expect("two/c.x", 1)

	s.change("two/b.x", 2, "#include \"c.x\"\ntypedef t u;\n")
	<-c.began // it reads two/c.x, which its analysis does not have yet
	s.change("one/a.x", 2, "1", 0, 10, 0, 11)
	s.change("two/c.x", 2, "s", 0, 12, 0, 13)
	if code := s.refused("x", nil); code == 0 { // both edits have been taken
		t.Error("x is not refused")
	}
	c.goOn <- struct{}{}
	for range 3 {
		step()
	}
	s.become("two/b.x", 2, "1:8-1:9 XDR0101 type t is not declared")
	if n, failed := c.calls.Load(), c.failed.Load(); n != 7 || failed != 0 {
		t.Errorf("%d checks, %d cancelled; want 7 and 0", n, failed)
	}
}

func TestShutdownAnswersWhatWaits(t *testing.T) {
	c := &stepped{began: make(chan struct{}), goOn: make(chan struct{})}
	s := begin(t, nil, func(cfg *lsp.Config) { cfg.Compile = c.compile })
	s.initialize()
	s.open("a.x", "const A = 0;\n")
	<-c.began
	hover := s.ask("textDocument/hover", s.at("a.x", 0, 6))
	shutdown := s.ask("shutdown", nil)
	if r := s.answer(hover); r.Error == nil || r.Error.Code != -32800 {
		t.Errorf("the response to a request that waits is %s %+v", r.Result, r.Error)
	}
	s.answer(shutdown)
	s.notify("exit", nil)
	if code := s.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	c.goOn <- struct{}{}
}

func TestFormattingIsOneEdit(t *testing.T) {
	s := begin(t, nil)
	s.initialize()
	s.open("a.x", "CONST\nconst a = 1;\nX\n")
	p := object{"textDocument": object{"uri": s.uri("a.x")}, "options": object{"tabSize": 8, "insertSpaces": true}}
	want := `[{"range":{"start":{"line":1,"character":0},"end":{"line":2,"character":0}},"newText":"CONST A = 1;\n"}]`
	if got := s.call("textDocument/formatting", p); got != want {
		t.Errorf("found %s\nwant %s", got, want)
	}
	s.open("a.bind", "rpc\n")
	p["textDocument"] = object{"uri": s.uri("a.bind")}
	if got := s.call("textDocument/formatting", p); got != "null" {
		t.Errorf("a sidecar: found %s, want null", got)
	}
}

func TestTextThatIsNoXDRIsNotChecked(t *testing.T) {
	for _, document := range []bool{false, true} {
		s := begin(t, nil, func(c *lsp.Config) { c.IsDocument = func([]byte) bool { return document } })
		s.initialize()
		s.open("a.txt", "const A = B;\n")
		if document {
			s.expect("a.txt", 1, "0:10-0:11 XDR0102 constant B is not declared")
			continue
		}
		s.open("a.x", "const A = B;\n")
		if r := s.next(); !strings.Contains(string(r.Params), s.uri("a.x")) {
			t.Errorf("found %s", r.Params)
		}
		if got := s.call("textDocument/hover", s.at("a.txt", 0, 6)); got != "null" {
			t.Errorf("hover in a text: %s", got)
		}
	}
}

func TestFormattingCanBeCancelledOrTooLate(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	s := begin(t, nil, func(c *lsp.Config) {
		c.Format = func(o sema.Options, name string, text []byte) ([]byte, error) {
			began <- struct{}{}
			<-goOn
			_, err := o.FS.ReadFile(name)
			return text, err
		}
	})
	s.initialize()
	s.open("a.x", "const A = 1;\n")
	s.expect("a.x", 1)
	p := object{"textDocument": object{"uri": s.uri("a.x")}}
	first := s.ask("textDocument/formatting", p)
	<-began
	second := s.ask("textDocument/formatting", p) // waits for the first
	s.notify("$/cancelRequest", object{"id": first})
	s.notify("$/cancelRequest", object{"id": 99})
	if c := s.refused("x", nil); c == 0 { // the cancellation has been taken
		t.Error("x is not refused")
	}
	goOn <- struct{}{}
	if r := s.answer(first); r.Error == nil || r.Error.Code != -32800 {
		t.Errorf("a cancelled request: %s %+v", r.Result, r.Error)
	}
	<-began
	s.change("a.x", 2, "2", 0, 10, 0, 11)
	s.expect("a.x", 2)
	goOn <- struct{}{}
	if r := s.answer(second); r.Error == nil || r.Error.Code != -32801 {
		t.Errorf("the format of an old text: %s %+v", r.Result, r.Error)
	}
}

func TestTextsThatAreTooLargeAreNotKept(t *testing.T) {
	s := begin(t, nil)
	s.initialize()
	s.open("a.x", "const A = B;\n"+strings.Repeat(" ", 16<<20))
	s.expect("a.x", 1, "0:0-0:0  stat "+filepath.Join(s.dir, "a.x")+": no such file or directory")
	s.change("a.x", 2, "x", 0, 0, 0, 0) // of a text that the server does not have
	s.change("a.x", 3, "const A = B;\n")
	s.expect("a.x", 3, "0:10-0:11 XDR0102 constant B is not declared")
}

// After n, 2n and 4n edits the server has the same memory.
func TestMemoryDoesNotGrowWithEdits(t *testing.T) {
	n := 1429 // 10,003 in all
	if testing.Short() {
		n = 143
	}
	s := begin(t, nil)
	s.initialize()
	text := "struct s { int a; };\n" + strings.Repeat("/* comment */\n", 200)
	s.open("a.x", text)
	version := 1
	var heap []uint64
	for _, edits := range []int{n, 2 * n, 4 * n} {
		for range edits {
			version++
			line := 1 + version%200
			s.change("a.x", version, string(rune('a'+version%26)), line, 3, line, 4)
		}
		s.expect("a.x", version)
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = append(heap, m.HeapAlloc)
	}
	if least := slices.Min(heap[:2]); heap[2] > least+1<<20 {
		t.Errorf("the heap has %d bytes after n, 2n and 4n edits", heap)
	}
}
