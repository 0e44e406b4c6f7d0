package gogen

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// lastConstant is a line with the bounds of a type. The amplification is the last one.
var lastConstant = regexp.MustCompile(`(?m)^const .*Amplification = (?:.*, )?([0-9]+)$`)

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
		var got, want []int
		for _, m := range lastConstant.FindAllSubmatch(made[0].Content, -1) {
			n, err := strconv.Atoi(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		costs, types := plan.NewCosts(r.Unit), plan.Make(r.Unit, nil)
		for _, d := range r.Unit.Decls {
			n := costs.Amplification(d)
			if n == 0 || d.List != nil && len(d.List.Elem) == 1 || types.Of(d).Alias {
				continue // it has no separate Go type
			}
			want = append(want, n)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the constants of the types in their order: %s", file, diff)
		}
		compared += len(want)
	}
	if compared < 20 {
		t.Errorf("%d types compared", compared)
	}
	if c := plan.NewCosts(&ir.Unit{Decls: []*ir.Decl{{Kind: ir.Typedef, Type: &ir.Type{Kind: ir.FixedOpaque, Len: 1 << 31, Size: ir.Size{Min: 1 << 31}}}}}); c != nil {
		t.Error("costs of what no Go value can hold")
	}
}
