package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// resetter writes the statements that empty a value and keep the capacity of
// its slices, so that nothing stale shows in what a message leaves out.
type resetter struct {
	g    *gen
	vars *local
	code []jen.Code
}

func (z *resetter) stmt(c ...jen.Code) { z.code = append(z.code, c...) }

// reset empties the value of type t at x.
func (z *resetter) reset(t *ir.Type, x expr) {
	t = resolve(t)
	switch t.Kind {
	case ir.Bool:
		z.stmt(x().Op("=").False())
	case ir.Int, ir.Uint, ir.Hyper, ir.Uhyper, ir.Float, ir.Double:
		z.stmt(x().Op("=").Lit(0))
	case ir.Quad, ir.FixedOpaque:
		z.stmt(jen.Clear(x().Index(jen.Op(":"))))
	case ir.Opaque, ir.String:
		z.stmt(x().Op("=").Nil()) // opaque data is never written in place
	case ir.FixedArray:
		i := z.vars.name("i")
		q := &resetter{g: z.g, vars: z.vars}
		q.reset(t.Elem, x.index(i))
		z.stmt(jen.For(jen.Id(i).Op(":=").Range().Add(x())).Block(q.code...))
	case ir.Array, ir.ListOf, ir.ListHead:
		z.stmt(x().Op("=").Add(x()).Index(jen.Op(":").Lit(0)))
	case ir.Optional:
		if pointerOptional(t) {
			z.stmt(x().Op("=").Nil())
			return
		}
		q := &resetter{g: z.g, vars: z.vars}
		q.reset(t.Elem, x.dot("Value"))
		z.stmt(jen.If(x().Dot("Present")).Block(append([]jen.Code{x().Dot("Present").Op("=").False()}, q.code...)...))
	case ir.Ref:
		z.ref(t.Ref, x)
	}
}

func (z *resetter) ref(d *ir.Decl, x expr) {
	switch d.Kind {
	case ir.Enum:
		z.stmt(x().Op("=").Lit(0))
	case ir.Typedef:
		z.reset(d.Type, x)
	default:
		z.stmt(x().Dot("ResetXDR").Call())
	}
}
