package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
)

// consts writes the unit's constants: untyped, as they are in XDR
// (RFC 4506 §4.17).
func (g *gen) consts() {
	var defs []jen.Code
	for _, d := range g.unit.Decls {
		if d.Kind != ir.Const {
			continue
		}
		note := d.Name
		if d.Tail != "" {
			note += ": " + d.Tail
		}
		defs = append(defs, jen.Id(g.pkg.Names.Decl(d)).Op("=").Add(integer(d.Value)).Comment(goexpr.Tail(note)))
	}
	if len(defs) > 0 {
		g.t.Comment("// The constants, under their XDR names.")
		g.t.Const().Defs(defs...)
	}
}

func integer(v ir.Value) *jen.Statement {
	s := jen.Empty()
	if v.Neg {
		s = jen.Op("-")
	}
	if v.Abs < 1<<63 {
		return s.Lit(int(v.Abs))
	}
	return s.Op(uitoa(v.Abs)) // jennifer would convert a larger literal to a type
}
