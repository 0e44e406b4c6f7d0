package plan

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// repeat joins n texts that format makes of their numbers, as #. The number before is #-.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("#-", fmt.Sprint(i-1), "#", fmt.Sprint(i)).Replace(format))
	}
	return b.String()
}

// ring returns n types. Each holds the next, and the last holds the first.
func ring(n int) string {
	return repeat(n-1, "struct s# { opaque x<>; n# *a; };\n") + fmt.Sprintf("struct s%d { s0 *a; int b; };\n", n-1) +
		strings.ReplaceAll(repeat(n, "typedef s# n#-;\n"), "typedef s0 n-1;\n", "")
}

// TestAmplificationOfCircles: the work for types that hold each other is bounded, and the
// amplification of a larger circle is not known. What holds a circle does not add to it.
func TestAmplificationOfCircles(t *testing.T) {
	circle := func(n int) string {
		return repeat(n, "struct s# { opaque x<8>; n# *a; n# *b; };\n") + "typedef s0 n" + fmt.Sprint(n-1) + ";\n" +
			strings.ReplaceAll(repeat(n, "typedef s# n#-;\n"), "typedef s0 n-1;\n", "")
	}
	for _, c := range []struct {
		name, text string
		known      bool
	}{
		{"one type", circle(1), true},
		{"three types that branch", circle(3), true},
		{"a ring", ring(maxRecursive / 2), true},
		{"a ring beyond the limit", ring(2 * maxRecursive), false},
		{"a struct of many trees", repeat(2*maxRecursive, "struct s# { opaque x<>; s# *l; s# *r; };\n") + "struct s {\n" + repeat(2*maxRecursive, "s# f#;\n") + "};\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := sema.Compile(sema.Options{Files: []string{"a.x"}, FS: fstest.MapFS{"a.x": {Data: []byte(c.text)}}})
			if err != nil || r.Unit == nil {
				t.Fatal(err, r.Diags)
			}
			p := Make(r.Unit, nil)
			for _, typ := range p.Types {
				if n := p.Amplification(typ); n > 0 != c.known && !typ.Size.Fixed() {
					t.Fatalf("amplification of %s is %d; known should be %v", typ.Decl.Name, n, c.known)
				}
			}
		})
	}
}

// TestAmplificationHoldsForTheLargestValues holds the amplification of types against the values
// that take the most memory.
func TestAmplificationHoldsForTheLargestValues(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int // of type t
	}{
		{"a tree", "struct t { int a; hyper b; t *left; t *right; };", 2},
		{"a chain of arms, 4 bytes each, ends in one of 8", "union t switch (int d) { case 1: t both[2]; case 2: t one; default: int leaf; };", 8},
		{"a chain of arms with more than the end", "struct s { t of; hyper b; };\nunion t switch (int d) { case 1: s one; default: hyper leaf[2]; };", 4},
		{"an arm by pointer in each part of a tree, where 5 would do", "typedef opaque o<>;\nunion v switch (int d) { case 1: o all[6]; };\nstruct t { v of; int a; t *left; t *right; };", 6},
		{"an arm by pointer in each part of a chain", "typedef opaque o<>;\nunion v switch (int d) { case 1: o all[6]; };\nstruct s { v of; t *x; };\nstruct t { s of; };", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := sema.Compile(sema.Options{Files: []string{"a.x"}, FS: fstest.MapFS{"a.x": {Data: []byte(c.text)}}})
			if err != nil || r.Unit == nil {
				t.Fatal(err, r.Diags)
			}
			p := Make(r.Unit, nil)
			for _, typ := range p.Types {
				if n := p.Amplification(typ); typ.Decl.Name == "t" && n != c.want {
					t.Errorf("amplification is %d, want %d", n, c.want)
				}
			}
		})
	}
}
