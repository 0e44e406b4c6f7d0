package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
)

// goFile records the citations of a Go file. In the body or the doc comment of a test, a citation
// is a proof. In product code it marks the code that obeys. It counts for nothing elsewhere in test
// code and in package comments.
func (c *citations) goFile(name, rel string, last int) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	dir := path.Dir(rel)
	g := goSource{fset, f, rel, path.Base(dir) == "verbstest"}
	test := strings.HasSuffix(rel, "_test.go") || g.suite
	for _, comment := range f.Comments {
		t := g.text(comment)
		switch {
		case test:
			if at := g.test(comment.Pos()); at.symbol != "" {
				c.test(t, at, last)
			}
		case comment.Pos() > f.Package && product(dir):
			t.symbol = g.symbol(comment.Pos())
			c.product(t, last)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		switch {
		case !ok || lit.Kind != token.STRING:
		case !test && product(dir): // messages cite sections; duties are cited in comments
			at := place{rel, g.symbol(lit.Pos()), fset.Position(lit.Pos()).Line}
			c.product(text{at, lit.Value}, 0)
		case test:
			if at := g.test(lit.Pos()); at.symbol != "" {
				c.test(text{place{rel, "", fset.Position(lit.Pos()).Line}, lit.Value}, at, last)
			}
		}
		return true
	})
	return nil
}

// goSource is a parsed Go file.
type goSource struct {
	fset  *token.FileSet
	file  *ast.File
	rel   string
	suite bool // of package verbstest, where every function is a test
}

// text returns a comment without its markers, line by line.
func (g goSource) text(c *ast.CommentGroup) text {
	var b strings.Builder
	for _, l := range c.List {
		b.WriteString(strings.TrimPrefix(l.Text, "//"))
		b.WriteByte('\n')
	}
	return text{place{g.rel, "", g.fset.Position(c.Pos()).Line}, b.String()}
}

// test returns the place of the test that a position lies in, its doc comment included.
func (g goSource) test(pos token.Pos) place {
	for _, d := range g.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !g.suite && !isTest(fn.Name.Name) {
			continue
		}
		if start(fn) <= pos && pos < fn.End() {
			return place{g.rel, fn.Name.Name, g.fset.Position(fn.Pos()).Line}
		}
	}
	return place{}
}

func isTest(name string) bool {
	for _, p := range []string{"Test", "Fuzz", "Example"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// symbol returns the declaration that a comment belongs to: Conn.Close for a method,
// Config.MaxMemory for a field. A comment between declarations belongs to the next one.
func (g goSource) symbol(pos token.Pos) string {
	for _, d := range g.file.Decls {
		if g.before(pos, d) {
			switch d := d.(type) {
			case *ast.FuncDecl:
				return function(d)
			case *ast.GenDecl:
				return g.declared(pos, d)
			}
		}
	}
	return ""
}

// before reports whether a position is before the end of a node, or behind it in the same line.
func (g goSource) before(pos token.Pos, n ast.Node) bool {
	return pos < n.End() || g.fset.Position(pos).Line == g.fset.Position(n.End()).Line
}

// start returns the position of a function's doc comment, or of the function.
func start(fn *ast.FuncDecl) token.Pos {
	if fn.Doc != nil {
		return fn.Doc.Pos()
	}
	return fn.Pos()
}

// function returns the name of a function, with the type of its receiver.
func function(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// declared returns the name in a declaration that a comment belongs to, down to a field of a struct
// or a method of an interface.
func (g goSource) declared(pos token.Pos, d *ast.GenDecl) string {
	for _, s := range d.Specs {
		if !g.before(pos, s) {
			continue
		}
		switch s := s.(type) {
		case *ast.ValueSpec:
			return s.Names[0].Name
		case *ast.TypeSpec:
			if pos < s.Name.Pos() {
				return s.Name.Name
			}
			var fields *ast.FieldList
			switch t := s.Type.(type) {
			case *ast.StructType:
				fields = t.Fields
			case *ast.InterfaceType:
				fields = t.Methods
			default:
				return s.Name.Name
			}
			for _, f := range fields.List {
				if g.before(pos, f) && len(f.Names) > 0 {
					return s.Name.Name + "." + f.Names[0].Name
				}
			}
			return s.Name.Name
		}
	}
	return ""
}
