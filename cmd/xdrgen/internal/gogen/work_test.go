package gogen

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// generateText takes a text through the whole compiler, and returns how long the
// Go files are.
func generateText(t *testing.T, text string) (bytes int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.x")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	files, diags, err := Generate(r.Unit, r.Bind, Options{Package: "a", Tests: true, Views: true, With: allMethods()})
	if err != nil || len(diags) > 0 {
		t.Fatal(err, diags)
	}
	for _, f := range files {
		bytes += len(f.Content)
	}
	return bytes
}

// repeat joins n texts that format makes of their numbers.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// chain is a text in which each declaration names the one before it, as #-.
func chain(n int, first, format string) string {
	var b strings.Builder
	b.WriteString(first)
	for i := 1; i < n; i++ {
		s := strings.ReplaceAll(format, "#-", fmt.Sprint(i-1))
		b.WriteString(strings.ReplaceAll(s, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// TestWorkGrowsWithInput doubles large inputs. Quadratic work would take four times the
// allocations, or write four times the Go.
func TestWorkGrowsWithInput(t *testing.T) {
	longRun(t, "generates a megabyte of Go for each case")
	tests := []struct {
		name string
		n    int
		text func(n int) string
	}{
		{"structs", 100, func(n int) string { return repeat(n, "struct s# { int a; string b<>; };") }},
		{"typedefs", 200, func(n int) string { return repeat(n, "typedef opaque t#<#>;") }},
		{"typedefs of typedefs", 200, func(n int) string {
			return "typedef opaque t<>;" + strings.ReplaceAll(repeat(n, "typedef t# u#;"), "typedef t0", "typedef t") + repeat(n, "typedef t t#;")
		}},
		{"enumerators", 2000, func(n int) string { return "enum e {" + repeat(n, "E# = #,") + "LAST = -1};" }},
		{"constants", 2000, func(n int) string { return repeat(n, "const C# = #;") }},
		{"fields of fixed size", 1000, func(n int) string { return "struct s {" + repeat(n, "int f#;") + "};" }},
		{"labels", 500, func(n int) string {
			return "union u switch (int d) {" + repeat(n, "case #:") + "int a; default: void; };"
		}},
		{"types that hold each other", 100, func(n int) string {
			return "struct s { int v; };" + repeat(n, "struct n# { int v; n# *next; s *b; n"+fmt.Sprint(n-1)+" *last; };")
		}},
		{"sparse enumerators", 1000, func(n int) string { return "enum e {" + repeat(n, "E# = #7,") + "LAST = -1};" }},
		{"fields of variable size", 300, func(n int) string { return "struct s {" + repeat(n, "int i#; string s#<>;") + "};" }},
		{"arrays of variable size", 100, func(n int) string { return "typedef string t<>; struct s {" + repeat(n, "t a#<>;") + "};" }},
		{"chain of structs", 100, func(n int) string {
			return chain(n, "struct s0 { int v; };", "struct s# { int v; s#- p; };")
		}},
		{"chain of structs with arrays of fixed length", 200, func(n int) string {
			return chain(n, "struct s0 { int v[100]; };", "struct s# { int v[100]; s#- p; };")
		}},
		{"chain of structs of variable size", 100, func(n int) string {
			return chain(n, "struct s0 { string v<>; };", "struct s# { int v; s#- p; };")
		}},
		{"chain of unions", 100, func(n int) string {
			return chain(n, "struct s0 { string v<>; };", "union s# switch (int d) { case 1: s#- p; default: void; };")
		}},
		{"chain of arrays of structs", 100, func(n int) string {
			return chain(n, "struct s0 { int v; };", "struct s# { s#- p<>; };")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			count := func(n int) (bytes int, allocs uint64) {
				text := tt.text(n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				bytes = generateText(t, text)
				runtime.ReadMemStats(&after)
				return bytes, after.Mallocs - before.Mallocs
			}
			once, allocs := count(tt.n)
			twice, moreAllocs := count(2 * tt.n)
			if twice > 3*once {
				t.Errorf("%d bytes of Go for %d, %d for twice as many: want less than three times", once, tt.n, twice)
			}
			if moreAllocs > 3*allocs {
				t.Errorf("%d allocations for %d, %d for twice as many: want less than three times", allocs, tt.n, moreAllocs)
			}
		})
	}
}

// TestManyWays compiles types that hold each other in more ways than can be
// tried: it would not end.
func TestManyWays(t *testing.T) {
	longRun(t, "generates megabytes of Go")
	const n = 20
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "struct s%d {%s};\n", i, repeat(n, "s# *p#;"))
	}
	generateText(t, b.String())
	generateText(t, chain(30, "struct s0 { int v; };", "struct s# { s#- *a; s#- *b; };"))
	generateText(t, chain(30, "struct s0 { string v<>; };", "union s# switch (int d) { case 1: s#- a; case 2: s#- b; default: void; };"))
	generateText(t, chain(30, "struct s0 { string v<>; };", "struct s# { s#- a; union switch (bool b) { case TRUE: s#- c; case FALSE: void; } u; };"))
	generateText(t, chain(30, "struct s0 { int a<>; };", "struct s# { s#- *a; s#- *b; };"))
	generateText(t, chain(20, "struct s0 { string v<>; };", "struct s# { s#- a; s#- b; };"))
	generateText(t, chain(30, "typedef int t0<>;", "typedef t#- t#<>;"))
}

// TestListsInTheirElements compiles lists whose elements hold such lists.
func TestListsInTheirElements(t *testing.T) {
	for _, text := range []string{
		"struct s { int v; s kids<>; s *next; };",
		"typedef struct s *p; struct s { p kids<>; int v; s *next; };",
		"struct s { t *ts; s *next; }; struct t { s *ss; t *next; };",
		"union u switch (bool b) { case TRUE: s *kids; case FALSE: void; }; struct s { u inner; s *next; };",
		"struct h { s first; s *more; s all<3>; }; struct s { string v<>; s kids<9>; s *next; };",
		"struct s { t *ts; s *next; }; struct t { s *ss; t *next; }; struct h { s *x; };",
		"struct s { s kids<>; s *next; }; struct h { s x; s *y; s z<>; };",
		"struct a { b *bs; a *next; }; typedef a atd; struct b { atd ss[2]; b *next; };",
		"struct lead { s *y; lead *next; }; struct s { s kids<2>; s *next; }; struct h { lead l; };",
	} {
		generateText(t, text)
	}
}
