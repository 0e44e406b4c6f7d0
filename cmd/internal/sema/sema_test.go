package sema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// write writes files to a temporary folder and returns the folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// compileFiles writes files to a folder and compiles some of them. The folder is also searched for
// units.
func compileFiles(t *testing.T, o Options, files map[string]string, names ...string) *Result {
	t.Helper()
	dir := write(t, files)
	for _, n := range names {
		o.Files = append(o.Files, filepath.Join(dir, n))
	}
	o.Include = append(o.Include, dir)
	r, err := Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compileOK compiles a text that must have no errors.
func compileOK(t *testing.T, text string) *ir.Unit {
	t.Helper()
	r := compileFiles(t, Options{}, map[string]string{"u/u.x": text}, "u/u.x")
	if r.Unit == nil {
		t.Fatalf("errors: %v", rules(r))
	}
	return r.Unit
}

func rules(r *Result) []string {
	var out []string
	for _, d := range r.Diags {
		out = append(out, d.Rule.Info().Name)
	}
	return out
}

func find(t *testing.T, u *ir.Unit, name string) *ir.Decl {
	t.Helper()
	for _, d := range u.Decls {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("found no declaration %s", name)
	return nil
}

func TestListsAreFound(t *testing.T) {
	u := compileOK(t, `
struct entry { hyper id; entry *next; };
typedef struct node *nodes;
struct node { int a; int b; nodes more; };
typedef entry alias;
typedef alias *aliases;
struct user { entry *many; entry head; nodes viaptr; alias *viaalias; aliases both; alias direct; entry array<3>; };
struct tree { int v; tree *left; tree *right; };
struct first { first *next; int v; };
struct bare { bare *next; };
struct kids { opaque n<>; kids list<>; };
struct ping { pong *p; };
struct pong { ping *p; };
struct holder { entry *list; int n; holder *next; };
`)
	lists := map[string]bool{"entry": true, "node": true, "holder": true}
	recursive := map[string]bool{"tree": true, "first": true, "bare": true, "kids": true, "ping": true, "pong": true}
	for _, d := range u.Decls {
		if (d.List != nil) != lists[d.Name] {
			t.Errorf("%s: list %v", d.Name, d.List != nil)
		}
		if d.Recursive != recursive[d.Name] {
			t.Errorf("%s: recursive %v", d.Name, d.Recursive)
		}
		if (d.NotList != "") != (d.Kind == ir.Struct && recursive[d.Name]) {
			t.Errorf("%s: NotList %q", d.Name, d.NotList)
		}
	}
	if l := find(t, u, "node").List; len(l.Elem) != 2 || l.Next.Name != "more" {
		t.Errorf("node: %d fields, next %s", len(l.Elem), l.Next.Name)
	}
	want := map[string]ir.Kind{
		"many": ir.ListOf, "head": ir.ListHead, "viaptr": ir.ListOf, "viaalias": ir.ListOf,
		"both": ir.ListOf, "direct": ir.ListHead, "array": ir.Array,
	}
	for _, f := range find(t, u, "user").Fields {
		if k := f.Type.Underlying().Kind; k != want[f.Name] {
			t.Errorf("%s: kind %d, expected %d", f.Name, k, want[f.Name])
		}
	}
}

func TestSizesOfTypes(t *testing.T) {
	u := compileOK(t, `
typedef opaque five[5];
typedef opaque upto5<5>;
typedef string any<>;
typedef int three[3];
typedef hyper many<10>;
typedef unsigned hyper all<>;
typedef int *maybe;
struct plain { int a; hyper b; bool c; five d; };
union u switch (int k) { case 0: void; case 1: plain p; default: upto5 q; };
union both switch (bool k) { case TRUE: five a; case FALSE: upto5 b; };
struct entry { five v; entry *next; };
struct list { entry *l; };
struct head { entry h; };
struct kids { int n; kids more<>; };
typedef quadruple quads[0x7fffffff];
typedef quads grid[0x7fffffff];
typedef opaque nothing<0>;
enum e { A = 1 };
typedef struct twig *twigp;
typedef twigp forest<>;
struct twig { int a; forest kids; twigp other; };
typedef struct bare bares<>;
struct bare { bares more; };
`)
	for name, want := range map[string]ir.Size{
		"twigp": {Min: 4, Unbounded: true}, "forest": {Min: 4, Unbounded: true}, "twig": {Min: 12, Unbounded: true},
		"bares": {Min: 4, Unbounded: true}, "bare": {Min: 4, Unbounded: true},
		"five": {Min: 8, Max: 8}, "upto5": {Min: 4, Max: 12}, "any": {Min: 4, Max: 4 + 1<<32},
		"three": {Min: 12, Max: 12}, "many": {Min: 4, Max: 84}, "all": {Min: 4, Max: 4 + 8*(1<<32-1)},
		"maybe": {Min: 4, Max: 8}, "plain": {Min: 24, Max: 24}, "u": {Min: 4, Max: 28}, "both": {Min: 8, Max: 16},
		"entry": {Min: 12, Unbounded: true}, "list": {Min: 4, Unbounded: true}, "head": {Min: 12, Unbounded: true},
		"kids": {Min: 8, Unbounded: true}, "e": {Min: 4, Max: 4}, "nothing": {Min: 4, Max: 4},
		"quads": {Min: 16 * 0x7fffffff, Max: 16 * 0x7fffffff}, "grid": {Min: maxSize, Unbounded: true},
	} {
		d := find(t, u, name)
		got := d.Size
		if got.Unbounded {
			got.Max = 0
		}
		if got != want {
			t.Errorf("%s: %+v, expected %+v", name, got, want)
		}
	}
}

func TestConstantsAreComputed(t *testing.T) {
	u := compileOK(t, `
const A = 0x10; const B = A; const C = 010; const D = -1; const E = 18446744073709551615; const F = BLUE;
enum color { RED, GREEN = A, BLUE, BLACK = -2147483648 };
struct s { opaque x<A>; opaque y[BLUE]; };
`)
	got := map[string]string{}
	for _, d := range u.Decls {
		if d.Kind == ir.Const {
			got[d.Name] = show(d.Value) + " " + d.Value.Text
		}
	}
	for _, m := range find(t, u, "color").Members {
		got[m.Name] = show(fromSigned(int64(m.Value))) + " " + m.Text
	}
	want := map[string]string{
		"A": "16 0x10", "B": "16 A", "C": "8 010", "D": "-1 -1", "E": "18446744073709551615 18446744073709551615", "F": "17 BLUE",
		"RED": "0 ", "GREEN": "16 A", "BLUE": "17 ", "BLACK": "-2147483648 -2147483648",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s := find(t, u, "s")
	if x := s.Fields[0].Type; x.Max != 16 || !x.Bounded || x.LenText != "A" {
		t.Errorf("x: %+v", x)
	}
	if y := s.Fields[1].Type; y.Len != 17 || y.LenText != "BLUE" {
		t.Errorf("y: %+v", y)
	}
}

func TestInlineTypesAreDeclared(t *testing.T) {
	u := compileOK(t, `
const N = DOWN;
struct outer {
  struct { int x; } point;
  enum { UP = 1, DOWN = 2 } way;
  union switch (bool b) { case TRUE: struct { int z; } deep; case FALSE: void; } rest;
};
typedef struct { int a; } named;
typedef struct { int b; } rows<8>;
program P { version V { int f(struct { int q; }) = 1; } = 1; } = 300000;
`)
	var got []string
	for _, d := range u.Decls {
		s := d.Name
		if d.Anon {
			s += " anon"
		}
		got = append(got, s)
	}
	want := []string{
		"N", "outer_point anon", "outer_way anon", "outer_rest_deep anon", "outer_rest anon", "outer",
		"named", "rows_item anon", "rows", "P", "f_arg1 anon",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCommentsBelongToDeclarations(t *testing.T) {
	r := compileFiles(t, Options{}, map[string]string{"u/u.x": `/*
 * The owner.
 *
 * Redistribution is permitted.
 */
/* Directly above. */
struct s {
	/* of a */
	int a;
	int b;  /* of b */
	int c;
	    /* of c */
	int d;  /* of d, */
	        /* two lines */
	int e;

	/* of nothing */

	int f;
};
/* loose */

enum e { /* body */
	A = 1, /* of A */
	B = 2  /* of B */
};
`}, "u/u.x")
	if r.Unit == nil {
		t.Fatal(rules(r))
	}
	if diff := cmp.Diff([]string{"The owner.", "", "Redistribution is permitted."}, r.Unit.Files[0].License); diff != "" {
		t.Error(diff)
	}
	s := find(t, r.Unit, "s")
	got := []string{"s: " + strings.Join(s.Doc, "|")}
	for _, f := range s.Fields {
		got = append(got, f.Name+": "+strings.Join(f.Doc, "|")+" / "+f.Tail)
	}
	for _, m := range find(t, r.Unit, "e").Members {
		got = append(got, m.Name+": "+strings.Join(m.Doc, "|")+" / "+m.Tail)
	}
	want := []string{
		"s: Directly above.", "a: of a / ", "b:  / of b", "c:  / of c", "d:  / of d, two lines", "e:  / ", "f:  / ",
		"A:  / of A", "B:  / of B",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnionsHaveTheirCases(t *testing.T) {
	u := compileOK(t, `
const ONE = 1;
enum k { A = 1, B = 2, C = 3 };
union byenum switch (k d) { default: int rest; case A: case C: void; };
union byint switch (unsigned int d) { case ONE: int x; case B: void; case 7: opaque y<>; };
`)
	e := find(t, u, "byenum")
	if len(e.Arms) != 2 || !e.Arms[0].Default || len(e.Arms[0].Labels) != 0 || e.Arms[1].Field != nil || len(e.Arms[1].Labels) != 2 {
		t.Errorf("byenum: %+v %+v", e.Arms[0], e.Arms[1])
	}
	if l := e.Arms[1].Labels[1]; l.Member == nil || l.Member.Name != "C" || l.Value.Abs != 3 {
		t.Errorf("case C: %+v", l)
	}
	i := find(t, u, "byint")
	if l := i.Arms[0].Labels[0]; l.Const == nil || l.Const.Name != "ONE" || l.Member != nil {
		t.Errorf("case ONE: %+v", l)
	}
	if l := i.Arms[1].Labels[0]; l.Member == nil || l.Value.Abs != 2 {
		t.Errorf("case B: %+v", l)
	}
	if l := i.Arms[2].Labels[0]; l.Member != nil || l.Const != nil || l.Value.Abs != 7 {
		t.Errorf("case 7: %+v", l)
	}
}

func TestDefinesGiveConstants(t *testing.T) {
	o := Options{Defines: map[string]string{"LEN": "16", "WIDE": ""}}
	r := compileFiles(t, o, map[string]string{"u/u.x": `
#ifdef WIDE
struct s { opaque id[LEN]; };
#endif
#if LEN == 16 && !defined(NARROW)
struct t { int x; };
#endif
`}, "u/u.x")
	if r.Unit == nil {
		t.Fatal(rules(r))
	}
	if len(r.Unit.Decls) != 2 {
		t.Fatalf("%d declarations", len(r.Unit.Decls))
	}
	if id := r.Unit.Decls[0].Fields[0].Type; id.Len != 16 || id.LenText != "" {
		t.Errorf("id: %+v", id)
	}
}

func TestPositionsSortedAndLimited(t *testing.T) {
	text := "struct a {\n  none1 x;\n};\nconst X 1;\nstruct b {\n  none2 y\n  none3 z;\n};\ntypedef my_t int;\n"
	r := compileFiles(t, Options{}, map[string]string{"u/u.x": text}, "u/u.x")
	var got []string
	for _, d := range r.Diags {
		got = append(got, d.Rule.Info().Name+" "+strings.TrimSpace(d.Span.File.Line(d.Span.Position().Line)))
	}
	want := []string{
		"undefined-type none1 x;", "missing-equals const X 1;", "undefined-type none2 y", "missing-semicolon none2 y",
		"reversed-typedef typedef my_t int;",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	kept, cut := diag.Limit(r.Diags, 2)
	if len(kept) != 2 || cut != 3 {
		t.Errorf("kept %d, cut %d", len(kept), cut)
	}
}
