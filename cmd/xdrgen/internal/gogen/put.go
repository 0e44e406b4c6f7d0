package gogen

import (
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// putter writes the encoder of one declaration. It gathers fixed-size items in a
// run, and runs and opaque data between them in a span, for which there is one
// look for room: a span ends where something else comes.
type putter struct {
	g    *gen
	vars *local
	buf  string // the buffer's variable
	off  string // the offset's variable
	code []jen.Code
	run  []item
	n    int // bytes in the run
	span []stretch
	w    bool // w is declared in this block
	once bool // items may leave the stream, so that nothing can be tried twice
}

// longSpan is how many parts a span has at most: each check says where it stands
// by the sizes of all before it.
const longSpan = 16

// stretch is a part of a span: a run of n bytes, or opaque data.
type stretch struct {
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
	return &putter{g: p.g, vars: p.vars, buf: buf, off: off, once: p.once}
}

// fail returns err, or what failXDR (same.go) makes of it.
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
		p.span = append(p.span, stretch{n: p.n, run: p.run})
	}
	p.run, p.n = nil, 0
}

// flush writes the span: one look for room, then stores at constant offsets from
// the beginning of each run.
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

// put writes the encoder for a value of type t at v.
func (p *putter) put(t *ir.Type, v place) {
	switch t.Kind {
	case ir.Bool:
		p.word(jen.Qual(codecPath, "Word").Call(v.x()))
	case ir.Int:
		p.word(jen.Uint32().Call(v.x()))
	case ir.Uint:
		p.word(v.x())
	case ir.Hyper:
		p.hyper(jen.Uint64().Call(v.x()))
	case ir.Uhyper:
		p.hyper(v.x())
	case ir.Float:
		p.word(jen.Qual("math", "Float32bits").Call(v.x()))
	case ir.Double:
		p.hyper(jen.Qual("math", "Float64bits").Call(v.x()))
	case ir.Quad:
		p.bytes(16, v)
	case ir.FixedOpaque:
		p.bytes(int(t.Len), v)
	case ir.Opaque, ir.String:
		p.opaque(t, v)
	case ir.FixedArray:
		p.fixedArray(t, v)
	case ir.Array:
		p.array(t, v)
	case ir.Optional:
		p.optional(t, v)
	case ir.ListOf:
		p.list(t.Ref, v, false)
	case ir.ListHead:
		p.list(t.Ref, v, true)
	case ir.Ref:
		p.ref(t, v)
	}
}

// bytes adds opaque data of fixed length n, and its padding, to the run.
func (p *putter) bytes(n int, v place) {
	if n == 0 {
		return
	}
	pad := (n + 3) &^ 3
	if pad != n {
		p.add(0, func(w window) jen.Code { return jen.Clear(w.bytes(n, pad)) })
	}
	p.add(pad, func(w window) jen.Code { return putArray(w.bytes(0, n), n, v) })
}

// ref writes a named type: written out where it is small, called where not.
func (p *putter) ref(t *ir.Type, v place) {
	d := t.Ref
	switch {
	case d.Kind == ir.Enum:
		// RFC 4506 §4.3: a value that is no enumerator is an error.
		if !d.Open {
			p.check(jen.Op("!").Add(v.x()).Dot("Valid").Call(),
				v.fail("CodeEnum", p.at(), jen.Uint64().Call(jen.Uint32().Call(v.x())), jen.Lit(0)))
		}
		p.word(jen.Uint32().Call(v.x()))
	case d.Kind == ir.Typedef && (p.g.inlined(d) || v.site != nil):
		p.put(p.g.underTypedef(d, v))
	case d.Kind == ir.Struct && d.List == nil && (p.g.inlined(d) || p.g.steps(t) >= 0):
		for _, f := range d.Fields {
			p.put(f.Type, p.g.field(v, f))
		}
	case d.Kind == ir.Union && p.g.inlined(d):
		p.g.putUnion(p, d, v)
	default:
		p.call(d, v)
	}
}

