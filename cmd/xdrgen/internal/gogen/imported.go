package gogen

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// importsWithoutViews finds, if views are wanted, the first use of each unit whose types are parts
// of this unit's types, and whose sidecar does not ask for views. This unit's views would call
// methods that the other package does not have.
func (g *gen) importsWithoutViews() []diag.Diagnostic {
	if !g.wantViews {
		return nil
	}
	var out []diag.Diagnostic
	seen := map[*ir.Import]bool{}
	use := func(d *ir.Decl, f *ir.Field, t *ir.Type) {
		for t.Elem != nil {
			t = t.Elem
		}
		if t.Ref == nil || !viewless(t.Ref) || seen[t.Ref.Import] {
			return
		}
		imp := t.Ref.Import
		seen[imp] = true
		at := d.Pos
		if f != nil {
			at = f.Pos
		}
		out = append(out, diag.New(diag.ImportViews, at, "the views of %s need those of %s, and unit %s is generated without views", d.Name, t.Ref.Name, imp.Unit))
	}
	for _, d := range g.unit.Decls {
		if d.Type != nil {
			use(d, nil, d.Type)
		}
		for _, f := range d.Fields {
			use(d, f, f.Type)
		}
		for _, a := range d.Arms {
			if a.Field != nil {
				use(d, a.Field, a.Field.Type)
			}
		}
	}
	return out
}

// viewless reports whether d is a type of another unit and lacks the methods that the views of a
// type containing d call.
func viewless(d *ir.Decl) bool {
	return d.Import != nil && (d.Import.Bind == nil || !d.Import.Bind.Views) && called(d)
}

// called reports whether views call methods of d. Views read numbers and enumerators themselves.
func called(d *ir.Decl) bool {
	switch t := d.Type; {
	case d.Kind != ir.Typedef:
		return d.Kind == ir.Struct || d.Kind == ir.Union
	case t.Ref != nil:
		return called(t.Ref)
	default:
		return t.Kind > ir.Double
	}
}
