package gogen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// linesOf returns the number of lines in the package of the text.
func linesOf(t *testing.T, text string) int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "u.x")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	files, diags, err := Generate(r.Unit, r.Bind, Options{Package: "u", With: ir.Methods{String: true}})
	if err != nil || len(diags) > 0 {
		t.Fatal(err, diags)
	}
	return strings.Count(string(files[0].Content), "\n")
}

// TestStructHasFewLines holds the lines that one more struct of three fields adds to a package.
func TestStructHasFewLines(t *testing.T) {
	for _, c := range []struct {
		fields string
		most   int
	}{
		{"int a; int b; int c;", 40},
		{"unsigned int a; unsigned hyper b; string c<64>;", 45},
		{"unsigned int a; opaque b<>; hyper c;", 49},
	} {
		decl := func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "struct some_record_%02d { %s };\n", i, c.fields)
			}
			return b.String()
		}
		if got := linesOf(t, decl(3)) - linesOf(t, decl(2)); got > c.most {
			t.Errorf("struct { %s } takes %d lines of Go, want at most %d", c.fields, got, c.most)
		}
	}
}

// TestNFSHasFewLines holds the lines of the largest generated package of this module. It counts the
// committed file, which check-generated compares with the output.
func TestNFSHasFewLines(t *testing.T) {
	text, err := os.ReadFile("../../../../gen/nfs3/nfs3_xdr.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 6000 {
		t.Errorf("gen/nfs3/nfs3_xdr.go has %d lines, want at most 6000", n)
	}
}

// TestUnionLinesAreLinear doubles the number of a union's arms twice. Each arm is another struct.
// The union is in a list, where unions take most code.
func TestUnionLinesAreLinear(t *testing.T) {
	lines := func(n int) int {
		var types, arms strings.Builder
		for i := range n {
			fmt.Fprintf(&types, "struct arm_%d { unsigned int a; opaque b<>; };\n", i)
			fmt.Fprintf(&arms, "case %d: arm_%d f%d;\n", i, i, i)
		}
		return linesOf(t, types.String()+"union u switch (unsigned int n) {\n"+arms.String()+"};\nstruct list { u all<>; };\n")
	}
	one, two, four := lines(50), lines(100), lines(200)
	if a, b := two-one, four-two; b > 2*a+a/10 {
		t.Errorf("50 arms take %d lines, 100 %d, 200 %d: more than in proportion", one, two, four)
	}
}
