package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
)

// putter writes encoders. It joins words to a run, and runs and the opaque data between them to a
// span, for which there is one check for space. A span ends before every other kind of step.
type putter struct {
	pkg  *goexpr.Package
	fn   *function
	buf  string // the variable with the buffer
	off  string // the variable with the offset
	code []jen.Code
	run  []item
	n    int // bytes in the run
	span []segment
	over *limit // of the last count in the span
	w    bool   // w is declared in this block
	once bool   // EncodeXDR sees to a full buffer, and not PutXDR

	compact bool // the type that is written is compact
	tail    bool // the arms of a union may end the function
	ended   bool // they do
	parts   calls
	items   int         // in the run
	few     []smallItem // those that can be parts
}

func (p *putter) start(buf, off string) *putter {
	p.buf, p.off = buf, off
	p.parts = calls{fn: p.fn, off: off, fail: p.fail}
	return p
}

// longSpan is the largest number of segments in a span: each check adds the sizes of all before it.
const longSpan = 16

// segment is a part of a span: a run of n bytes, opaque data, or an array of numbers.
type segment struct {
	n    int
	run  []item
	data goexpr.Expr // nil for a run
	put  string      // the function of the runtime that writes data
	unit int         // the size of a number; 0 for opaque data
}

// size is the size of the data on the wire.
func (s segment) size() *jen.Statement {
	if s.unit > 0 {
		return jen.Lit(s.unit).Op("*").Len(s.data())
	}
	return jen.Qual(goexpr.XDR, "Padded").Call(jen.Len(s.data()))
}

// limit is the test of a count. It is a part of the span's check for space, or written separately
// if another test follows.
type limit struct {
	over jen.Code // the count is over the limit
	err  jen.Code // if it is; else the error of a full buffer
}

// block runs f on a putter for a nested block and returns its statements.
func (p *putter) block(f func(q *putter)) []jen.Code {
	q := p.sub(p.buf, p.off)
	f(q)
	q.finish(false)
	return q.code
}

// finish writes the end of a block. If tail is set, the block may return from the function; finish
// reports whether it does.
func (p *putter) finish(tail bool) (ended bool) {
	p.flush()
	if tail {
		last := p.parts.end()
		p.code = append(p.code, last...)
		ended = last != nil
	}
	p.stmt()
	return ended
}

// sub is a putter for a nested block, which writes to off of buf.
func (p *putter) sub(buf, off string) *putter {
	q := &putter{pkg: p.pkg, fn: p.fn, once: p.once, compact: p.compact}
	return q.start(buf, off)
}

// fail returns err, or the result of Retry, which may try again.
func (p *putter) fail(err jen.Code) jen.Code {
	if p.once {
		return jen.Return(jen.Lit(0), err)
	}
	at := &jen.Statement{}
	p.fn.fails = append(p.fn.fails, failure{at, err})
	return at
}

// stmt writes statements after those for the parts.
func (p *putter) stmt(c ...jen.Code) { p.code = append(append(p.code, p.parts.settle()...), c...) }

// part writes a call that writes v, a part of a compact type.
func (p *putter) part(call jen.Code, v value) {
	p.flush()
	p.code = append(p.code, p.parts.part(call, v)...)
}

// runtime returns a call to a function in the runtime.
func (p *putter) runtime(name string, more ...jen.Code) *jen.Statement {
	return jen.Qual(goexpr.Codec, name).Call(append([]jen.Code{jen.Id(p.buf), jen.Id(p.off)}, more...)...)
}

// isSmall reports whether v, not an element of an array, is written by the rules of a compact type.
func (p *putter) isSmall(v value) bool { return p.compact && len(v.indices) == 0 }

// pending reports whether there is a span that is not written yet.
func (p *putter) pending() bool { return p.n > 0 || len(p.span) > 0 }

// endRun makes the run part of the span.
func (p *putter) endRun() {
	p.few, p.items = nil, 0
	if p.n > 0 {
		p.span = append(p.span, segment{n: p.n, run: p.run})
	}
	p.run, p.n = nil, 0
}

