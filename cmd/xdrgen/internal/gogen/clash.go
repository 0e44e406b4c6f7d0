package gogen

import (
	"go/ast"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// claim is a Go name that a file declares.
type claim struct {
	key  string // the name, with its type's in front where it is a field or method
	name string // whose declaration is to blame

	alias bool // a type, which is another name
}

// clashes finds Go names that the files declare twice. Names that this package makes (sites,
// procedures, views, bounds, methods) may be equal to each other or to names of the document. The
// user learns of it here, and not from the Go compiler.
func (g *gen) clashes(files ...*assembly) []diag.Diagnostic {
	seen := map[string]bool{}
	var out []diag.Diagnostic
	for _, f := range files {
		for _, p := range f.pieces {
			for _, c := range p.claims {
				if seen[c.key] {
					out = append(out, diag.New(diag.GoName, g.placeOf(c.name), "the Go name %s is made twice", c.key).
						Helpf("add to the sidecar a rename of one of the two that become %s", c.key))
				}
				seen[c.key] = true
			}
		}
	}
	return out
}

// claimed returns the names that a file declares.
func claimed(f *ast.File) []claim {
	var out []claim
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if recv := receiver(d); recv != "" {
				out = append(out, claim{key: recv + "." + name, name: recv})
			} else {
				out = append(out, claim{key: name, name: name})
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				out = claimSpec(out, s)
			}
		}
	}
	return out
}

func claimSpec(out []claim, s ast.Spec) []claim {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.Name != "_" {
				out = append(out, claim{key: n.Name, name: n.Name})
			}
		}
	case *ast.TypeSpec:
		out = append(out, claim{key: s.Name.Name, name: s.Name.Name, alias: s.Assign.IsValid()})
		if t, ok := s.Type.(*ast.StructType); ok {
			for _, f := range t.Fields.List {
				for _, n := range f.Names {
					out = append(out, claim{key: s.Name.Name + "." + n.Name, name: s.Name.Name})
				}
			}
		}
	}
	return out
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

// placeOf is the place of the declaration that a Go name is made of. If there are several, it is
// the place of the first declaration of the unit.
func (g *gen) placeOf(name string) source.Span {
	for _, d := range g.unit.Decls {
		if g.names.Decl(d) == name {
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
