package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// checker writes check-only readers: it folds over the steps of a type with values that have no
// expression. It passes elements together if none of their bytes can be refused.
type checker struct{ *reader }

// block runs f on a checker for a nested block and returns its statements.
func (r checker) block(f func(q checker)) []jen.Code {
	return r.reader.block(func(q *reader) { f(checker{q}) })
}

// Check writes the results and the body of the check-only reader for t.
func Check(p *goexpr.Package, t *plan.Type) *jen.Statement {
	r := checker{newReader(p, t, "c")}
	r.check(t.Whole(), self(p, t).with(nil))
	return r.body(t, errPtr())
}

// check writes the check for v, a value of step s.
func (r checker) check(s *plan.Step, v value) {
	if s.CheckCall {
		r.call(jen.Parens(jen.Op("*").Add(r.pkg.DeclType(s.Of))).Call(jen.Nil()), "SkipXDR", v)
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
		r.array(s, v, func(q *reader, n string) { checker{q}.checkElements(s, n, v) })
	case plan.Optional:
		more := r.presence(v)
		present := r.block(func(q checker) { q.check(s.Elem, v) })
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
		// The runs must be the same as the decoder's, which calls a method here. Otherwise short
		// input would give another error.
		r.flush()
		compact, base := r.compact, r.base
		r.compact, r.base = s.Of.Compact, len(v.indices)
		r.checkParts(s.Of, v)
		r.flush()
		r.compact, r.base = compact, base
	}
}

// checkParts checks the fields of a struct, or the discriminant and the arm of a union.
func (r checker) checkParts(t *plan.Type, v value) {
	for _, f := range t.Fields {
		r.check(f.Step, v.field(r.pkg, f))
	}
	if t.Op == plan.Union {
		r.readArms(t, r.disc(t, v), func(q *reader, a *plan.Arm) { checker{q}.check(a.Field.Step, v.field(r.pkg, a.Field)) })
	}
}

// checkLoop passes an array of fixed length.
func (r checker) checkLoop(s *plan.Step, v value) {
	if s.InRun {
		v.elems(s.Len, func(e value) { r.check(s.Elem, e) })
		return
	}
	r.flush()
	if s.Elem.Unchecked && s.Elem.InRun {
		if size := s.Elem.Min(); size > 0 {
			r.shortLoop(s, v)
			r.stmt(r.fn.move(r.off, jen.Lit(size*s.Len)))
		}
		return
	}
	i := &counter{name: r.fn.Name("i")}
	body := r.block(func(q checker) { q.check(s.Elem, v.elem(nil, i.x)) })
	r.stmt(i.loop(jen.Lit(s.Len), body))
}

// shortLoop refuses input that ends in an array of fixed length, at the element that it ends in, as
// a loop over the elements does. Their bytes are not checked.
func (r checker) shortLoop(s *plan.Step, v value) {
	size, left := s.Elem.Min(), r.fn.Name("left")
	short := r.block(func(q checker) {
		q.stmt(jen.Id(r.off).Op("+=").Id(left).Op("*").Lit(size))
		q.check(s.Elem, v.elem(nil, goexpr.ID(left)))
	})
	r.stmt(jen.If(
		jen.Id(left).Op(":=").Parens(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off)).Op("/").Lit(size),
		jen.Id(left).Op("<").Lit(s.Len),
	).Block(short...))
}

// checkElements passes the n elements of an array, for which the input is long enough.
func (r checker) checkElements(s *plan.Step, n string, v value) {
	count := jen.Int().Call(jen.Id(n))
	if s.Elem.Unchecked {
		if size := s.Elem.Min(); size > 0 {
			r.stmt(r.fn.move(r.off, jen.Add(count).Op("*").Lit(size)))
		}
		return
	}
	i := &counter{name: r.fn.Name("i")}
	body := r.block(func(q checker) {
		q.known = s.Elem.InRun
		q.check(s.Elem, v.elem(nil, i.x))
	})
	r.stmt(i.loop(count, body))
}

// checkList passes a list.
func (r checker) checkList(s *plan.Step, v value) {
	more := r.lead(s, v)
	i := &counter{name: r.fn.Name("i")}
	body := r.block(func(q checker) {
		q.check(s.Elem, v.elem(nil, i.x))
		q.next(more, v)
	})
	if i.used {
		r.stmt(jen.Id(i.name).Op(":=").Lit(0))
		body = append(body, jen.Id(i.name).Op("++"))
	}
	r.whileMore(more, v, body)
}
