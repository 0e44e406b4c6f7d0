package sema

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// TestProcValues checks the types of arguments and results in stubs, and that none are declared if
// no stubs are wanted.
func TestProcValues(t *testing.T) {
	const text = `
struct pair { unsigned int count; opaque data<>; };
struct entry { opaque name<>; entry *next; };
typedef entry *entries;
struct NONE_args { int taken; };
program P { version V {
  void NONE(void) = 0;
  pair ONE(pair) = 1;
  entries TWO(unsigned hyper, pair) = 2;
  double NUMBER(float) = 3;
  entry LIST(string) = 4;
} = 3; } = 300000;
`
	const bind = "once P.V.TWO\nnonblocking P.V.ONE\nreply P.V.ONE count\nreply P.V.TWO arg2.count\n"
	shown := func(x *ir.Type) string {
		switch {
		case x == nil:
			return "void"
		case x.Kind != ir.Ref:
			return x.Kind.Word()
		}
		return fmt.Sprintf("%s of %d to %d", x.Ref.Name, x.Ref.Size.Min, x.Ref.Size.Max)
	}
	for _, on := range []string{"", "rpc\n"} {
		r := compileFiles(t, Options{}, map[string]string{"u/u.x": text, "u/u.bind": on + bind}, "u/u.x")
		if r.Unit == nil {
			t.Fatal(rules(r))
		}
		var got []string
		for _, p := range find(t, r.Unit, "P").Program.Versions[0].Procs {
			line := fmt.Sprint(p.Name, ": ", shown(p.Call), " to ", shown(p.Reply))
			if p.Once {
				line += ", once"
			}
			if p.NonBlocking {
				line += ", nonblocking"
			}
			for _, f := range p.Limit {
				line += ", " + f.Name
			}
			got = append(got, line)
		}
		want := []string{
			"NONE: void to void",
			"ONE: pair of 8 to 4294967304 to pair of 8 to 4294967304, nonblocking, count",
			"TWO: TWO_args of 16 to 4294967312 to entries of 4 to 0, once, arg2, count",
			"NUMBER: NUMBER_args of 4 to 4 to NUMBER_res of 8 to 8",
			"LIST: LIST_args of 4 to 4294967300 to LIST_res of 8 to 0",
		}
		made := 5
		if on == "" {
			want = []string{"NONE: void to void", "ONE: void to void, nonblocking, count", "TWO: void to void, once, arg2, count", "NUMBER: void to void", "LIST: void to void"}
			made = 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %q: %s", on, diff)
		}
		if n := len(r.Unit.Decls); n != 5+made {
			t.Errorf("with %q: %d declarations, expected 5 and %d", on, n, made)
		}
	}
}

// TestProcValueOfAPointerIsATypedef checks arguments and results that are optional data,
// also of a type that contains itself, under any name.
func TestProcValueOfAPointerIsATypedef(t *testing.T) {
	r := compileFiles(t, Options{Stubs: true}, map[string]string{
		"u/u.x": "struct node { node *left; node *right; };\ntypedef node *tree;\ntypedef tree root;\ntypedef node pair[2];\n" +
			"struct leaf { int v; };\ntypedef leaf *found;\n" +
			"program P { version V { tree A(root) = 1; node *B(pair *) = 2; found C(leaf *) = 3; } = 1; } = 2;\n",
	}, "u/u.x")
	if r.Unit == nil {
		t.Fatal(rules(r))
	}
	for name, want := range map[string]ir.DeclKind{
		"B_args": ir.Typedef, "B_res": ir.Typedef, "C_args": ir.Typedef,
	} {
		d := find(t, r.Unit, name)
		if d.Kind != want {
			t.Errorf("%s is a %v, expected a %v", name, d.Kind, want)
		}
	}
}

// TestProcValueNames checks that a type made up for a procedure takes no name of the text, and that
// the sidecar can rename it.
func TestProcValueNames(t *testing.T) {
	r := compileFiles(t, Options{Stubs: true}, map[string]string{
		"u/u.x":    "struct F_args { int n; };\nprogram P { version V { int F(int, int) = 1; } = 1; } = 2;\n",
		"u/u.bind": "rename F_args_ Both\n",
	}, "u/u.x")
	if r.Unit == nil {
		t.Fatal(rules(r))
	}
	if d := find(t, r.Unit, "F_args_"); len(d.Fields) != 2 || !d.Anon {
		t.Errorf("F_args_ is %+v", d)
	}
}
