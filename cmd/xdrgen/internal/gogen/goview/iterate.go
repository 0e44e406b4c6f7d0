package goview

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes the iterators of views.

// viewSeq is an iterator over the elements of the array or list of step s.
func (vs *views) viewSeq(s *plan.Step, buf string, at offset) *jen.Statement {
	if s.Op != plan.List && s.Elem.Size.Fixed() && s.Elem.Min() > 0 {
		return vs.viewFixed(s, buf, at)
	}
	off := variable("off")
	yield := jen.If(jen.Op("!").Id("yield").Call(jen.Id("i"), vs.viewValue(s.Elem, buf, off))).Block(jen.Return())
	next := jen.Id("off").Op("=").Add(vs.skip(s.Elem, buf, off).expr())
	word := func() *jen.Statement { return jen.Qual(goexpr.Codec, "Uint32").Call(jen.Id(buf), jen.Id("off")) }
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
		count := jen.Int().Call(jen.Qual(goexpr.Codec, "Uint32").Call(jen.Id(buf), jen.Id("off").Op("-").Lit(4)))
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
	return jen.Func().Params(jen.Id("yield").Func().Params(jen.Int(), vs.viewType(s.Elem)).Bool()).Block(body...)
}

// viewFixed is an iterator over the elements of an array that all have one size.
func (vs *views) viewFixed(s *plan.Step, buf string, at offset) *jen.Statement {
	size, code := s.Elem.Min(), at.code()
	from, n := at.position(), goexpr.Expr(func() *jen.Statement { return jen.Lit(s.Len) })
	if s.Op == plan.Array {
		code = append(code, jen.Id("n").Op(":=").Int().Call(jen.Qual(goexpr.Codec, "Uint32").Call(jen.Id(buf), from.expr())))
		from, n = from.plus(4), goexpr.ID("n")
	}
	times := func(x goexpr.Expr) *jen.Statement {
		if size == 1 {
			return x()
		}
		return jen.Lit(size).Op("*").Add(x())
	}
	value := vs.viewValue(s.Elem, "s", position{x: func() *jen.Statement { return times(goexpr.ID("i")) }})
	code = append(code,
		jen.Id("s").Op(":=").Id(buf).Index(from.expr().Op(":").Add(from.expr()).Op("+").Add(times(n))),
		jen.For(jen.Id("i").Op(":=").Range().Add(n())).Block(
			jen.If(jen.Op("!").Id("yield").Call(jen.Id("i"), value)).Block(jen.Return())),
	)
	return jen.Func().Params(jen.Id("yield").Func().Params(jen.Int(), vs.viewType(s.Elem)).Bool()).Block(code...)
}
