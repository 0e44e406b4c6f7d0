package gogen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// wideUnion is a unit with a union in a list. The n arms have several kinds.
func wideUnion(n int) string {
	arms := []string{"one", "two", "three", "four", "int", "string"}
	var b strings.Builder
	b.WriteString("struct one { int a; int b; };\nstruct two { unsigned int a; opaque b<>; };\n" +
		"struct three { string a<8>; three *next; };\nunion four switch (bool b) { case TRUE: hyper x; case FALSE: void; };\n" +
		"union wide switch (unsigned int n) {\n")
	for i := range n {
		switch kind := arms[i%len(arms)]; kind {
		case "string":
			fmt.Fprintf(&b, "case %d: string f%d<9>;\n", i, i)
		default:
			fmt.Fprintf(&b, "case %d: %s f%d;\n", i, kind, i)
		}
	}
	b.WriteString("default: void;\n};\nstruct all { wide list<>; };\n")
	return b.String()
}

// codecVariables counts the variables that the codec of a union declares. The Go compiler follows
// each of them through each case.
func codecVariables(t *testing.T, text string) (n int) {
	t.Helper()
	files, _ := generateNested(t, "u", text)
	f, err := parser.ParseFile(token.NewFileSet(), "", files[0].Content, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || fn.Name.Name != "PutXDR" && fn.Name.Name != "GetXDR" {
			continue
		}
		if p, ok := fn.Recv.List[0].Type.(*ast.StarExpr); !ok || p.X.(*ast.Ident).Name != "Wide" {
			continue
		}
		ast.Inspect(fn, func(x ast.Node) bool {
			if a, ok := x.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
				n += len(a.Lhs)
			}
			return true
		})
	}
	return n
}

// TestStructsOfWideUnionsAreCalled counts the variables of unions whose arms are mostly structs.
func TestStructsOfWideUnionsAreCalled(t *testing.T) {
	structs := func(n int) string {
		var b strings.Builder
		b.WriteString("struct arm { unsigned int a; opaque b<>; };\nunion wide switch (unsigned int n) {\n")
		for i := range n {
			fmt.Fprintf(&b, "case %d: arm f%d;\n", i, i)
		}
		b.WriteString("};\nstruct all { wide list<>; };\n")
		return b.String()
	}
	if one, two := codecVariables(t, structs(200)), codecVariables(t, structs(400)); one != two {
		t.Errorf("the codec of a union with 200 arms has %d variables, with 400 arms %d: expected as many", one, two)
	}
	if n := codecVariables(t, structs(100)); n < 100 {
		t.Errorf("the codec of a union with 100 arms has %d variables, expected one for each arm at least", n)
	}
}

// TestWideUnionsPassTheirTests runs the generated tests of unions with as many arms as are written
// out, and with more, in lists and as arguments.
func TestWideUnionsPassTheirTests(t *testing.T) {
	longRun(t, "to build and run the generated packages takes long")
	mod := newModule(t)
	for name, text := range map[string]string{
		"narrow": wideUnion(127),
		"wide":   wideUnion(130),
		"called": wideUnion(130) + "program P { version V { wide GET(wide) = 1; } = 1; } = 0x20000000;\n",
	} {
		files, _ := generateNested(t, name, text)
		mod.add(t, name, files)
	}
	mod.run(t)
}
