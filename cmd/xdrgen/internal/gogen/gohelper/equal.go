package gohelper

import (
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// comparer writes the comparison of two values: statements that return false if they differ, and
// the conditions of which the next statement is made.
type comparer struct {
	h     *Helpers
	fn    *goexpr.Function
	conds []cond
	code  []jen.Code
}

// cond is a condition that is true of equal values: the comparison a OP b, or a call a. The
// opposite of the comparison is a NOT b.
type cond struct {
	a, b    *jen.Statement
	op, not string
}

func (c cond) same() *jen.Statement {
	if c.b == nil {
		return c.a
	}
	return c.a.Op(c.op).Add(c.b)
}

func (c cond) differ() *jen.Statement {
	if c.b == nil {
		return jen.Op("!").Add(c.a)
	}
	return c.a.Op(c.not).Add(c.b)
}

// Equal writes the method Equal of type t.
func (h *Helpers) Equal(f *jen.File, t *plan.Type) {
	name := h.pkg.Names.Decl(t.Decl)
	f.Comment("// Equal reports whether v and w have the same encoding. A value without one is not equal to any.")
	f.Func().Params(jen.Id("v").Op("*").Id(name)).Id("Equal").Params(jen.Id("w").Op("*").Id(name)).Bool().Block(
		jen.Return(jen.Qual(goexpr.Codec, "Equal").Call(jen.Id("v"), jen.Id("w"), jen.Id(h.name(equalHelper, t)))))
	h.equalFunc(f, t)
}

// equalFunc writes the function that compares values of t.
func (h *Helpers) equalFunc(f *jen.File, t *plan.Type) {
	c := &comparer{h: h, fn: &goexpr.Function{}}
	if t.Recursive {
		c.stmt(jen.If(jen.Id("depth").Op("==").Lit(0)).Block(jen.Return(jen.False())), jen.Id("depth").Op("--"))
	}
	c.content(t.Whole(), receiver(t, "v"), receiver(t, "w"))
	c.stmt(jen.Return(c.rest()))
	f.Func().Id(h.name(equalHelper, t)).Params(jen.List(jen.Id("v"), jen.Id("w")).Op("*").Add(h.pkg.DeclType(t)), jen.Id("depth").Int()).Bool().Block(c.code...)
}

func (c *comparer) stmt(s ...jen.Code) { c.code = append(c.code, s...) }

// relate adds the condition a OP b, whose opposite is a NOT b.
func (c *comparer) relate(a, b *jen.Statement, op, not string) {
	c.conds = append(c.conds, cond{a, b, op, not})
}

// same adds the condition that a and b are equal.
func (c *comparer) same(a, b *jen.Statement) { c.relate(a, b, "==", "!=") }

// call adds a condition that is the result of a call.
func (c *comparer) call(s *jen.Statement) {
	c.conds = append(c.conds, cond{a: s})
}

// rest returns the pending conditions as one.
func (c *comparer) rest() *jen.Statement {
	all := jen.True()
	for i, s := range c.conds {
		if i == 0 {
			all = s.same()
		} else {
			all.Op("&&").Line().Add(s.same())
		}
	}
	c.conds = nil
	return all
}

// flush writes the pending conditions.
func (c *comparer) flush() {
	if len(c.conds) == 0 {
		return
	}
	some := c.conds[0].differ()
	for _, s := range c.conds[1:] {
		some.Op("||").Line().Add(s.differ())
	}
	c.conds = nil
	c.stmt(jen.If(some).Block(jen.Return(jen.False())))
}

// block returns the statements that f writes.
func (c *comparer) block(f func(q *comparer)) []jen.Code {
	q := &comparer{h: c.h, fn: c.fn}
	f(q)
	q.flush()
	return q.code
}

// step compares values v and w of step s.
func (c *comparer) step(s *plan.Step, v, w operand) {
	if t := helped(s); t != nil && !s.Plain() {
		c.call(jen.Id(c.h.name(equalHelper, t)).Call(v.addr(), w.addr(), jen.Id("depth")))
		return
	}
	c.content(s, v, w)
}

// content compares values v and w of step s, part by part.
func (c *comparer) content(s *plan.Step, v, w operand) {
	if s.Plain() {
		c.same(v.whole(), w.whole())
		return
	}
	switch s.Op {
	case plan.Word:
		c.float("Float32bits", jen.Float32, v, w)
	case plan.Hyper:
		c.float("Float64bits", jen.Float64, v, w)
	case plan.Enum:
		c.same(v.whole(), w.whole())
		c.call(v.x().Dot("Valid").Call())
	case plan.Opaque:
		c.call(jen.Qual(goexpr.Codec, "EqualBytes").Call(v.x(), w.x(), longest(s)))
	case plan.Loop:
		c.elements(s, v, w)
	case plan.Array, plan.List:
		c.slice(s, v, w)
	case plan.Optional:
		c.optional(s, v, w)
	case plan.Typedef:
		c.step(under(s), v, w)
	case plan.Struct:
		for _, f := range s.Of.Fields {
			c.step(f.Step, v.field(c.h.pkg, f), w.field(c.h.pkg, f))
		}
	case plan.Union:
		c.union(s.Of, v, w)
	}
}

// float compares numbers by their bits: NaN has an encoding, too.
func (c *comparer) float(bits string, typ func() *jen.Statement, v, w operand) {
	c.same(jen.Qual("math", bits).Call(typ().Call(v.whole())), jen.Qual("math", bits).Call(typ().Call(w.whole())))
}

// longest is the largest length of opaque data, an array or a list that can be encoded.
func longest(s *plan.Step) jen.Code {
	switch {
	case s.Op == plan.List:
		return jen.Qual("math", "MaxUint64")
	case s.Bounded && s.Max < math.MaxUint32:
		return goexpr.Literal(s.Max)
	}
	return jen.Qual("math", "MaxUint32")
}

func (c *comparer) slice(s *plan.Step, v, w operand) {
	if s.Op == plan.List && s.Head {
		c.relate(jen.Len(v.x()), jen.Lit(0), ">", "==")
	}
	if s.Elem.Plain() {
		c.call(jen.Qual(goexpr.Codec, "EqualSlice").Call(v.x(), w.x(), longest(s)))
		return
	}
	c.call(jen.Qual(goexpr.Codec, "EqualLen").Call(jen.Len(v.x()), jen.Len(w.x()), longest(s)))
	c.elements(s, v, w)
}

// elements compares the elements of arrays or slices of one length.
func (c *comparer) elements(s *plan.Step, v, w operand) {
	c.flush()
	i := c.fn.Name("i")
	a, b, body := v.index(i), w.index(i), []jen.Code(nil)
	if s.Elem.Selectors() {
		p, q := c.fn.Name("p"), c.fn.Name("q")
		body = append(body, jen.List(jen.Id(p), jen.Id(q)).Op(":=").List(a.addr(), b.addr()))
		a, b = pointee(s.Elem, goexpr.ID(p)), pointee(s.Elem, goexpr.ID(q))
	}
	body = append(body, c.block(func(q *comparer) { q.step(s.Elem, a, b) })...)
	c.stmt(jen.For(jen.Id(i).Op(":=").Range().Add(v.x())).Block(body...))
}

func (c *comparer) optional(s *plan.Step, v, w operand) {
	if s.Pointer {
		c.same(jen.Parens(v.x().Op("==").Nil()), jen.Parens(w.x().Op("==").Nil()))
		c.branch(v.x().Op("!=").Nil(), func(q *comparer) { q.step(s.Elem, pointee(s.Elem, v.x), pointee(s.Elem, w.x)) })
		return
	}
	c.same(v.x().Dot("Present"), w.x().Dot("Present"))
	c.branch(v.x().Dot("Present"), func(q *comparer) { q.step(s.Elem, v.dot("Value"), w.dot("Value")) })
}

// branch compares by f where cond is true.
func (c *comparer) branch(cond jen.Code, f func(q *comparer)) {
	c.flush()
	c.stmt(jen.If(cond).Block(c.block(f)...))
}

// union compares the discriminants and the selected arms. A discriminant without an arm has no
// encoding.
func (c *comparer) union(t *plan.Type, v, w operand) {
	kind := v.field(c.h.pkg, t.Disc)
	c.same(kind.x(), w.field(c.h.pkg, t.Disc).x())
	c.flush()
	no := []jen.Code{jen.Return(jen.False())}
	c.stmt(c.h.pkg.Arms(t, kind.x, func(a *plan.Arm) []jen.Code {
		return c.block(func(q *comparer) {
			if a.Default && t.Closed() {
				q.call(kind.x().Dot("Valid").Call())
			}
			q.arm(a, v, w)
		})
	}, no))
}

// arm compares a selected arm. An arm that is held by pointer must be there.
func (c *comparer) arm(a *plan.Arm, v, w operand) {
	if a.Field == nil {
		return
	}
	if a.Pointer {
		for _, o := range []operand{v, w} {
			c.relate(o.field(c.h.pkg, a.Field).x(), jen.Nil(), "!=", "==")
		}
	}
	c.step(a.Field.Step, v.arm(c.h.pkg, a), w.arm(c.h.pkg, a))
}
