package gogen

import (
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// GoNames returns the names that a unit's package has for the declarations of the unit: foo,
// foo.FIELD, foo.ENUMERATOR, PROGRAM.VERSION and PROGRAM.VERSION.PROCEDURE.
func GoNames(u *ir.Unit, b *ir.Bind) []ir.Rename {
	n := newNames()
	n.add(u.Decls, b, false)
	var out []ir.Rename
	add := func(xdr, goName string, pos source.Span) {
		out = append(out, ir.Rename{Pos: pos, XDR: xdr, GoName: goName})
	}
	for _, d := range u.Decls {
		if d.Kind == ir.Typedef && plan.Transparent(d) || d.List != nil && len(d.List.Elem) == 1 {
			continue // not in the package
		}
		add(d.Name, n.decl[d], d.Pos)
		for _, m := range d.Members {
			add(d.Name+"."+m.Name, n.member[m], m.Pos)
		}
		fields := plan.Fields(d)
		if d.Kind == ir.Union {
			fields = append(fields[:0:0], d.Disc)
			for _, a := range d.Arms {
				if a.Field != nil {
					fields = append(fields, a.Field)
				}
			}
		}
		for _, f := range fields {
			add(d.Name+"."+f.Name, n.field[f], f.Pos)
		}
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range d.Program.Versions {
			add(d.Name+"."+v.Name, n.vers[v], v.Pos)
			for _, p := range v.Procs {
				add(d.Name+"."+v.Name+"."+p.Name, n.proc[p], p.Pos)
			}
		}
	}
	return out
}
