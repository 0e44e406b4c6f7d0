package gogen

import (
	"fmt"
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
			if n == 0 || d.List != nil && len(d.List.Elem) == 1 || costs.plan.Of(d).Alias {
				continue // it has no Go type of its own
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
