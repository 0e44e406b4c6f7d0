package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// sizer writes the statements that add the wire size of a value to a variable.
type sizer struct {
	pkg     *goexpr.Package
	fn      *goexpr.Function
	sum     string // the variable
	reduced bool   // without the items that an Encoder e leaves out of line
	fixed   int    // constant part not yet added
	terms   []jen.Code
	code    []jen.Code
}

// longSum is the largest number of terms in a line.
const longSum = 6

func (z *sizer) stmt(c ...jen.Code) { z.code = append(z.code, c...) }

// add adds a term, which has no effects: before the statements, if there is space.
func (z *sizer) add(c jen.Code) {
	if len(z.terms) < longSum {
		z.terms = append(z.terms, c)
		return
	}
	z.stmt(jen.Id(z.sum).Op("+=").Add(c))
}

// first is the sum of the constant part and the terms, which leads the statements.
func (z *sizer) first() *jen.Statement {
	var sum *jen.Statement
	if z.fixed > 0 || len(z.terms) == 0 {
		sum = jen.Lit(z.fixed)
	}
	for _, t := range z.terms {
		if sum == nil {
			sum = jen.Add(t)
		} else {
			sum = sum.Op("+").Add(t)
		}
	}
	return sum
}

// sub is a sizer for the code of a nested block.
func (z *sizer) sub() *sizer { return &sizer{pkg: z.pkg, fn: z.fn, sum: z.sum, reduced: z.reduced} }

// Size writes the body of a function that returns the size of v, a value of t, on the wire. If
// reduced is set, it leaves out the items that an Encoder e leaves out of line.
func Size(p *goexpr.Package, t *plan.Type, reduced bool) []jen.Code {
	z := &sizer{pkg: p, fn: &goexpr.Function{}, sum: "n", reduced: reduced}
	if t.Op == plan.Union {
		z.union(t, self(p, t))
	} else {
		z.size(t.Whole(), self(p, t))
	}
	if len(z.code) == 0 {
		return []jen.Code{jen.Return(z.first())}
	}
	body := []jen.Code{jen.Id("n").Op(":=").Add(z.first())}
	body = append(body, z.code...)
	return append(body, jen.Return(jen.Id("n")))
}

// size adds the size of v, a value of step s.
func (z *sizer) size(s *plan.Step, v value) {
	switch {
	case s.Size.Fixed() && !(s.Call && s.NodeElem()):
		z.fixed += s.Min()
		return
	case s.Call:
		z.call(s.Of, v)
		return
	}
	switch s.Op {
	case plan.Opaque:
		z.opaque(s, v)
	case plan.Loop:
		z.loop(s, v)
	case plan.Array:
		z.fixed += 4
		if s.Site != nil && z.reduced {
			z.reducedArray(s, v)
			return
		}
		z.loop(s, v)
	case plan.Optional:
		z.fixed += 4
		present, inner := optional(s, v)
		z.branch(present(), func(q *sizer) { q.size(s.Elem, inner) })
	case plan.List:
		if !s.Head {
			z.fixed += 4 // the word at the end; a head has one word less
		}
		z.elems(v, func(q *sizer, e value) {
			q.fixed += 4
			q.size(s.Elem, e)
		})
	case plan.Typedef:
		z.size(s.Elem, v.converted(z.pkg, s.Of))
	case plan.Struct:
		z.fields(s.Of.Fields, v)
	case plan.Union:
		z.union(s.Of, v)
	}
}

func (z *sizer) fields(fs []*plan.Field, v value) {
	for _, f := range fs {
		z.size(f.Step, v.field(z.pkg, f))
	}
}

func (z *sizer) opaque(s *plan.Step, v value) {
	z.fixed += 4
	padded := jen.Qual(goexpr.XDR, "Padded").Call(jen.Len(v.x()))
	if s.Site == nil || !z.reduced {
		z.add(padded)
		return
	}
	z.stmt(jen.If(jen.Op("!").Qual(goexpr.Codec, "Reduces").Call(jen.Id("e"), z.pkg.Site(s.Site)(), jen.Len(v.x()))).Block(
		jen.Id(z.sum).Op("+=").Add(padded)))
}

// reducedArray adds the elements of an array if they stay inline.
func (z *sizer) reducedArray(s *plan.Step, v value) {
	whole := &sizer{pkg: z.pkg, fn: z.fn, sum: z.fn.Name("size")}
	whole.loop(s, v)
	whole.flush()
	z.stmt(jen.Id(whole.sum).Op(":=").Lit(0))
	z.stmt(whole.code...)
	z.branch(jen.Op("!").Qual(goexpr.Codec, "Reduces").Call(jen.Id("e"), z.pkg.Site(s.Site)(), jen.Id(whole.sum)), func(q *sizer) {
		if s.Elem.Reducible() {
			q.loop(s, v)
		} else {
			q.add(jen.Id(whole.sum))
		}
	})
}

// call adds the result of the value's own method.
func (z *sizer) call(t *plan.Type, v value) {
	if t.Reducible && z.reduced {
		z.add(v.x().Dot("ReducedXDRSize").Call(jen.Id("e")))
		return
	}
	z.add(v.x().Dot("XDRSize").Call())
}

func (z *sizer) branch(cond jen.Code, f func(q *sizer)) {
	q := z.sub()
	f(q)
	q.flush()
	if len(q.code) > 0 {
		z.stmt(jen.If(cond).Block(q.code...))
	}
}

// flush adds the constant part and the terms.
func (z *sizer) flush() {
	if z.fixed > 0 || len(z.terms) > 0 {
		z.code = append([]jen.Code{jen.Id(z.sum).Op("+=").Add(z.first())}, z.code...)
	}
	z.fixed, z.terms = 0, nil
}

// loop adds the elements of an array or slice.
func (z *sizer) loop(s *plan.Step, v value) {
	z.elems(v, func(q *sizer, e value) { q.size(s.Elem, e) })
}

func (z *sizer) elems(v value, f func(q *sizer, e value)) {
	i := z.fn.Name("i")
	q := z.sub()
	f(q, v.elem(v.x.Index(i), goexpr.ID(i)))
	if q.fixed > 0 {
		z.add(jen.Lit(q.fixed).Op("*").Len(v.x()))
		q.fixed = 0
	}
	q.flush()
	if len(q.code) > 0 {
		z.stmt(jen.For(jen.Id(i).Op(":=").Range().Add(v.x())).Block(q.code...))
	}
}

// union adds the discriminant and the arm.
func (z *sizer) union(t *plan.Type, v value) {
	disc := v.field(z.pkg, t.Disc)
	z.size(t.Disc.Step, disc)
	some := false
	sw := z.pkg.Arms(t, disc.x, func(a *plan.Arm) []jen.Code {
		if a.Field == nil {
			return nil
		}
		q := z.sub()
		if a.Pointer {
			q.branch(v.field(z.pkg, a.Field).x().Op("!=").Nil(), func(in *sizer) { in.size(a.Field.Step, v.arm(z.pkg, a)) })
		} else {
			q.size(a.Field.Step, v.arm(z.pkg, a))
			q.flush()
		}
		some = true
		return q.code
	}, nil)
	if some {
		z.stmt(sw)
	}
}
