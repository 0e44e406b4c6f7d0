package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes encoders: putter (span.go) folds over the steps of a type.

// Put writes the results and the body of the encoder for t: it puts v in b at off. It reports
// whether the encoder calls failXDR.
func Put(pkg *goexpr.Package, t *plan.Type) (code *jen.Statement, fails bool) {
	p := &putter{pkg: pkg, fn: &function{}, once: t.Reducible || t.Compact, compact: t.Compact, tail: t.Op == plan.Union}
	p.start("b", "off").parts.top = true
	p.put(t.Whole(), self(pkg, t))
	ended := p.finish(p.compact) || p.ended
	fails = p.fn.settleFails()
	return body(p.fn, p.code, jen.Error(), ended), fails
}

// An encoder with up to fewFails errors calls Retry for each, and not failXDR.
const fewFails = 2

// failure is the statement that returns an error of an encoder.
type failure struct {
	at  *jen.Statement
	err jen.Code
}

// settleFails writes the statements that return the errors of an encoder. It reports whether they
// call failXDR.
func (f *function) settleFails() bool {
	many := len(f.fails) > fewFails
	for _, x := range f.fails {
		if many {
			x.at.Return(jen.Id("v").Dot("failXDR").Call(jen.Id("e"), x.err))
		} else {
			x.at.Return(Retry(x.err))
		}
	}
	return many
}

// Retry is the result of an encoder that fails with err. If the buffer is full, it makes room and
// tries again.
func Retry(err jen.Code) *jen.Statement {
	return jen.Qual(goexpr.Codec, "Retry").Call(jen.Id("e"), jen.Id("v"),
		jen.Qual(goexpr.Codec, "Room").Call(jen.Id("e"), err, jen.Id("v").Dot("XDRSize").Call()))
}

// put writes the encoder for v, a value of step s.
func (p *putter) put(s *plan.Step, v value) {
	if s.Call {
		p.call(s.Of, v)
		return
	}
	switch s.Op {
	case plan.Bool:
		p.wordOf(v, jen.Qual(goexpr.Codec, "Word").Call(v.x()))
	case plan.Word:
		p.wordOf(v, bits(s, "uint32", "Float32bits", v))
	case plan.Hyper:
		p.hyperOf(v, bits(s, "uint64", "Float64bits", v))
	case plan.Enum:
		if p.isSmall(v) && !s.Of.Open {
			p.part(p.runtime("PutEnum", v.x()), v)
			return
		}
		// RFC 4506 §4.3: a value that is not a value of the enum is an error.
		if !s.Of.Open {
			p.check(invalid(v.x), v.fail("CodeEnum", p.at(), jen.Uint64().Call(jen.Uint32().Call(v.x())), jen.Lit(0)))
		}
		p.wordOf(v, jen.Uint32().Call(v.x()))
	case plan.Bytes:
		p.bytes(s.Len, v)
	case plan.Opaque:
		p.counted(s, v)
	case plan.Loop:
		if s.InRun {
			v.elems(s.Len, func(e value) { p.put(s.Elem, e) })
			return
		}
		if p.numbers(s, v) {
			return
		}
		p.flush()
		p.loop(s, v)
	case plan.Array:
		p.array(s, v)
	case plan.Optional:
		p.optional(s, v)
	case plan.List:
		p.list(s, v)
	case plan.Typedef:
		p.put(s.Elem, v.converted(p.pkg, s.Of))
	case plan.Struct:
		p.fields(s.Of.Fields, v)
	case plan.Union:
		p.union(s.Of, v)
	}
}

// bits is the number v as an unsigned integer of type word.
func bits(s *plan.Step, word, fromFloat string, v value) jen.Code {
	switch s.Number {
	case plan.Signed:
		return jen.Id(word).Call(v.x())
	case plan.Float:
		return jen.Qual("math", fromFloat).Call(v.x())
	}
	return v.x()
}

func (p *putter) fields(fs []*plan.Field, v value) {
	for _, f := range fs {
		p.put(f.Step, v.field(p.pkg, f))
	}
}

// call calls the encoder of the value. The Encoder is passed only to types that can place items out
// of line; a non-nil Encoder makes Retry encode the whole message again.
func (p *putter) call(t *plan.Type, v value) {
	e := jen.Nil()
	if t.Reducible {
		e = jen.Id("e")
	}
	call := v.x().Dot("PutXDR").Call(e, jen.Id(p.buf), jen.Id(p.off))
	if p.isSmall(v) {
		p.part(call, v)
		return
	}
	p.flush()
	p.fn.usesErr = true
	p.stmt(attempt(jen.List(jen.Id(p.off), jen.Err()), call, "err", p.fail(v.wrap(goexpr.ID("err")))))
}

// count refuses a length over the declared maximum (RFC 4506 §4.10 to §4.13), or over the largest
// count, and writes the count.
func (p *putter) count(s *plan.Step, v value) {
	length := jen.Len(v.x())
	if !s.Bounded || s.Max >= 1<<31 {
		length = jen.Uint64().Call(length)
	}
	p.bound(length.Op(">").Add(most(s)), v.locate("OverOrFull", p.at(), jen.Len(v.x()), most(s)))
	p.word(jen.Uint32().Call(jen.Len(v.x())))
}

