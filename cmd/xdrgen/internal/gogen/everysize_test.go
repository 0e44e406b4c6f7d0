package gogen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// textOf returns a unit with a program and n types, which mostly take little code.
func textOf(n int) string {
	forms := []string{
		"typedef int n%[1]d;\n",
		"struct s%[1]d { int list<>; };\n",
		"typedef opaque t%[1]d<8>;\n",
		"struct l%[1]d { hyper v; int w; l%[1]d *next; };\n",
		"enum e%[1]d { E%[1]d_A = 0, E%[1]d_B = 1 };\n",
		"union u%[1]d switch (bool b) { case TRUE: int x; case FALSE: void; };\n",
	}
	var b strings.Builder
	for i := range n {
		form := 0
		if i%8 < len(forms) {
			form = i % 8
		}
		fmt.Fprintf(&b, forms[form], i)
	}
	b.WriteString("program P { version V { n0 GET(int) = 1; } = 1; } = 0x20000000;\n")
	return b.String()
}

// optionSets are sets of options. With each, the generator writes other pieces.
var optionSets = []struct {
	name string
	o    Options
}{
	{"views", Options{Views: true, With: ir.DefaultMethods()}},
	{"default", Options{With: ir.DefaultMethods()}},
	{"tests", Options{Views: true, Tests: true}},
	{"stubs", Options{Stubs: true, Async: true}},
	{"all", Options{Views: true, Tests: true, Stubs: true, Async: true, With: allMethods()}},
	{"bare", Options{HasDoc: true}},
	{"methods", Options{With: allMethods()}},
}

// TestUnitsOfEverySizeCompile type-checks packages made from 1 to 300 types, each with the next set
// of options: two lists that share memory overwrite each other only at those sizes at which one of
// them grows. Beyond 100 types it takes every tenth size and those around 128 and 256, and short
// runs take a few that each set has.
func TestUnitsOfEverySizeCompile(t *testing.T) {
	for i, set := range optionSets {
		t.Run(set.name, func(t *testing.T) {
			t.Parallel()
			var sizes []int
			for n, k := 1, 0; n <= 300; n++ {
				if n > 100 && n%10 != 0 && n&^3 != 128 && n&^3 != 256 {
					continue
				}
				if k%len(optionSets) == i {
					sizes = append(sizes, n)
				}
				k++
			}
			if testing.Short() {
				sizes = []int{1, 2, 32, 66, 130} // with 60 to 66 types and views, codecs were lost
			}
			c := newChecker(t)
			for _, n := range sizes {
				checkSize(t, c, n, set.o)
			}
		})
	}
}

// checkSize generates and type-checks the package of a unit with n types.
func checkSize(t *testing.T, c *checker, n int, o Options) {
	t.Helper()
	names, fsys, err := sema.FromStdin([]string{"-"}, strings.NewReader(textOf(n)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := sema.Compile(sema.Options{Files: names, FS: fsys, Stubs: o.Stubs, Generate: true})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	o.Package, o.ImportPath = "u", "example.org/u"
	files, diags, err := Generate(r.Unit, r.Bind, o)
	if err != nil || len(diags) > 0 {
		t.Fatalf("%d types: %v, %v", n, err, diags)
	}
	if err := c.check(o.ImportPath, files); err != nil {
		t.Errorf("%d types: %v", n, err)
	}
}