// flush writes the span: one check for space, then stores at constant offsets from the beginning
// of each run.
func (p *putter) flush() {
	if len(p.few) > 0 && len(p.few) == p.items && p.items <= fewWords && len(p.span) == 0 {
		few := p.few
		p.few, p.items, p.run, p.n = nil, 0, nil, 0
		for _, i := range few {
			p.part(i.call(), i.at)
		}
		return
	}
	p.endRun()
	span, n := p.span, 0
	p.span = nil
	if len(span) == 0 {
		return
	}
	var size jen.Statement
	for _, s := range span {
		n += s.n
	}
	if n > 0 {
		size.Lit(n)
	}
	for _, s := range span {
		if s.data == nil {
			continue
		}
		if len(size) > 0 {
			size.Op("+")
		}
		size.Add(s.size())
	}
	lacks, full := goexpr.Lacks(p.buf, p.off, &size), jen.Qual(goexpr.Codec, "Full").Call()
	if l := p.over; l != nil {
		p.over = nil
		lacks, full = jen.Add(l.over).Op("||").Add(lacks), jen.Add(l.err)
	}
	p.stmt(jen.If(lacks).Block(p.fail(full)))
	for i, s := range span {
		if s.data != nil {
			at := jen.Id(p.off)
			if i > 0 && span[i-1].data == nil {
				at.Op("+").Lit(span[i-1].n)
			}
			p.stmt(p.fn.moveTo(p.off, jen.Qual(goexpr.Codec, s.put).Call(jen.Id(p.buf), at, s.data())))
			continue
		}
		p.stmt(windowed(p.buf, p.off, s.n, &p.w, s.run)...)
		if i == len(span)-1 { // the data that follows begins at its end
			p.stmt(p.fn.move(p.off, jen.Lit(s.n)))
		}
	}
}

// add makes an item of n bytes part of the run.
func (p *putter) add(n int, code func(w window) jen.Code) {
	if n > 0 {
		p.items++
	}
	p.run = append(p.run, item{p.n, code})
	p.n += n
}

// addSmall is add for an item of v that call writes if it is a part.
func (p *putter) addSmall(n int, v value, call func() jen.Code, code func(w window) jen.Code) {
	if p.isSmall(v) {
		p.few = append(p.few, smallItem{size: n, at: v, call: call})
	}
	p.add(n, code)
}

// word adds a 32-bit word to the run.
func (p *putter) word(x jen.Code) { p.add(4, putWord(x)) }

func putWord(x jen.Code) func(w window) jen.Code {
	return func(w window) jen.Code { return goexpr.BigEndian().Dot("PutUint32").Call(w.bytes(0, 4), x) }
}

// wordOf adds x, the 32-bit word of v, to the run.
func (p *putter) wordOf(v value, x jen.Code) {
	p.addSmall(4, v, func() jen.Code { return p.runtime("PutWord", x) }, putWord(x))
}

// hyperOf adds x, the 64-bit word of v, to the run.
func (p *putter) hyperOf(v value, x jen.Code) {
	p.addSmall(8, v, func() jen.Code { return p.runtime("PutHyper", x) },
		func(w window) jen.Code { return goexpr.BigEndian().Dot("PutUint64").Call(w.bytes(0, 8), x) })
}

// bytes adds opaque data of fixed length n, and its padding, to the run.
func (p *putter) bytes(n int, v value) {
	if n == 0 {
		return
	}
	pad := (n + 3) &^ 3
	if pad == n {
		p.addSmall(n, v, func() jen.Code { return p.runtime("PutFixed", v.x().Index(jen.Op(":"))) },
			func(w window) jen.Code { return putArray(w.bytes(0, n), n, v) })
		return
	}
	if p.isSmall(v) {
		p.flush()
		p.part(p.runtime("PutFixed", v.x().Index(jen.Op(":"))), v)
		return
	}
	if pad != n {
		p.add(0, func(w window) jen.Code { return jen.Clear(w.bytes(n, pad)) })
	}
	p.add(pad, func(w window) jen.Code { return putArray(w.bytes(0, n), n, v) })
}

// opaque adds opaque data of variable length, and its padding, to the span.
func (p *putter) opaque(data goexpr.Expr) { p.data(segment{data: data, put: "PutOpaque"}) }

// data adds a segment without a run to the span.
func (p *putter) data(s segment) {
	p.endRun()
	if p.span = append(p.span, s); len(p.span) >= longSpan {
		p.flush()
	}
}

// at is the offset of the span's next byte.
func (p *putter) at() *jen.Statement {
	n := p.n
	for _, s := range p.span {
		n += s.n
	}
	at := jen.Id(p.off)
	for _, s := range p.span {
		if s.data != nil {
			at.Op("+").Add(s.size())
		}
	}
	if n == 0 {
		return at
	}
	return at.Op("+").Lit(n)
}

// check returns err if cond holds. It is written before the stores of the span: on an error, no
// output counts.
func (p *putter) check(cond, err jen.Code) {
	p.settle()
	p.stmt(jen.If(cond).Block(p.fail(err)))
}

// bound makes the span's check for space refuse a count.
func (p *putter) bound(over, err jen.Code) {
	p.settle()
	p.over = &limit{over, err}
}

// settle writes the test of the last count separately, because another test follows: the first
// error in the value is reported.
func (p *putter) settle() {
	if l := p.over; l != nil {
		p.over = nil
		p.stmt(jen.If(l.over).Block(p.fail(l.err)))
	}
}
