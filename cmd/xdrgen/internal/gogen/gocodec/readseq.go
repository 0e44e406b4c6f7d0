package gocodec

import (
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file is the part of reader for opaque data, arrays and lists of variable length.

// count reads a count into a variable, which it returns.
func (r *reader) count(v value) string {
	n := r.word("n", v)
	r.flush()
	return n
}

// limited reports whether a count can be over the maximum of s.
func limited(s *plan.Step) bool { return s.Bounded && s.Max < math.MaxUint32 }

// orOver is the condition bad, or if limit is set, that the count n is over the maximum of s.
func orOver(s *plan.Step, n string, limit bool, bad *jen.Statement) *jen.Statement {
	if !limit {
		return bad
	}
	return jen.Id(n).Op(">").Add(goexpr.Literal(s.Max)).Op("||").Add(bad)
}

// limit refuses a count over the maximum of s.
func (r *reader) limit(s *plan.Step, n string, v value) {
	if limited(s) {
		r.stmt(jen.If(jen.Id(n).Op(">").Add(goexpr.Literal(s.Max))).Block(
			r.fail(v.fail("CodeBound", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(n)), goexpr.Literal(s.Max)))))
	}
}

// opaque reads opaque data of variable length.
func (r *reader) opaque(s *plan.Step, v value) {
	if r.isSmall(v) {
		r.flush()
		if r.keeps() {
			r.getOpaque(s, v)
			return
		}
	}
	if s.Site == nil {
		r.inlineOpaque(r.count(v), s, limited(s), v)
		return
	}
	n := r.count(v)
	r.limit(s, n, v)
	inline := r.block(func(q *reader) { q.inlineOpaque(n, s, false, v) })
	data, ok := "_", r.fn.Name("ok")
	if v.x != nil {
		data = r.fn.Name("data")
		r.stmt(jen.Var().Id(data).Index().Byte())
	}
	r.stmt(
		jen.Id(ok).Op(":=").False(),
		jen.If(jen.Qual(goexpr.Codec, "Reinserts").Call(r.decoder())).Block(
			jen.Var().Id("fault").Add(errPtr()),
			r.takeSite("Take", s, v, data, ok, jen.Int().Call(jen.Id(n))),
		),
	)
	if v.x == nil {
		r.stmt(jen.If(jen.Op("!").Id(ok)).Block(inline...))
		return
	}
	r.stmt(jen.If(jen.Id(ok)).Block(v.x().Op("=").Id(data)).Else().Block(inline...))
}

// getOpaque reads opaque data as a part.
func (r *reader) getOpaque(s *plan.Step, v value) {
	if s.Site == nil {
		r.part(r.runtime("GetOpaque", true, v.addr(), most(s)), v)
		return
	}
	r.part(r.runtime("GetItem", true, v.addr(), most(s), r.pkg.Site(s.Site)()), v)
}

// most is the largest length of opaque data.
func most(s *plan.Step) jen.Code {
	if limited(s) {
		return goexpr.Literal(s.Max)
	}
	return jen.Qual("math", "MaxUint32")
}

// takeSite calls a function of the runtime for the item of a placement site, if it is out of line.
func (r *reader) takeSite(name string, s *plan.Step, v value, data, ok string, more ...jen.Code) jen.Code {
	args := append([]jen.Code{r.decoder(), r.pkg.Site(s.Site)(), jen.Id(r.off)}, more...)
	return attempt(jen.List(jen.Id(data), jen.Id(ok), jen.Id("fault")), jen.Qual(goexpr.Codec, name).Call(args...),
		"fault", r.fail(v.wrap(goexpr.ID("fault"))))
}

// inlineOpaque reads n bytes and their padding from the stream. If limit is set, n may be over the
// maximum of s. One condition has all faults, and the runtime finds out which it is. The comparison
// of the count with the rest of the input has 64 bits.
func (r *reader) inlineOpaque(n string, s *plan.Step, limit bool, v value) {
	size := func() *jen.Statement { return jen.Int().Call(jen.Id(n)) }
	bad := jen.Parens(jen.Uint64().Call(jen.Id(n)).Op("+").Lit(3)).Op("&^").Lit(3).Op(">").Add(r.left()).Op("||").
		Op("!").Qual(goexpr.Codec, "ZeroPad").Call(jen.Id(r.buf), jen.Id(r.off), size()).
		Op("&&").Qual(goexpr.Codec, "Refuses").Call(r.rules(), jen.Qual(goexpr.XDR, "CodePadding"))
	r.stmt(jen.If(orOver(s, n, limit, bad)).Block(r.fail(v.locate("BadOpaque", jen.Id(r.buf), jen.Id(r.off), jen.Id(n), most(s)))))
	if v.x != nil {
		end := func() *jen.Statement { return jen.Id(r.off).Op("+").Add(size()) }
		r.stmt(v.x().Op("=").Qual(goexpr.Codec, "Bytes").Call(jen.Id("d"), jen.Id(r.buf).Index(jen.Id(r.off).Op(":").Add(end()).Op(":").Add(end()))))
	}
	r.stmt(r.fn.move(r.off, jen.Qual(goexpr.XDR, "Padded").Call(size())))
}

