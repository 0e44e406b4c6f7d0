package gogen

import (
	"go/ast"
	"go/parser"
	"go/token"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// clashes finds Go names that the files declare twice: names that this package
// makes (sites, procedures, views, bounds, methods) may meet each other or the
// document's own, and the Go compiler must not be the one to say so.
func (g *gen) clashes(files []File) ([]diag.Diagnostic, error) {
	seen := map[string]bool{}
	var out []diag.Diagnostic
	claim := func(key, name string) {
		if seen[key] {
			out = append(out, diag.New(diag.GoName, g.placeOf(name), "the Go name %s is made twice", key).
				Helpf("add to the sidecar a rename of one of the two that become %s", key))
		}
		seen[key] = true
	}
	fset := token.NewFileSet()
	for _, file := range files {
		f, err := parser.ParseFile(fset, file.Name, file.Content, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				recv := receiver(d)
				if recv == "" {
					claim(d.Name.Name, d.Name.Name)
					continue
				}
				claim(recv+"."+d.Name.Name, recv)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					claimSpec(s, claim)
				}
			}
		}
	}
	return out, nil
}

func claimSpec(s ast.Spec, claim func(key, name string)) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.Name != "_" {
				claim(n.Name, n.Name)
			}
		}
	case *ast.TypeSpec:
		claim(s.Name.Name, s.Name.Name)
		if t, ok := s.Type.(*ast.StructType); ok {
			for _, f := range t.Fields.List {
				for _, n := range f.Names {
					claim(s.Name.Name+"."+n.Name, s.Name.Name)
				}
			}
		}
	}
}

// receiver is the name of a method's type, or empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// placeOf is where the declaration behind a Go name stands, or the first
// of the unit where the name is made of several.
func (g *gen) placeOf(name string) source.Span {
	for d, n := range g.names.decl {
		if n == name && d.Import == nil {
			return d.Pos
		}
	}
	for _, d := range g.unit.Decls {
		if d.Kind == ir.Program {
			return d.Pos
		}
	}
	if len(g.unit.Decls) > 0 {
		return g.unit.Decls[0].Pos
	}
	return source.Span{}
}
