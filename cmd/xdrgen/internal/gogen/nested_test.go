package gogen

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// nestings are ways for a type to hold the one a level below it.
var nestings = map[string]string{
	"structs":   "struct s%[1]d { s%[2]d a; int b; };\n",
	"branches":  "struct s%[1]d { s%[2]d a; int b; s0 c; };\n",
	"last":      "struct s%[1]d { int b; s%[2]d a; };\n",
	"between":   "struct s%[1]d { opaque b<>; s%[2]d a; int c; };\n",
	"arrays":    "struct s%[1]d { int n; s%[2]d a<3>; int b; };\n",
	"fixed":     "struct s%[1]d { int n; s%[2]d a[1]; int b; };\n",
	"unions":    "union s%[1]d switch (int d) { case 1: s%[2]d a; case 2: opaque o<>; default: void; };\n",
	"optionals": "struct s%[1]d { int n; s%[2]d *a; int b; };\n",
	"typedefs":  "struct t%[1]d { s%[2]d a; int b; };\ntypedef t%[1]d s%[1]d;\n",
	"lists":     "struct s%[1]d { s%[2]d a; int b; s%[1]d *next; };\n",
}

// nested is a unit with a type of n levels.
func nested(format string, n int) string {
	var b strings.Builder
	b.WriteString("struct s0 { opaque x<>; int y; };\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, format, i, i-1)
	}
	fmt.Fprintf(&b, "struct top { s%d a; opaque z<>; int e; opaque w<>; s%d more<>; };\n", n-1, n-1)
	return b.String()
}

// TestDeepTypesGiveBoundedCode generates types of 40 levels. A type's code includes the code of the
// types in it up to a limit (ADR 0005), so that the output of a few levels may grow with their
// square. The memory that each byte of output takes to make stays the same. The packages of 14
// levels, which exceed the limit, pass their generated tests. Packages of 40 levels would take five
// times as long to compile.
func TestDeepTypesGiveBoundedCode(t *testing.T) {
	slowWithRaces(t)
	mod := newModule(t)
	for name, format := range nestings {
		t.Run(name, func(t *testing.T) {
			least := 0.0
			for _, levels := range []int{10, 14, 40} {
				out, cost := generateNested(t, name, nested(format, levels))
				if levels == 14 {
					mod.add(t, name, out)
				}
				if least == 0 {
					least = cost
				}
				if cost > 2*least {
					t.Fatalf("%d levels take %.0f bytes of memory for each of output, 10 levels %.0f: expected twice as much at most", levels, cost, least)
				}
			}
		})
	}
	longRun(t, "to build and run the generated packages takes long")
	mod.run(t, unvetted)
}

// generateNested generates a package, and returns the bytes allocated for each byte of output.
func generateNested(t *testing.T, pkg, text string) (out []File, cost float64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nested.x")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, diags, err := Generate(r.Unit, r.Bind, Options{Package: pkg, Tests: true, Views: true, With: ir.DefaultMethods()})
	runtime.ReadMemStats(&after)
	if err != nil || len(diags) > 0 {
		t.Fatal(err, diags)
	}
	size := 0
	for _, f := range out {
		size += len(f.Content)
	}
	return out, float64(after.TotalAlloc-before.TotalAlloc) / float64(size)
}
