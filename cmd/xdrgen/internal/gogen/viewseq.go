package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes the iterators of views.

// viewSeq is an iterator over the elements of the array or list of step s.
func (g *gen) viewSeq(s *plan.Step, buf string, at offset) *jen.Statement {
	if s.Op != plan.List && s.Elem.Size.Fixed() && s.Elem.Min() > 0 {
		return g.viewFixed(s, buf, at)
	}
	off := variable("off")
	yield := jen.If(jen.Op("!").Id("yield").Call(jen.Id("i"), g.viewValue(s.Elem, buf, off))).Block(jen.Return())
	next := jen.Id("off").Op("=").Add(g.skip(s.Elem, buf, off).expr())
	word := func() *jen.Statement { return jen.Qual(codecPath, "Uint32").Call(jen.Id(buf), jen.Id("off")) }
	if s.Op == plan.Array {
		at.fixed += 4 // the count
	}
	body := at.code()
	switch {
	case body == nil:
		body = []jen.Code{jen.Id("off").Op(":=").Lit(at.fixed)}
	case at.fixed > 0:
		body = append(body, jen.Id("off").Op("+=").Lit(at.fixed))
	}
	switch {
	case s.Op == plan.Loop:
		body = append(body, jen.For(jen.Id("i").Op(":=").Range().Lit(s.Len)).Block(yield, next))
	case s.Op == plan.Array:
		count := jen.Int().Call(jen.Qual(codecPath, "Uint32").Call(jen.Id(buf), jen.Id("off").Op("-").Lit(4)))
		body = append(body, jen.For(jen.Id("i").Op(":=").Range().Add(count)).Block(yield, next))
	case !s.Head:
		body = append(body, jen.For(jen.Id("i").Op(":=").Lit(0), word().Op("!=").Lit(0), jen.Id("i").Op("++")).Block(
			jen.Id("off").Op("+=").Lit(4), yield, next))
	default:
		body = append(body, jen.For(jen.Id("i").Op(":=").Lit(0), jen.Empty(), jen.Id("i").Op("++")).Block(
			yield, next,
			jen.If(word().Op("==").Lit(0)).Block(jen.Return()),
			jen.Id("off").Op("+=").Lit(4),
		))
	}
	return jen.Func().Params(jen.Id("yield").Func().Params(jen.Int(), g.viewType(s.Elem)).Bool()).Block(body...)
}

// viewFixed is an iterator over the elements of an array that all have one size.
func (g *gen) viewFixed(s *plan.Step, buf string, at offset) *jen.Statement {
	size, code := s.Elem.Min(), at.code()
	from, n := at.position(), expr(func() *jen.Statement { return jen.Lit(s.Len) })
	if s.Op == plan.Array {
		code = append(code, jen.Id("n").Op(":=").Int().Call(jen.Qual(codecPath, "Uint32").Call(jen.Id(buf), from.expr())))
		from, n = from.plus(4), id("n")
	}
	times := func(x expr) *jen.Statement {
		if size == 1 {
			return x()
		}
		return jen.Lit(size).Op("*").Add(x())
	}
	value := g.viewValue(s.Elem, "s", position{x: func() *jen.Statement { return times(id("i")) }})
	code = append(code,
		jen.Id("s").Op(":=").Id(buf).Index(from.expr().Op(":").Add(from.expr()).Op("+").Add(times(n))),
		jen.For(jen.Id("i").Op(":=").Range().Add(n())).Block(
			jen.If(jen.Op("!").Id("yield").Call(jen.Id("i"), value)).Block(jen.Return())),
	)
	return jen.Func().Params(jen.Id("yield").Func().Params(jen.Int(), g.viewType(s.Elem)).Bool()).Block(code...)
}
