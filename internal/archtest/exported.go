package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// isPublic reports whether other modules can import the package at an import path, or at a path
// from the module's root.
func isPublic(path string) bool { return !slices.Contains(strings.Split(path, "/"), "internal") }

// exported reports the exported declarations of a file of a public package that name an internal
// package. Users could neither write such a type nor see its fields and methods with go doc.
// Unexported fields and methods may name one, and so may the bodies of functions.
func (c *checker) exported(file string, syntax *ast.File) {
	internal := make(map[string]bool) // by the names under which the file imports them
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		switch {
		case err != nil || isPublic(imported):
		case spec.Name != nil:
			internal[spec.Name.Name] = true
		default:
			internal[path.Base(imported)] = true
		}
	}
	if len(internal) == 0 || syntax.Name.Name == "main" {
		return
	}
	check := func(name *ast.Ident, declared ast.Node) {
		var hidden []*ast.Field
		ast.Inspect(declared, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				return false
			case *ast.StructType:
				hidden = append(hidden, unexported(n.Fields)...)
			case *ast.InterfaceType:
				hidden = append(hidden, unexported(n.Methods)...)
			case *ast.Field:
				return !slices.Contains(hidden, n)
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && internal[pkg.Name] {
					c.report(file, c.fset.Position(n.Pos()).Line, "internal",
						"exported %s names %s.%s: declare what users see in this package, and convert", name, pkg.Name, n.Sel)
				}
			}
			return true
		})
	}
	for _, decl := range syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || isExportedType(d.Recv.List[0].Type)) {
				check(d.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						check(s.Name, s)
					}
				case *ast.ValueSpec:
					if i := slices.IndexFunc(s.Names, (*ast.Ident).IsExported); i >= 0 {
						check(s.Names[i], s)
					}
				}
			}
		}
	}
}

// unexported returns the fields or methods that users do not see. One that is embedded has the name
// of its type.
func unexported(list *ast.FieldList) (hidden []*ast.Field) {
	for _, f := range list.List {
		visible := slices.ContainsFunc(f.Names, (*ast.Ident).IsExported)
		if len(f.Names) == 0 {
			visible = isExportedType(f.Type)
		}
		if !visible {
			hidden = append(hidden, f)
		}
	}
	return hidden
}

// isExportedType reports whether the name of a type, or of that to which it points, is exported.
func isExportedType(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return isExportedType(t.X)
	case *ast.IndexExpr:
		return isExportedType(t.X)
	case *ast.IndexListExpr:
		return isExportedType(t.X)
	case *ast.Ident:
		return t.IsExported()
	}
	return true
}
