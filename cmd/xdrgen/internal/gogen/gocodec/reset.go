package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// resetter writes the statements that empty a value and keep the capacity of its slices, so that a
// decoder leaves no old data where a message has no data.
type resetter struct {
	pkg  *goexpr.Package
	fn   *goexpr.Function
	code []jen.Code
}

// Reset writes the body of a function that empties v, a value of t.
func Reset(p *goexpr.Package, t *plan.Type) []jen.Code {
	z := &resetter{pkg: p, fn: &goexpr.Function{}}
	if t.Zero {
		return []jen.Code{jen.Op("*").Id("v").Op("=").Id(p.Names.Decl(t.Decl)).Values()}
	}
	switch v := self(p, t); t.Op {
	case plan.Struct:
		for _, f := range t.Fields {
			z.reset(f.Step, v.field(p, f).x)
		}
	case plan.Union:
		z.union(t, v)
	default:
		z.reset(t.Whole(), v.x)
	}
	return z.code
}

func (z *resetter) stmt(c ...jen.Code) { z.code = append(z.code, c...) }

// block returns the statements that empty the value of step s at x.
func (z *resetter) block(s *plan.Step, x goexpr.Expr) []jen.Code {
	q := &resetter{pkg: z.pkg, fn: z.fn}
	q.reset(s, x)
	return q.code
}

// reset empties the value of step s at x.
func (z *resetter) reset(s *plan.Step, x goexpr.Expr) {
	switch s.Op {
	case plan.Bool:
		z.stmt(x().Op("=").False())
	case plan.Word, plan.Hyper, plan.Enum:
		z.stmt(x().Op("=").Lit(0))
	case plan.Bytes:
		z.stmt(jen.Clear(x().Index(jen.Op(":"))))
	case plan.Opaque:
		z.stmt(x().Op("=").Nil()) // opaque data is never written in place
	case plan.Loop:
		i := z.fn.Name("i")
		z.stmt(jen.For(jen.Id(i).Op(":=").Range().Add(x())).Block(z.block(s.Elem, x.Index(i))...))
	case plan.Array, plan.List:
		z.stmt(x().Op("=").Add(x()).Index(jen.Op(":").Lit(0)))
	case plan.Optional:
		if s.Pointer {
			z.stmt(x().Op("=").Nil())
			return
		}
		empty := append([]jen.Code{x().Dot("Present").Op("=").False()}, z.block(s.Elem, x.Dot("Value"))...)
		z.stmt(jen.If(x().Dot("Present")).Block(empty...))
	case plan.Typedef:
		z.reset(s.Elem, x)
	case plan.Struct, plan.Union:
		z.stmt(x().Dot("ResetXDR").Call())
	}
}

// union empties the selected arm of the union v, and then its discriminant.
func (z *resetter) union(t *plan.Type, v value) {
	disc := v.field(z.pkg, t.Disc)
	z.stmt(z.pkg.Arms(t, disc.x, func(a *plan.Arm) []jen.Code {
		q := &resetter{pkg: z.pkg, fn: z.fn}
		q.arm(t, a, v)
		return q.code
	}, nil))
	z.reset(t.Disc.Step, disc.x)
}

// arm empties arm a of the union v. An arm that is held by pointer keeps its memory (newArm).
func (z *resetter) arm(t *plan.Type, a *plan.Arm, v value) {
	if a.Field == nil {
		return
	}
	x := v.arm(z.pkg, a).x
	if !a.Pointer {
		z.reset(a.Field.Step, x)
		return
	}
	ptr := v.field(z.pkg, a.Field).x
	if t.Recursive {
		z.stmt(ptr().Op("=").Nil())
		return
	}
	z.stmt(jen.If(ptr().Op("!=").Nil()).Block(z.block(a.Field.Step, x)...))
}