// counted writes opaque data of variable length.
func (p *putter) counted(s *plan.Step, v value) {
	switch {
	case p.isSmall(v) && s.Site == nil:
		p.part(p.runtime("PutCounted", v.x(), most(s)), v)
		return
	case p.isSmall(v):
		p.part(jen.Qual(goexpr.Codec, "PutItem").Call(jen.Id("e"), jen.Id(p.buf), jen.Id(p.off), p.pkg.Site(s.Site)(), v.x(), most(s)), v)
		return
	}
	p.count(s, v)
	if s.Site == nil {
		p.opaque(v.x)
		return
	}
	p.flush()
	site := p.pkg.Site(s.Site)
	inline := p.block(func(q *putter) { q.opaque(v.x) })
	p.stmt(
		jen.If(jen.Qual(goexpr.Codec, "Reduces").Call(jen.Id("e"), site(), jen.Len(v.x()))).Block(
			jen.Qual(goexpr.Codec, "LeaveOut").Call(jen.Id("e"), site(), jen.Id(p.off), v.x()),
		).Else().Block(inline...),
	)
}

// loop writes the elements of v, an array or slice, one after the other.
func (p *putter) loop(s *plan.Step, v value) {
	if p.numbers(s, v) {
		p.flush()
		return
	}
	l := newEach(p.fn, s, v)
	body := p.block(func(q *putter) { q.put(s.Elem, l.elem) })
	p.stmt(l.loop(body)...)
}

func (p *putter) array(s *plan.Step, v value) {
	p.count(s, v)
	if s.Site == nil && p.numbers(s, v) {
		return
	}
	p.flush()
	if s.Site == nil {
		p.loop(s, v)
		return
	}
	// Elements that leave the stream are encoded in separate memory; the count stays
	// (RFC 8166 §3.4.4.1; R47). Arrays in them leave with their counts (R50).
	site := p.pkg.Site(s.Site)
	size, left, buf, off := p.fn.Name("size"), p.fn.Name("left"), p.fn.Name("bb"), p.fn.Name("at")
	z := &sizer{pkg: p.pkg, fn: &p.fn.Function, sum: size}
	z.loop(s, v)
	z.flush()
	p.stmt(jen.Id(size).Op(":=").Lit(0))
	p.stmt(z.code...)
	p.stmt(
		jen.List(jen.Id(buf), jen.Id(off)).Op(":=").List(jen.Id(p.buf), jen.Id(p.off)),
		jen.Id(left).Op(":=").Qual(goexpr.Codec, "Reduces").Call(jen.Id("e"), site(), jen.Id(size)),
		jen.If(jen.Id(left)).Block(
			jen.List(jen.Id(buf), jen.Id(off)).Op("=").List(jen.Make(jen.Index().Byte(), jen.Id(size)), jen.Lit(0)),
		),
	)
	q := p.sub(buf, off)
	q.loop(s, v)
	if s.Elem.Reducible() {
		// Eligible items in the elements leave with them, not by themselves.
		whole := jen.If(jen.Id(left)).Block(jen.Id("e").Op("=").Nil())
		q.code = []jen.Code{jen.Block(append([]jen.Code{jen.Id("e").Op(":=").Id("e"), whole}, q.code...)...)}
	}
	p.stmt(q.code...)
	p.stmt(jen.If(jen.Id(left)).Block(
		jen.Qual(goexpr.Codec, "LeaveOut").Call(jen.Id("e"), site(), jen.Id(p.off), jen.Id(buf)),
	).Else().Block(jen.Id(p.off).Op("=").Id(off)))
}

func (p *putter) optional(s *plan.Step, v value) {
	present, inner := optional(s, v)
	p.word(jen.Qual(goexpr.Codec, "Word").Call(present()))
	p.flush()
	body := p.block(func(q *putter) { q.put(s.Elem, inner) })
	p.stmt(jen.If(present()).Block(body...))
}

// optional returns the condition that optional data v is present, and the data.
func optional(s *plan.Step, v value) (present goexpr.Expr, data value) {
	if s.Pointer {
		return func() *jen.Statement { return v.x().Op("!=").Nil() }, v
	}
	data = v.with(v.x.Dot("Value"))
	data.ptr = nil
	return v.x.Dot("Present"), data
}

// list writes a linked list: a word 1 before each element, a word 0 at the end (RFC 4506 §4.19). If
// the head of the list is not optional, the first element has no word before it.
func (p *putter) list(s *plan.Step, v value) {
	if s.Head {
		p.check(jen.Len(v.x()).Op("==").Lit(0), v.fail("CodeEmpty", p.at(), jen.Lit(0), jen.Lit(1)))
	}
	p.flush()
	l := newEach(p.fn, s, v)
	l.bare = !s.Head && s.Elem.Empty()
	body := p.block(func(q *putter) {
		if s.Head {
			// The word that leads to this element follows the one before.
			q.stmt(jen.If(jen.Id(l.i).Op(">").Lit(0)).Block(q.block(func(q *putter) { q.word(jen.Lit(1)) })...))
		} else {
			q.word(jen.Lit(1))
		}
		q.put(s.Elem, l.elem)
	})
	p.stmt(l.loop(body)...)
	p.word(jen.Lit(0))
}
