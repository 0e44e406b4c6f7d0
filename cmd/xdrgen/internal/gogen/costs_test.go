package gogen

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// amplification is a constant in the bounds of a type. It is the last one on its line.
var amplification = regexp.MustCompile(`(?m)^(?:const |\t).*\b(\w+)Amplification += (?:.*, )?([0-9]+)$`)

// TestCostsAreTheGeneratedConstants holds Costs against the constants of the generated code.
func TestCostsAreTheGeneratedConstants(t *testing.T) {
	longRun(t, "generates again what TestGoodFilesGiveTestedPackages does")
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
		got := map[string]int{}
		for _, m := range amplification.FindAllStringSubmatch(string(made[0].Content), -1) {
			if got[m[1]], err = strconv.Atoi(m[2]); err != nil {
				t.Fatal(err)
			}
		}
		names := gonames.New()
		names.Add(r.Unit.Decls, r.Bind, true)
		costs, types := plan.NewCosts(r.Unit), plan.Make(r.Unit, nil)
		for _, d := range r.Unit.Decls {
			n := costs.Amplification(d)
			if n == 0 || d.List != nil && len(d.List.Elem) == 1 || types.Of(d).Alias {
				continue // it has no separate Go type
			}
			if name := names.Decl(d); got[name] != n {
				t.Errorf("%s: the code has %d for %s, the costs say %d", file, got[name], name, n)
			}
			compared++
		}
	}
	if compared < 20 {
		t.Errorf("%d types compared", compared)
	}
	if c := plan.NewCosts(&ir.Unit{Decls: []*ir.Decl{{Kind: ir.Typedef, Type: &ir.Type{Kind: ir.FixedOpaque, Len: 1 << 31, Size: ir.Size{Min: 1 << 31}}}}}); c != nil {
		t.Error("costs of what no Go value can hold")
	}
}
