package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes check-only readers: reader (read.go) folds over the steps of a type with values
// that have no expression. It passes elements together if none of their bytes can be refused.

// checks writes the methods of type t that check bytes without decoding them.
func (g *gen) checks(t *plan.Type) {
	if _, ok := g.bound[t]; !ok {
		return // it has no methods
	}
	recv := func() *jen.Statement { return g.v.Func().Params(jen.Id("v").Op("*").Id(g.names.Decl(t.Decl))) }
	g.v.Comment("// CheckXDR returns the size of the value at the front of b, or the error of decoding it")
	g.v.Comment("// by the default rules. It does not use v, which may be nil.")
	recv().Id("CheckXDR").Params(jen.Id("b").Index().Byte()).Params(jen.Id("n").Int(), jen.Err().Error()).Block(
		// In this form the compiler can inline it.
		jen.List(jen.Id("n"), jen.Id("e")).Op(":=").Id("v").Dot("SkipXDR").Call(jen.New(jen.Qual(xdrPath, "Checker")), jen.Id("b"), jen.Lit(0)),
		jen.If(jen.Id("e").Op("!=").Nil()).Block(jen.Err().Op("=").Id("e")),
		jen.Return(),
	)
	g.v.Comment("// SkipXDR checks the value in b at off and returns the next offset. Only generated code calls it.")
	recv().Id("SkipXDR").Params(jen.Id("c").Op("*").Qual(xdrPath, "Checker"), jen.Id("b").Index().Byte(), jen.Id("off").Int()).
		Add(g.checkBody(t))
}

func (g *gen) checkBody(t *plan.Type) *jen.Statement {
	r := newReader(g, t, "c")
	r.check(t.Whole(), g.self(t).with(nil))
	return r.body(t, errPtr())
}

// errPtr is the type of an error in check-only readers. Encoders and decoders have the interface,
// which makes EncodeXDR and DecodeXDR small enough to be inlined.
func errPtr() *jen.Statement { return jen.Op("*").Qual(xdrPath, "Error") }

// check writes the check of value v of step s.
func (r *reader) check(s *plan.Step, v value) {
	if s.CheckCall {
		r.call(jen.Parens(jen.Op("*").Add(r.g.declType(s.Of))).Call(jen.Nil()), "SkipXDR", v)
		return
	}
	switch s.Op {
	case plan.Word, plan.Hyper, plan.Bool, plan.Enum:
		r.scalar(s, v)
	case plan.Bytes:
		r.bytes(s.Len, v)
	case plan.Opaque:
		r.opaque(s, v)
	case plan.Loop:
		r.checkLoop(s, v)
	case plan.Array:
		r.array(s, v, func(q *reader, n string) { q.checkElements(s, n, v) })
	case plan.Optional:
		more := r.presence(v)
		present := r.block(func(q *reader) { q.check(s.Elem, v) })
		r.stmt(jen.If(jen.Id(more).Op("!=").Lit(0)).Block(present...))
	case plan.List:
		r.checkList(s, v)
	case plan.Typedef:
		r.check(s.Elem, v)
	case plan.Struct, plan.Union:
		if !s.Call {
			r.checkParts(s.Of, v)
			return
		}
		// The runs must be those of the decoder, which calls. Otherwise the error of short input
		// would differ.
		r.flush()
		compact, base := r.compact, r.base
		r.compact, r.base = s.Of.Compact, len(v.indices)
		r.checkParts(s.Of, v)
		r.flush()
		r.compact, r.base = compact, base
	}
}

// checkParts checks the fields of a struct, or the discriminant and the arm of a union.
func (r *reader) checkParts(t *plan.Type, v value) {
	for _, f := range t.Fields {
		r.check(f.Step, r.g.field(v, f))
	}
	if t.Op == plan.Union {
		r.readArms(t, r.disc(t, v), func(q *reader, a *plan.Arm) { q.check(a.Field.Step, r.g.field(v, a.Field)) })
	}
}

// checkLoop passes an array of fixed length.
func (r *reader) checkLoop(s *plan.Step, v value) {
	if s.InRun {
		v.elems(s.Len, func(e value) { r.check(s.Elem, e) })
		return
	}
	r.flush()
	if s.Elem.Unchecked && s.Elem.InRun {
		if size := s.Elem.Min(); size > 0 {
			r.shortLoop(s, v)
			r.stmt(jen.Id(r.off).Op("+=").Lit(size * s.Len))
		}
		return
	}
	i := &counter{name: r.fn.name("i")}
	body := r.block(func(q *reader) { q.check(s.Elem, v.elem(nil, i.x)) })
	r.stmt(i.loop(jen.Lit(s.Len), body))
}

// shortLoop refuses input that ends in an array of fixed length, at the element that it ends in, as
// a loop over the elements does. Their bytes are not checked.
func (r *reader) shortLoop(s *plan.Step, v value) {
	size, left := s.Elem.Min(), r.fn.name("left")
	short := r.block(func(q *reader) {
		q.stmt(jen.Id(r.off).Op("+=").Id(left).Op("*").Lit(size))
		q.check(s.Elem, v.elem(nil, id(left)))
	})
	r.stmt(jen.If(
		jen.Id(left).Op(":=").Parens(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off)).Op("/").Lit(size),
		jen.Id(left).Op("<").Lit(s.Len),
	).Block(short...))
}

// checkElements passes the n elements of an array, for which the input is long enough.
func (r *reader) checkElements(s *plan.Step, n string, v value) {
	count := jen.Int().Call(jen.Id(n))
	if s.Elem.Unchecked {
		if size := s.Elem.Min(); size > 0 {
			r.stmt(jen.Id(r.off).Op("+=").Add(count).Op("*").Lit(size))
		}
		return
	}
	i := &counter{name: r.fn.name("i")}
	body := r.block(func(q *reader) {
		q.known = s.Elem.InRun
		q.check(s.Elem, v.elem(nil, i.x))
	})
	r.stmt(i.loop(count, body))
}

// checkList passes a list.
func (r *reader) checkList(s *plan.Step, v value) {
	more := r.lead(s, v)
	i := &counter{name: r.fn.name("i")}
	body := r.block(func(q *reader) {
		q.check(s.Elem, v.elem(nil, i.x))
		q.next(more, v)
	})
	if i.used {
		r.stmt(jen.Id(i.name).Op(":=").Lit(0))
		body = append(body, jen.Id(i.name).Op("++"))
	}
	r.whileMore(more, v, body)
}
