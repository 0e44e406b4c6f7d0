package gogen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gofile"
)

// TestLocalsHideNoImport checks that no variable or parameter of generated functions can hide an
// imported unit: the name of each, in the output for testdata/ok and the stubs, is in the list of
// locals.
func TestLocalsHideNoImport(t *testing.T) {
	files, _ := filepath.Glob(okDir + "/*.x")
	var methods ir.Methods
	for _, w := range ir.MethodWords() {
		methods.Apply(w)
	}
	found := 0
	for _, file := range append(files, stubsDir+"/stubs.x") {
		r, err := sema.Compile(sema.Options{Files: []string{file}, Include: []string{okDir + "/units", stubsDir}, ImportRoot: "example.org/ok", Generate: true, Stubs: true})
		if err != nil || r.Unit == nil {
			t.Fatal(file, err)
		}
		out, _, err := Generate(r.Unit, r.Bind, Options{Package: "p", ImportPath: "example.org/p", With: methods, Views: true, Stubs: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range out {
			for _, name := range variables(t, f.Content) {
				found++
				if name != "_" && !gofile.IsLocal(name) {
					t.Errorf("%s: a function has the variable %s: add it to locals", f.Name, name)
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d variables", found)
	}
}

// variables returns the names of variables and parameters in the functions of a Go file.
func variables(t *testing.T, source []byte) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(list ...ast.Expr) {
		for _, x := range list {
			if id, ok := x.(*ast.Ident); ok {
				names = append(names, id.Name)
			}
		}
	}
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				for _, id := range n.Names {
					add(id)
				}
			case *ast.AssignStmt:
				if n.Tok == token.DEFINE {
					add(n.Lhs...)
				}
			case *ast.RangeStmt:
				add(n.Key, n.Value)
			case *ast.ValueSpec:
				for _, id := range n.Names {
					add(id)
				}
			}
			return true
		})
	}
	return names
}
