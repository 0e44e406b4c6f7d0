package gogen

import (
	"github.com/dave/jennifer/jen"
)

// putter writes encoders. It joins words to a run, and runs and the opaque data between them to a
// span, for which there is one check for space. A span ends before every other kind of step.
type putter struct {
	g    *gen
	fn   *function
	buf  string // the variable with the buffer
	off  string // the variable with the offset
	code []jen.Code
	run  []item
	n    int // bytes in the run
	span []segment
	w    bool // w is declared in this block
	once bool // items may leave the stream, so that no attempt can be repeated
}

// longSpan is the largest number of segments in a span: each check adds the sizes of all before it.
const longSpan = 16

// segment is a part of a span: a run of n bytes, or opaque data.
type segment struct {
	n    int
	run  []item
	data expr // nil for a run
}

// block runs f on a putter for a nested block and returns its statements.
func (p *putter) block(f func(q *putter)) []jen.Code {
	q := p.sub(p.buf, p.off)
	f(q)
	q.flush()
	return q.code
}

// sub is a putter for a nested block, which writes to off of buf.
func (p *putter) sub(buf, off string) *putter {
	return &putter{g: p.g, fn: p.fn, buf: buf, off: off, once: p.once}
}

// fail returns err, or the result of failXDR (wrappers.go), which may try again.
func (p *putter) fail(err jen.Code) jen.Code {
	if p.once {
		return jen.Return(jen.Lit(0), err)
	}
	return jen.Return(jen.Id("v").Dot("failXDR").Call(jen.Id("e"), err))
}

func (p *putter) stmt(c ...jen.Code) { p.code = append(p.code, c...) }

// pending reports whether there is a span that is not written yet.
func (p *putter) pending() bool { return p.n > 0 || len(p.span) > 0 }

// endRun makes the run part of the span.
func (p *putter) endRun() {
	if p.n > 0 {
		p.span = append(p.span, segment{n: p.n, run: p.run})
	}
	p.run, p.n = nil, 0
}

// flush writes the span: one check for space, then stores at constant offsets from the beginning
// of each run.
func (p *putter) flush() {
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
		size.Qual(xdrPath, "Padded").Call(jen.Len(s.data()))
	}
	p.stmt(jen.If(lacks(p.buf, p.off, &size)).Block(p.fail(jen.Qual(codecPath, "Full").Call())))
	for _, s := range span {
		if s.data != nil {
			p.stmt(jen.Id(p.off).Op("=").Qual(codecPath, "PutOpaque").Call(jen.Id(p.buf), jen.Id(p.off), s.data()))
			continue
		}
		p.stmt(windowed(p.buf, p.off, s.n, &p.w, s.run)...)
		p.stmt(jen.Id(p.off).Op("+=").Lit(s.n))
	}
}

// add makes an item of n bytes part of the run.
func (p *putter) add(n int, code func(w window) jen.Code) {
	p.run = append(p.run, item{p.n, code})
	p.n += n
}

// word adds a 32-bit word to the run.
func (p *putter) word(v jen.Code) {
	p.add(4, func(w window) jen.Code { return bigEndian().Dot("PutUint32").Call(w.bytes(0, 4), v) })
}

// hyper adds a 64-bit word to the run.
func (p *putter) hyper(v jen.Code) {
	p.add(8, func(w window) jen.Code { return bigEndian().Dot("PutUint64").Call(w.bytes(0, 8), v) })
}

// bytes adds opaque data of fixed length n, and its padding, to the run.
func (p *putter) bytes(n int, v value) {
	if n == 0 {
		return
	}
	pad := (n + 3) &^ 3
	if pad != n {
		p.add(0, func(w window) jen.Code { return jen.Clear(w.bytes(n, pad)) })
	}
	p.add(pad, func(w window) jen.Code { return putArray(w.bytes(0, n), n, v) })
}

// opaque adds opaque data of variable length, and its padding, to the span.
func (p *putter) opaque(data expr) {
	p.endRun()
	if p.span = append(p.span, segment{data: data}); len(p.span) >= longSpan {
		p.flush()
	}
}

// at is the offset of the next byte of the span.
func (p *putter) at() *jen.Statement {
	n := p.n
	for _, s := range p.span {
		n += s.n
	}
	at := jen.Id(p.off)
	for _, s := range p.span {
		if s.data != nil {
			at.Op("+").Qual(xdrPath, "Padded").Call(jen.Len(s.data()))
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
	p.stmt(jen.If(cond).Block(p.fail(err)))
}
