package gogen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
)

// TestCosts holds Costs against the constants of the generated code.
func TestCosts(t *testing.T) {
	longRun(t, "generates again what TestOK does")
	files, err := filepath.Glob("../../testdata/ok/*.x")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range files {
		r, err := sema.Compile(sema.Options{Files: []string{file}, Include: []string{"../../testdata/ok/units"}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Unit == nil || len(r.Unit.Imports) > 0 {
			continue
		}
		made, diags, err := Generate(r.Unit, r.Bind, Options{Package: "p"})
		if err != nil || len(diags) > 0 {
			continue
		}
		code := strings.Join(strings.Fields(string(made[0].Content)), " ")
		costs, total := NewCosts(r.Unit), 0
		for _, d := range r.Unit.Decls {
			n := costs.Amplification(d)
			if n == 0 || d.List != nil && len(d.List.Elem) == 1 || d.Kind == ir.Typedef && isAlias(d) { // its Go type is another's
				continue
			}
			total++
			if want := fmt.Sprintf("Amplification = %d // bytes of memory", n); !strings.Contains(code, want) {
				t.Errorf("%s: %s: no constant %s", file, d.Name, want)
			}
		}
		if got := strings.Count(code, "Amplification = "); got != total {
			t.Errorf("%s: %d constants, %d types have one", file, got, total)
		}
		compared += total
	}
	if compared < 20 {
		t.Errorf("%d types compared", compared)
	}
	if c := NewCosts(&ir.Unit{Decls: []*ir.Decl{{Kind: ir.Typedef, Type: &ir.Type{Kind: ir.FixedOpaque, Len: 1 << 31, Size: ir.Size{Min: 1 << 31}}}}}); c != nil {
		t.Error("costs of what no Go value can hold")
	}
}

// TestAmplificationOfCircles: the work for types that hold each other is bounded, and the
// amplification of a larger circle is not known. What holds a circle does not add to it.
func TestAmplificationOfCircles(t *testing.T) {
	circle := func(n int) string {
		return repeat(n, "struct s# { opaque x<8>; n# *a; n# *b; };\n") + "typedef s0 n" + fmt.Sprint(n-1) + ";\n" +
			chain(n, "", "typedef s# n#-;\n")
	}
	for _, c := range []struct {
		name, text string
		known      bool
	}{
		{"one type", circle(1), true},
		{"three types that branch", circle(3), true},
		{"a ring", chain(maxRecursive/2, "", "struct s#- { opaque x<>; s# *a; };\n") + fmt.Sprintf("struct s%d { s0 *a; int b; };\n", maxRecursive/2-1), true},
		{"a ring beyond the limit", chain(2*maxRecursive, "", "struct s#- { opaque x<>; s# *a; };\n") + fmt.Sprintf("struct s%d { s0 *a; int b; };\n", 2*maxRecursive-1), false},
		{"a struct of many trees", repeat(2*maxRecursive, "struct s# { opaque x<>; s# *l; s# *r; };\n") + "struct s {\n" + repeat(2*maxRecursive, "s# f#;\n") + "};\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.x")
			if err := os.WriteFile(file, []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			r, err := sema.Compile(sema.Options{Files: []string{file}})
			if err != nil || r.Unit == nil {
				t.Fatal(err, r.Diags)
			}
			costs := NewCosts(r.Unit)
			for _, d := range r.Unit.Decls {
				if n := costs.Amplification(d); n > 0 != c.known {
					t.Fatalf("amplification of %s is %d; known should be %v", d.Name, n, c.known)
				}
			}
		})
	}
}
