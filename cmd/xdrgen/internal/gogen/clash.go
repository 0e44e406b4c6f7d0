package gogen

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gofile"
)

// clashes finds Go names that the files declare twice. Names that this package makes (sites,
// procedures, views, bounds, methods) may be equal to each other or to names of the document. This
// way the user gets the error from xdrgen, and not from the Go compiler.
func (g *gen) clashes(files ...*gofile.Assembly) []diag.Diagnostic {
	seen := map[string]bool{}
	var out []diag.Diagnostic
	for _, f := range files {
		for _, p := range f.Pieces {
			for _, c := range p.Claims {
				if seen[c.Key] {
					out = append(out, diag.New(diag.GoName, g.placeOf(c.Name), "the Go name %s is made twice", c.Key).
						Helpf("add to the sidecar a rename of one of the two that become %s", c.Key))
				}
				seen[c.Key] = true
			}
		}
	}
	return out
}

// placeOf is the place of the declaration that a Go name comes from. If there are several, it is
// the place of the unit's first one.
func (g *gen) placeOf(name string) source.Span {
	for _, d := range g.unit.Decls {
		if g.pkg.Names.Decl(d) == name {
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
