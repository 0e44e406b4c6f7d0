package goview

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes expressions for offsets in checked bytes: of a field, and after a value.

// position is an offset in emitted code: the number n, or the expression x if it is not nil.
// Whether it is a number is known without rendering it, so an expression that holds other positions
// is built once.
type position struct {
	n int
	x goexpr.Expr
}

// variable is the position that a variable holds.
func variable(name string) position { return position{x: goexpr.ID(name)} }

func (p position) expr() *jen.Statement {
	if p.x == nil {
		return jen.Lit(p.n)
	}
	return p.x()
}

// plus is the position n bytes further on.
func (p position) plus(n int) position {
	if p.x == nil {
		return position{n: p.n + n}
	}
	return position{x: func() *jen.Statement { return p.x().Op("+").Lit(n) }}
}

// skip is the position after the value of step s at position at.
func (vs *views) skip(s *plan.Step, buf string, at position) position {
	switch {
	case s.Size.Fixed() && !s.NodeElem():
		return at.plus(s.Min())
	case s.SkipCall:
		return vs.skipCall(s.Of.Methods(), buf, at)
	}
	switch u := s.Under(); u.Op {
	case plan.Opaque:
		return skipBy("SkipOpaque", buf, at)
	case plan.Loop:
		return position{x: func() *jen.Statement {
			return jen.Qual(goexpr.Codec, "SkipElements").Call(at.expr(), jen.Lit(u.Len), vs.stepOver(u.Elem, buf)())
		}}
	case plan.Array:
		if u.Elem.Size.Fixed() {
			return skipBy("SkipFixed", buf, at, func() *jen.Statement { return jen.Lit(u.Elem.Min()) })
		}
		return skipBy("SkipArray", buf, at, vs.stepOver(u.Elem, buf))
	case plan.Optional:
		return skipBy("SkipOptional", buf, at, vs.stepOver(u.Elem, buf))
	case plan.List:
		if u.Head {
			at = vs.skip(u.Elem, buf, at)
		}
		return skipBy("SkipList", buf, at, vs.stepOver(u.Elem, buf))
	default:
		if !u.Of.ByField {
			return vs.skipCall(u.Of, buf, at)
		}
		for _, f := range u.Of.Fields {
			at = vs.skip(f.Step, buf, at)
		}
		return at
	}
}

// skipBy is the position that a function of the runtime returns, called with the buffer, the
// position at, and more.
func skipBy(name, buf string, at position, more ...goexpr.Expr) position {
	return position{x: func() *jen.Statement {
		args := []jen.Code{jen.Id(buf), at.expr()}
		for _, m := range more {
			args = append(args, m())
		}
		return jen.Qual(goexpr.Codec, name).Call(args...)
	}}
}

// stepOver is a function from the offset of a value of step s to the offset after it.
func (vs *views) stepOver(s *plan.Step, buf string) goexpr.Expr {
	return func() *jen.Statement {
		return jen.Func().Params(jen.Id("off").Int()).Int().Block(jen.Return(vs.skip(s, buf, variable("off")).expr()))
	}
}

// skipCall is skip by the type's own check-only reader.
func (vs *views) skipCall(t *plan.Type, buf string, at position) position {
	return position{x: func() *jen.Statement {
		return jen.Qual(goexpr.Codec, "Skip").Call(
			jen.Parens(jen.Op("*").Add(vs.pkg.DeclType(t))).Call(jen.Nil()).Dot("SkipXDR").Call(jen.Nil(), jen.Id(buf), at.expr()))
	}}
}
