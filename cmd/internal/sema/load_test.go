package sema

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

func TestIncludesImportUnits(t *testing.T) {
	files := map[string]string{
		"low/low.x":       "typedef unsigned int uint32;\nconst LOW = 4;\n",
		"low/low.bind":    "package example.org/x/low-level\n",
		"mid/a.x":         "#include \"low/low.x\"\nstruct mid { uint32 n; opaque d[LOW]; };\n",
		"mid/b.x":         "enum mids { MID_A = 1 };\n",
		"top/top.x":       "#include \"other.x\"\n#include \"mid/a.x\"\ntypedef unsigned int uint32;\nstruct top { mid m; uint32 n; mids k; other o; opaque d[LOW]; };\n",
		"top/other.x":     "struct other { int x; };\n",
		"top/top.bind":    "open mids_own\nimport mid/b.x\n",
		"top/unrelated.x": "this is not XDR\n",
	}
	files["top/top.bind"] = "import mid/b.x\n"
	r := compileFiles(t, Options{ImportRoot: "example.org/gen/", Generate: true}, files, "top/top.x")
	if r.Unit == nil {
		t.Fatal(rules(r))
	}
	u := r.Unit
	var got []string
	for _, i := range u.Imports {
		got = append(got, fmt.Sprint(i.Unit, " ", i.Include, " ", i.Package, " ", i.GoName, " ", len(i.Decls), " ", i.Bind != nil))
	}
	want := []string{
		"mid mid/b.x example.org/gen/mid mid 2 true",
		"low low/low.x example.org/x/low-level lowlevel 2 true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var own []string
	for _, d := range u.Decls {
		own = append(own, d.Name)
		if d.Import != nil {
			t.Errorf("%s has an import", d.Name)
		}
	}
	if diff := cmp.Diff([]string{"uint32", "top", "other"}, own); diff != "" {
		t.Error(diff)
	}
	top := find(t, u, "top")
	if d := top.Fields[0].Type.Ref; d.Import != u.Imports[0] {
		t.Errorf("mid comes from %+v", d.Import)
	}
	if d := top.Fields[1].Type.Ref; d.Import != nil {
		t.Error("uint32 is not the one that the unit declares")
	}
	if len(u.Files) != 2 || u.Files[0].Name != "top.x" || u.Files[1].Name != "other.x" || len(u.Files[0].SHA256) != 64 {
		t.Errorf("files %+v", u.Files)
	}
}

func TestImportPackage(t *testing.T) {
	files := map[string]string{
		"a/a.x": "#include \"b/b.x\"\nstruct s { t x; };\n",
		"b/b.x": "struct t { int x; };\n",
	}
	if r := compileFiles(t, Options{}, files, "a/a.x"); r.Unit == nil {
		t.Errorf("check: %v", rules(r))
	}
	r := compileFiles(t, Options{Generate: true}, files, "a/a.x")
	if diff := cmp.Diff([]string{"import-package"}, rules(r)); diff != "" {
		t.Error(diff)
	}
	if help := r.Diags[0].Help; !strings.Contains(help, "if PATH/b is its import path") || !strings.Contains(help, "rpcrdma/gen;") {
		t.Error(help)
	}
}

func TestIncludeDepth(t *testing.T) {
	files := map[string]string{}
	for i := range maxInclude + 10 {
		files[fmt.Sprintf("u/f%d.x", i)] = fmt.Sprintf("#include \"f%d.x\"\nconst C%d = 1;\n", i+1, i)
	}
	files[fmt.Sprintf("u/f%d.x", maxInclude+10)] = "#include \"f0.x\"\n"
	r := compileFiles(t, Options{}, files, "u/f0.x")
	if diff := cmp.Diff([]string{"include-too-deep"}, rules(r)); diff != "" {
		t.Error(diff)
	}
}

// TestIncludeDepthLimit includes as many files below the first as maxInclude allows, and one more.
func TestIncludeDepthLimit(t *testing.T) {
	for below, want := range map[int][]string{maxInclude: nil, maxInclude + 1: {"include-too-deep"}} {
		files := map[string]string{}
		for i := range below {
			files[fmt.Sprintf("u/f%d.x", i)] = fmt.Sprintf("#include \"f%d.x\"\nconst C%d = 1;\n", i+1, i)
		}
		files[fmt.Sprintf("u/f%d.x", below)] = "const LAST = 1;\n"
		r := compileFiles(t, Options{}, files, "u/f0.x")
		if diff := cmp.Diff(want, rules(r)); diff != "" {
			t.Errorf("%d files below the first: %s", below, diff)
		}
	}
}

func TestMutualInclude(t *testing.T) {
	r := compileFiles(t, Options{}, map[string]string{
		"u/a.x": "#include \"b.x\"\nstruct a { b *x; };\n",
		"u/b.x": "#include \"a.x\"\nstruct b { a *x; };\n",
	}, "u/a.x")
	if r.Unit == nil || len(r.Unit.Decls) != 2 {
		t.Fatal(rules(r))
	}
}

func TestOriginMap(t *testing.T) {
	files := map[string]string{
		"u/u.x":        "const A = 1;\nstruct s {\n  nothing x;\n};\n",
		"u/u.x.origin": "xdr-origin 1 doc.txt\n1-2 doc.txt 100\n3 errata doc.txt P1-name 7\n4 doc.txt 103\n",
	}
	r := compileFiles(t, Options{}, files, "u/u.x")
	if len(r.Diags) != 1 {
		t.Fatal(rules(r))
	}
	if p, ok := r.Diags[0].Span.Origin(); !ok || p.String() != "errata/doc.txt:7 (P1-name)" {
		t.Errorf("origin %v %v", p, ok)
	}
	files["u/u.x.origin"] = "xdr-origin 2 doc.txt\n"
	files["u/u.x"] = "const A = 1;\n"
	r = compileFiles(t, Options{}, files, "u/u.x")
	if diff := cmp.Diff([]string{"bad-origin-map"}, rules(r)); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadableUnitsAreReportedOnce(t *testing.T) {
	if _, err := Compile(Options{Files: []string{filepath.Join(t.TempDir(), "none.x")}}); err == nil {
		t.Error("found no error for a missing file")
	}
	if _, err := Compile(Options{}); err == nil {
		t.Error("found no error for an empty list of files")
	}
	dir := write(t, map[string]string{"u.x": "const A = 1;\n"})
	file := filepath.Join(dir, "u.x")
	if _, err := Compile(Options{Files: []string{file}, BindFile: filepath.Join(dir, "none.bind")}); err == nil {
		t.Error("found no error for a missing sidecar")
	}
	if _, err := Compile(Options{Files: []string{file, file}}); err == nil {
		t.Error("found no error for a file that is given twice")
	}
}

func TestSidecarsAreFound(t *testing.T) {
	r := compileFiles(t, Options{}, map[string]string{
		"u/u.x": `
enum code { READ = 1, WRITE = 2 };
struct rargs { hyper off; };
struct rok { bool eof; opaque data<>; };
union rres switch (int s) { case 0: rok ok; default: void; };
struct entry { opaque name<>; entry *next; };
program P { version V {
  rres DO_READ(rargs) = 6;
  void DO_WRITE(int, rok) = 7;
  entry DO_LIST(void) = 8;
} = 3; } = 300000;
`,
		"u/u.bind": `
prefix r
prefix rar
open code
rename rok.eof AtEnd
code operation READ rargs
code operation WRITE void
ddp P.V.DO_READ result ok.data
ddp P.V.DO_WRITE args arg2.data
ddp P.V.DO_LIST result name
`,
	}, "u/u.x")
	if r.Unit == nil {
		t.Fatal(rules(r))
	}
	b := r.Bind
	if b.Prefixes[0].Text != "rar" || !find(t, r.Unit, "code").Open {
		t.Errorf("prefixes %+v, open %v", b.Prefixes, find(t, r.Unit, "code").Open)
	}
	if c := b.Codes[0]; c.Value != 1 || c.Decl == nil || c.Decl.Name != "rargs" {
		t.Errorf("code READ: %+v", c)
	}
	if c := b.Codes[1]; c.Value != 2 || c.Decl != nil {
		t.Errorf("code WRITE: %+v", c)
	}
	d := b.DDP[0]
	if d.Prog != 300000 || d.Vers != 3 || d.Number != 6 || d.Owner.Name != "rok" || d.Field.Name != "data" || !d.Reply {
		t.Errorf("ddp: %+v", d)
	}
	if d := b.DDP[1]; d.Owner.Name != "rok" || d.Number != 7 || d.Reply {
		t.Errorf("ddp: %+v", d)
	}
	if d := b.DDP[2]; d.Owner.Kind != ir.Struct || d.Owner.Name != "entry" {
		t.Errorf("ddp: %+v", d)
	}
}

// TestBindBad checks the messages about names of the sidecar that do not exist.
func TestBindBad(t *testing.T) {
	const text = `
struct a { int n; opaque data<>; };
typedef opaque raw<>;
program P { version V { raw f(a) = 1; void g(int, a) = 2; raw list(void) = 3; raw get_all(a) = 4; void text(string s<>) = 5; } = 1; } = 300000;
`
	for _, c := range []struct{ line, rule, message, help string }{
		{"ddp Q.V.f args data", "bind-unknown-name", "found no program Q", "use one of P"},
		{"ddp P.W.f args data", "bind-unknown-name", "program P has no version W", "use one of V"},
		{"ddp P.V.h args data", "bind-unknown-name", "version V has no procedure h", "use one of f, g, list, get_all, text"},
		{"ddp P.V.g result data", "bind-path", "void", ""},
		{"ddp P.V.g args data", "bind-path", "begin the path with one of arg1, arg2", ""},
		{"ddp P.V.f args data.more", "bind-path", "data has no fields: opaque", ""},
		{"ddp P.V.f args n", "bind-path", "field n of a is int", ""},
		{"code property NONE void", "bind-unknown-name", "found no constant NONE", ""},
		{"nonblocking P.V.h", "bind-unknown-name", "version V has no procedure h", "use one of f, g, list, get_all, text"},
		{"once P.V.h", "bind-unknown-name", "version V has no procedure h", "use one of f, g, list, get_all, text"},
		{"reply P.V.g n", "bind-path", "the results of g have a fixed size", "remove the line"},
		{"reply P.V.f m", "bind-path", "struct a has no argument m", "use one of n, data"},
		{"reply P.V.f n", "bind-path", "n is int, expected unsigned int", "name an unsigned int or unsigned hyper among the arguments"},
		{"reply P.V.f data", "bind-path", "data is opaque, expected unsigned int", "name an unsigned int or unsigned hyper among the arguments"},
		{"reply P.V.f n.m", "bind-path", "n has no fields: int", "name an unsigned int or unsigned hyper among the arguments"},
		{"open a", "bind-unknown-name", "no enum a", ""},
		{"prefix zz", "bind-unknown-name", "begins with zz", ""},
		{"ddp P.V.text args x", "bind-path", "the argument of text has no fields: string", ""},
		{"ddp P.V.f result x", "bind-path", "the result of f has no fields: opaque", ""},
		{"once P.V.get_al", "bind-unknown-name", "version V has no procedure get_al", "did you mean get_all?"},
		{"reply P.V.Get_all n", "bind-unknown-name", "version V has no procedure Get_all", "did you mean get_all?"},
		{"reply P.V.list n", "bind-path", "procedure list has no argument n", "remove the line"},
		{"ddp P.v.f args data", "bind-unknown-name", "program P has no version v", "did you mean V?"},
	} {
		r := compileFiles(t, Options{}, map[string]string{"u/u.x": text, "u/u.bind": c.line + "\n"}, "u/u.x")
		if len(r.Diags) != 1 || r.Diags[0].Rule.Info().Name != c.rule || !strings.Contains(r.Diags[0].Message, c.message) {
			t.Errorf("%s: %v %+v", c.line, rules(r), r.Diags)
		} else if help := r.Diags[0].Help; !strings.Contains(help, c.help) {
			t.Errorf("%s: help %q, want %q", c.line, help, c.help)
		}
		if r.Unit != nil || !diag.HasErrors(r.Diags) {
			t.Errorf("%s: found a unit, expected none because of errors", c.line)
		}
	}
}

// TestMissingParts checks that undeclared names are not reported if a file that may declare them
// could not be read. One fault gives one finding.
func TestMissingParts(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"units that import each other": {map[string]string{
			"u/u.x": "#include \"v/v.x\"\nstruct a { b x; };\n",
			"v/v.x": "#include \"u/u.x\"\nstruct b { a *x; opaque y[SIZE]; };\n",
		}, "import-cycle"},
		"a file that is not there": {map[string]string{
			"u/u.x": "#include \"none.x\"\nstruct a { b x; };\nunion c switch (d e) { case F: int g; };\n",
		}, "include-not-found"},
		"a file that is there": {map[string]string{
			"u/u.x": "#include \"v.x\"\nstruct a { b x; b y; };\n",
			"u/v.x": "struct c { int x; };\n",
		}, "undefined-type"},
	} {
		t.Run(name, func(t *testing.T) {
			r := compileFiles(t, Options{}, tt.files, "u/u.x")
			if got := strings.Join(rules(r), " "); got != tt.want {
				t.Errorf("%s, expected %s", got, tt.want)
			}
		})
	}
}

// TestSidecarTypeNamesItsLine declares a type in a sidecar that the file declares too.
func TestSidecarTypeNamesItsLine(t *testing.T) {
	r := compileFiles(t, Options{}, map[string]string{"u/u.x": "struct a { int x; };\n", "u/u.bind": "# a comment\n\ntype a int\n"}, "u/u.x")
	if len(r.Diags) != 1 || r.Diags[0].Span.File.Base() != "<u.bind line 3>" {
		t.Errorf("%+v, expected one finding in line 3 of u.bind", r.Diags)
	}
}