// left is the number of bytes after off, as a uint64.
func (r *reader) left() *jen.Statement {
	return jen.Uint64().Call(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off))
}

// array reads an array. elements reads its n elements, after the check that there can be as many.
func (r *reader) array(s *plan.Step, v value, elements func(q *reader, n string)) {
	n := r.count(v)
	if s.Site == nil {
		r.enough(s, n, limited(s), v)
		elements(r, n)
		return
	}
	r.limit(s, n, v)
	// The elements may be out of line: read them from wherever they are. Unless all elements have
	// one size, their number does not follow from the bytes that are left.
	buf, off := r.fn.Name("bb"), r.fn.Name("at")
	data, ok := r.fn.Name("data"), r.fn.Name("ok")
	taken := []jen.Code{jen.List(jen.Id(buf), jen.Id(off)).Op("=").List(jen.Id(data), jen.Lit(0))}
	nested := s.Elem.Reducible()
	if nested {
		taken = append(taken, jen.Qual(goexpr.Codec, "Within").Call(r.decoder(), jen.True()))
	}
	r.stmt(
		jen.List(jen.Id(buf), jen.Id(off)).Op(":=").List(jen.Id(r.buf), jen.Id(r.off)),
		jen.Id(ok).Op(":=").False(),
		jen.If(jen.Qual(goexpr.Codec, "Reinserts").Call(r.decoder())).Block(
			jen.Var().Id(data).Index().Byte(),
			jen.Var().Id("fault").Add(errPtr()),
			r.takeSite("TakeArray", s, v, data, ok, jen.Id(n), jen.Lit(s.Elem.Min()), jen.Lit(s.Elem.Size.Fixed())),
			jen.If(jen.Id(ok)).Block(taken...),
		),
	)
	q := r.sub()
	q.buf, q.off = buf, off
	q.enough(s, n, false, v)
	elements(q, n)
	if nested {
		q.stmt(jen.If(jen.Id(ok)).Block(jen.Qual(goexpr.Codec, "Within").Call(r.decoder(), jen.False())))
	}
	r.stmt(q.code...)
	r.stmt(
		jen.If(jen.Op("!").Id(ok)).Block(jen.Id(r.off).Op("=").Id(off)).Else().If(jen.Id(off).Op("!=").Len(jen.Id(buf))).Block(
			r.fail(v.fail("CodeChunk", jen.Id(r.off), jen.Uint64().Call(jen.Len(jen.Id(buf))), jen.Uint64().Call(jen.Id(off))))),
	)
}

// enough refuses a count of an array that has more elements than can be there. If limit is set, the
// count may also be over the maximum of s.
func (r *reader) enough(s *plan.Step, n string, limit bool, v value) {
	wide := func() *jen.Statement { return jen.Uint64().Call(jen.Id(n)) }
	least := s.Elem.Min()
	if least == 0 {
		if limit {
			r.limit(s, n, v)
		}
		most := func() *jen.Statement { return jen.Uint64().Call(jen.Qual(goexpr.Codec, "MaxElements").Call(r.rules())) }
		r.stmt(jen.If(wide().Op(">").Add(most())).Block(
			r.fail(v.fail("CodeCount", jen.Id(r.off).Op("-").Lit(4), wide(), most()))))
		return
	}
	bad := wide().Op("*").Lit(least).Op(">").Add(r.left())
	r.stmt(jen.If(orOver(s, n, limit, bad)).Block(r.fail(v.locate("BadCount", jen.Id(r.buf), jen.Id(r.off), jen.Id(n), most(s), jen.Lit(least)))))
}

// lead makes the variable that says whether another element of a list follows, 1 at the start of a
// list that has an element. Otherwise the word is part of the run before it.
func (r *reader) lead(s *plan.Step, v value) string {
	if !s.Head {
		more := r.word("more", v)
		r.flush()
		return more
	}
	more := r.fn.Name("more")
	r.flush()
	r.stmt(jen.Id(more).Op(":=").Uint32().Call(jen.Lit(1)))
	return more
}

// next reads the word after an element of a list, in the run of the element.
func (r *reader) next(more string, v value) {
	r.add(4, v, func(w window) jen.Code { return jen.Id(more).Op("=").Add(w.uint32()) })
}

// whileMore writes the loop over a list: another element follows if the variable more is 1. Where
// it must be 1, the loop tests nothing else.
func (r *reader) whileMore(more string, v value, body []jen.Code) {
	lenient := jen.Id(more).Op(">").Lit(1).Op("&&").Op("!").Qual(goexpr.Codec, "Refuses").Call(r.rules(), jen.Qual(goexpr.XDR, "CodeBool"))
	r.stmt(
		jen.For(jen.Id(more).Op("==").Lit(1).Op("||").Add(lenient)).Block(body...),
		jen.If(jen.Id(more).Op("!=").Lit(0)).Block(r.fail(r.noPresence(more, v))),
	)
}