// underTypedef is the type under an inlined typedef, and the value with the
// conversion that it needs.
func (g *gen) underTypedef(d *ir.Decl, v place) (*ir.Type, place) {
	q := v
	if basic := g.basicConversion(d); basic != nil {
		q.x = func() *jen.Statement { return basic().Call(v.x()) }
	}
	return d.Type, q
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

// check returns err if cond holds. It stands before the span's stores, which
// is as good: on error nothing of the output counts.
func (p *putter) check(cond jen.Code, err jen.Code) {
	p.stmt(jen.If(cond).Block(p.fail(err)))
}

// call calls the value's own encoder. It hands an Encoder on to what may leave items
// out of line only: failXDR takes what has one for the whole of the output.
func (p *putter) call(d *ir.Decl, v place) {
	p.flush()
	p.g.needErr = true
	e := jen.Nil()
	if p.g.reducible[d] {
		e = jen.Id("e")
	}
	p.stmt(attempt(jen.List(jen.Id(p.off), jen.Err()),
		v.x().Dot("PutXDR").Call(e, jen.Id(p.buf), jen.Id(p.off)), "err", p.fail(v.wrap(id("err")))))
}

// bound refuses a length over the declared maximum (RFC 4506 §4.10 to §4.13), or
// over what the count can say.
func (p *putter) bound(t *ir.Type, v place) {
	if t.Bounded && t.Max < 1<<31 {
		p.check(jen.Len(v.x()).Op(">").Add(literal(t.Max)),
			v.fail("CodeBound", p.at(), jen.Uint64().Call(jen.Len(v.x())), literal(t.Max)))
		return
	}
	most := func() jen.Code { return jen.Qual("math", "MaxUint32") }
	if t.Bounded && t.Max < math.MaxUint32 {
		most = func() jen.Code { return literal(t.Max) }
	}
	p.check(jen.Uint64().Call(jen.Len(v.x())).Op(">").Add(most()),
		v.fail("CodeBound", p.at(), jen.Uint64().Call(jen.Len(v.x())), most()))
}

func (p *putter) opaque(t *ir.Type, v place) {
	p.bound(t, v)
	p.word(jen.Uint32().Call(jen.Len(v.x())))
	if v.site == nil {
		p.endRun()
		if p.span = append(p.span, stretch{data: v.x}); len(p.span) >= longSpan {
			p.flush()
		}
		return
	}
	p.flush()
	inline := p.block(func(q *putter) { q.span = append(q.span, stretch{data: v.x}) })
	p.stmt(
		jen.If(jen.Qual(codecPath, "Reduces").Call(jen.Id("e"), v.site(), jen.Len(v.x()))).Block(
			jen.Qual(codecPath, "LeaveOut").Call(jen.Id("e"), v.site(), jen.Id(p.off), v.x()),
		).Else().Block(inline...),
	)
}

func (p *putter) fixedArray(t *ir.Type, v place) {
	if n := p.g.steps(t); n >= 0 {
		for i := 0; i < int(t.Len); i++ {
			i := i
			p.put(t.Elem, v.elem(func() *jen.Statement { return v.x().Index(jen.Lit(i)) },
				func() *jen.Statement { return jen.Lit(i) }))
		}
		return
	}
	p.flush()
	p.loop(t, v)
}

// loop writes the elements of v, an array or slice, one after the other.
func (p *putter) loop(t *ir.Type, v place) {
	l := p.g.over(p.vars, t, v)
	body := p.block(func(q *putter) { q.put(t.Elem, l.elem) })
	p.stmt(l.loop(body)...)
}

func (p *putter) array(t *ir.Type, v place) {
	p.bound(t, v)
	p.word(jen.Uint32().Call(jen.Len(v.x())))
	p.flush()
	site := v.site
	if site == nil {
		p.loop(t, v)
		return
	}
	// The elements go into memory of their own where they are left out; the
	// count stays (RFC 8166 §3.4.4.1; R47). Arrays in them leave with their counts (R50).
	size, left, buf, off := p.vars.name("size"), p.vars.name("left"), p.vars.name("bb"), p.vars.name("at")
	s := &sizer{g: p.g, vars: p.vars, sum: size}
	s.loop(t.Elem, v)
	p.stmt(jen.Id(size).Op(":=").Lit(0))
	p.stmt(s.code...)
	p.stmt(
		jen.List(jen.Id(buf), jen.Id(off)).Op(":=").List(jen.Id(p.buf), jen.Id(p.off)),
		jen.Id(left).Op(":=").Qual(codecPath, "Reduces").Call(jen.Id("e"), site(), jen.Id(size)),
		jen.If(jen.Id(left)).Block(
			jen.List(jen.Id(buf), jen.Id(off)).Op("=").List(jen.Make(jen.Index().Byte(), jen.Id(size)), jen.Lit(0)),
		),
	)
	q := p.sub(buf, off)
	q.loop(t, v)
	if p.g.typeReducible(t.Elem) {
		// What is eligible in the elements leaves with them, not by itself.
		whole := jen.If(jen.Id(left)).Block(jen.Id("e").Op("=").Nil())
		q.code = []jen.Code{jen.Block(append([]jen.Code{jen.Id("e").Op(":=").Id("e"), whole}, q.code...)...)}
	}
	p.stmt(q.code...)
	p.stmt(jen.If(jen.Id(left)).Block(
		jen.Qual(codecPath, "LeaveOut").Call(jen.Id("e"), site(), jen.Id(p.off), jen.Id(buf)),
	).Else().Block(jen.Id(p.off).Op("=").Id(off)))
}

func (p *putter) optional(t *ir.Type, v place) {
	if pointerOptional(t) {
		p.word(jen.Qual(codecPath, "Word").Call(v.x().Op("!=").Nil()))
		p.flush()
		body := p.block(func(q *putter) { q.put(t.Elem, v) })
		p.stmt(jen.If(v.x().Op("!=").Nil()).Block(body...))
		return
	}
	present := v.x.dot("Present")
	p.word(jen.Qual(codecPath, "Word").Call(present()))
	p.flush()
	inner := v
	inner.x = v.x.dot("Value")
	body := p.block(func(q *putter) { q.put(t.Elem, inner) })
	p.stmt(jen.If(present()).Block(body...))
}

// list writes a linked list: a word 1 before each element, a word 0 at the
// end (RFC 4506 §4.19). The first element of a list whose head is not
// optional has no word before it.
func (p *putter) list(node *ir.Decl, v place, head bool) {
	if head {
		p.check(jen.Len(v.x()).Op("==").Lit(0), v.fail("CodeEmpty", p.at(), jen.Lit(0), jen.Lit(1)))
	}
	p.flush()
	l := p.g.each(p.vars, listElem(node), v)
	l.bare = !head && emptyElem(node)
	body := p.block(func(q *putter) {
		if head {
			// The word that leads to this element stands after the one before.
			q.stmt(jen.If(jen.Id(l.i).Op(">").Lit(0)).Block(q.block(func(q *putter) { q.word(jen.Lit(1)) })...))
		} else {
			q.word(jen.Lit(1))
		}
		q.elem(node, l.elem)
	})
	p.stmt(l.loop(body)...)
	p.word(jen.Lit(0))
}

// elem writes one element of a list.
func (p *putter) elem(node *ir.Decl, v place) {
	fs := node.List.Elem
	switch {
	case len(fs) == 1:
		v.site = p.g.sites[fs[0]]
		p.put(fs[0].Type, v)
	case p.g.inlined(node):
		for _, f := range fs {
			p.put(f.Type, p.g.field(v, f))
		}
	default:
		p.call(node, v)
	}
}
