package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// goType is the Go type of a value of step s.
func (g *gen) goType(s *plan.Step) *jen.Statement {
	s = s.Resolved()
	switch s.Op {
	case plan.Bool:
		return jen.Bool()
	case plan.Word:
		return jen.Id([...]string{plan.Unsigned: "uint32", plan.Signed: "int32", plan.Float: "float32"}[s.Number])
	case plan.Hyper:
		return jen.Id([...]string{plan.Unsigned: "uint64", plan.Signed: "int64", plan.Float: "float64"}[s.Number])
	case plan.Bytes:
		return jen.Index(jen.Lit(s.Len)).Byte()
	case plan.Opaque:
		if s.Text {
			return jen.Qual(xdrPath, "String")
		}
		return jen.Index().Byte()
	case plan.Loop:
		return jen.Index(jen.Lit(s.Len)).Add(g.goType(s.Elem))
	case plan.Array, plan.List:
		return jen.Index().Add(g.goType(s.Elem))
	case plan.Optional:
		if s.Pointer {
			return jen.Op("*").Add(g.goType(s.Elem))
		}
		return jen.Qual(xdrPath, "Optional").Types(g.goType(s.Elem))
	}
	return g.declType(s.Of)
}

// declType is the Go type of t by its name.
func (g *gen) declType(t *plan.Type) *jen.Statement { return g.qualified(t.Decl) }

// qualified is the name of a declaration, of this package or another.
func (g *gen) qualified(d *ir.Decl) *jen.Statement {
	if d.Import != nil {
		return jen.Qual(d.Import.Package, g.names.Decl(d))
	}
	return jen.Id(g.names.Decl(d))
}
