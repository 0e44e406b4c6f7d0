package gogen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// textOf returns a unit of n types of all kinds, and a program.
func textOf(n int) string {
	forms := []string{
		"struct s%[1]d { unsigned int a; string b<9>; };\n",
		"typedef opaque t%[1]d<8>;\n",
		"enum e%[1]d { E%[1]d_A = 0, E%[1]d_B = 1 };\n",
		"union u%[1]d switch (bool b) { case TRUE: int list<>; case FALSE: void; };\n",
		"struct l%[1]d { hyper v; int w; l%[1]d *next; };\n",
		"typedef int n%[1]d;\n",
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, forms[i%len(forms)], i)
	}
	b.WriteString("program P { version V { s0 GET(int) = 1; } = 1; } = 0x20000000;\n")
	return b.String()
}

// optionSets are the options of TestUnitsOfEverySizeCompile, each of which writes other pieces.
var optionSets = map[string]Options{
	"default": {With: ir.DefaultMethods()},
	"bare":    {HasDoc: true},
	"views":   {Views: true, With: ir.DefaultMethods()},
	"tests":   {Views: true, Tests: true},
	"stubs":   {Stubs: true},
	"methods": {With: allMethods()},
	"all":     {Views: true, Tests: true, Stubs: true, With: allMethods()},
}

// TestUnitsOfEverySizeCompile type-checks the packages of units of 1 to 300 types with each set of
// options: two lists that share memory spoil each other at some sizes only.
func TestUnitsOfEverySizeCompile(t *testing.T) {
	for name, o := range optionSets {
		o.Package, o.ImportPath = "u", "example.org/u"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChecker(t)
			for n := 1; n <= 300; n++ {
				if testing.Short() && n > 3 && !slices.Contains([]int{32, 66, 130}, n) {
					continue // 66 types had no codecs once
				}
				names, fsys, err := sema.FromStdin([]string{"-"}, strings.NewReader(textOf(n)))
				if err != nil {
					t.Fatal(err)
				}
				r, err := sema.Compile(sema.Options{Files: names, FS: fsys, Stubs: o.Stubs, Generate: true})
				if err != nil || r.Unit == nil {
					t.Fatal(err, r.Diags)
				}
				files, diags, err := Generate(r.Unit, r.Bind, o)
				if err != nil || len(diags) > 0 {
					t.Fatalf("%d types: %v, %v", n, err, diags)
				}
				if err := c.check("example.org/u", files); err != nil {
					t.Errorf("%d types: %v", n, err)
				}
			}
		})
	}
}
