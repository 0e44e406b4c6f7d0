package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// getter writes the decoder of one declaration. Like putter it gathers
// fixed-size items in a run; one length check covers the run.
type getter struct {
	g       *gen
	vars    *local
	buf     string // the buffer's variable
	off     string // the offset's variable
	checked bool   // the bytes of the run are known to be there
	code    []jen.Code
	run     []jen.Code
	n       int
	first   place // what the run begins with
	w       bool
}

func (r *getter) block(f func(q *getter)) []jen.Code {
	q := &getter{g: r.g, vars: r.vars, buf: r.buf, off: r.off}
	f(q)
	q.flush()
	return q.code
}

func (r *getter) stmt(c ...jen.Code) { r.code = append(r.code, c...) }

// take adds n bytes to the run, read by statements that use w.
func (r *getter) take(n int, v place, c ...jen.Code) {
	if r.n == 0 {
		r.first = v
	}
	r.run = append(r.run, c...)
	r.n += n
}

func (r *getter) flush() {
	if r.n == 0 {
		return
	}
	if !r.checked {
		r.stmt(r.need(jen.Lit(r.n), r.first))
	}
	if len(r.run) > 0 {
		r.stmt(slideWindow(r.buf, r.off, r.n, &r.w))
		r.stmt(r.run...)
	}
	r.stmt(jen.Id(r.off).Op("+=").Lit(r.n))
	r.run, r.n, r.checked = nil, 0, false
}

// need refuses input that has not n more bytes.
func (r *getter) need(n *jen.Statement, v place) jen.Code {
	left := jen.Len(jen.Id(r.buf)).Op("-").Id(r.off)
	return jen.If(left.Op("<").Add(n.Clone())).Block(
		jen.Return(jen.Id(r.off), v.short(jen.Id(r.buf), jen.Id(r.off), n.Clone())))
}

// at is the offset of byte k of the run.
func (r *getter) at(k int) *jen.Statement {
	if k == 0 {
		return jen.Id(r.off)
	}
	return jen.Id(r.off).Op("+").Lit(k)
}

func (r *getter) uint32() *jen.Statement {
	return bigEndian().Dot("Uint32").Call(window(r.n, r.n+4))
}

func (r *getter) uint64() *jen.Statement {
	return bigEndian().Dot("Uint64").Call(window(r.n, r.n+8))
}

// get writes the decoder for a value of type t at v.
func (r *getter) get(t *ir.Type, v place) {
	set := func() *jen.Statement { return v.x().Op("=") }
	switch t.Kind {
	case ir.Bool:
		r.bool(v, v.x)
	case ir.Int:
		r.take(4, v, set().Int32().Call(r.uint32()))
	case ir.Uint:
		r.take(4, v, set().Add(r.uint32()))
	case ir.Hyper:
		r.take(8, v, set().Int64().Call(r.uint64()))
	case ir.Uhyper:
		r.take(8, v, set().Add(r.uint64()))
	case ir.Float:
		r.take(4, v, set().Qual("math", "Float32frombits").Call(r.uint32()))
	case ir.Double:
		r.take(8, v, set().Qual("math", "Float64frombits").Call(r.uint64()))
	case ir.Quad:
		r.bytes(16, v)
	case ir.FixedOpaque:
		r.bytes(int(t.Len), v)
	case ir.Opaque, ir.String:
		r.opaque(t, v)
	case ir.FixedArray:
		r.fixedArray(t, v)
	case ir.Array:
		r.array(t, v)
	case ir.Optional:
		r.optional(t, v)
	case ir.ListOf:
		r.list(t.Ref, v, false)
	case ir.ListHead:
		r.list(t.Ref, v, true)
	case ir.Ref:
		r.ref(t, v)
	}
}

// bool adds a word that must be 0 or 1 (RFC 4506 §4.4) to the run, and sets
// the Go bool dst.
func (r *getter) bool(v place, dst expr) {
	k := r.n
	word := r.vars.name("word")
	r.take(4, v,
		jen.Id(word).Op(":=").Add(r.uint32()),
		jen.If(jen.Id(word).Op(">").Lit(1)).Block(
			jen.Return(jen.Id(r.off), v.fail("CodeBool", r.at(k), jen.Uint64().Call(jen.Id(word)), jen.Lit(1)))),
		dst().Op("=").Id(word).Op("==").Lit(1),
	)
}

// count adds a word to the run and returns the variable that holds it.
func (r *getter) count(base string, v place) string {
	n := r.vars.name(base)
	r.take(4, v, jen.Id(n).Op(":=").Add(r.uint32()))
	return n
}

// bytes adds opaque data of fixed length n, whose padding must be zero.
func (r *getter) bytes(n int, v place) {
	if n == 0 {
		return
	}
	pad := (n + 3) &^ 3
	k := r.n
	c := []jen.Code{jen.Copy(v.x().Index(jen.Op(":")), window(k, k+n))}
	if pad != n {
		c = append(c, jen.If(jen.Op("!").Qual(xdrPath, "ZeroPad").Call(jen.Id("w"), jen.Lit(k), jen.Lit(n))).Block(
			jen.Return(jen.Id(r.off), v.fail("CodePadding", r.at(k+n), jen.Qual(xdrPath, "PadBits").Call(jen.Id("w"), jen.Lit(k), jen.Lit(n)), jen.Lit(0)))))
	}
	r.take(pad, v, c...)
}

func (r *getter) ref(t *ir.Type, v place) {
	d := t.Ref
	switch {
	case d.Kind == ir.Enum:
		if d.Open {
			r.take(4, v, v.x().Op("=").Add(r.g.declType(d)).Call(r.uint32()))
			return
		}
		k, enum := r.n, r.vars.name("enum")
		r.take(4, v,
			jen.Id(enum).Op(":=").Add(r.g.declType(d)).Call(r.uint32()),
			jen.If(jen.Op("!").Id(enum).Dot("Valid").Call()).Block(
				jen.Return(jen.Id(r.off), v.fail("CodeEnum", r.at(k), jen.Uint64().Call(jen.Uint32().Call(jen.Id(enum))), jen.Lit(0)))),
			v.x().Op("=").Id(enum),
		)
	case d.Kind == ir.Typedef && (r.g.inlined(d) || v.site != nil):
		r.typedef(d, v)
	case d.Kind == ir.Struct && d.List == nil && (r.g.inlined(d) || steps(t, flatLimit) >= 0):
		for _, f := range d.Fields {
			r.get(f.Type, r.g.field(v, f))
		}
	case d.Kind == ir.Union && r.g.inlined(d):
		r.g.getUnion(r, d, v)
	default:
		r.call(v)
	}
}

// typedef reads through an inlined typedef. Where its Go type is a named
// scalar the value is converted on the way in.
func (r *getter) typedef(d *ir.Decl, v place) {
	conv := r.g.basicConversion(d)
	if conv == nil {
		r.get(d.Type, v)
		return
	}
	T := func() *jen.Statement { return r.g.declType(d) }
	switch t := d.Type.Underlying(); t.Kind {
	case ir.Bool:
		r.bool(v, v.x)
	case ir.Int, ir.Uint:
		r.take(4, v, v.x().Op("=").Add(T()).Call(r.uint32()))
	case ir.Hyper, ir.Uhyper:
		r.take(8, v, v.x().Op("=").Add(T()).Call(r.uint64()))
	case ir.Float:
		r.take(4, v, v.x().Op("=").Add(T()).Call(jen.Qual("math", "Float32frombits").Call(r.uint32())))
	case ir.Double:
		r.take(8, v, v.x().Op("=").Add(T()).Call(jen.Qual("math", "Float64frombits").Call(r.uint64())))
	}
}

func (r *getter) call(v place) {
	r.flush()
	r.g.needErr = true
	r.stmt(
		jen.If(
			jen.List(jen.Id(r.off), jen.Err()).Op("=").Add(v.x()).Dot("GetXDR").Call(jen.Id("d"), jen.Id(r.buf), jen.Id(r.off)),
			jen.Err().Op("!=").Nil(),
		).Block(jen.Return(jen.Id(r.off), v.wrap(id("err")))),
	)
}

// fallible writes dst, err = call, with the error wrapped at v.
func (r *getter) fallible(dst *jen.Statement, call jen.Code, v place) {
	r.g.needErr = true
	r.stmt(
		jen.If(jen.List(dst, jen.Err()).Op("=").Add(call), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Id(r.off), v.wrap(id("err")))),
	)
}

// bound refuses a count over the declared maximum.
func (r *getter) bound(t *ir.Type, n string, v place) {
	if t.Bounded && t.Max < 1<<32-1 {
		r.stmt(jen.If(jen.Id(n).Op(">").Lit(int(t.Max))).Block(
			jen.Return(jen.Id(r.off), v.fail("CodeBound", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(n)), jen.Lit(int(t.Max))))))
	}
}

func (r *getter) opaque(t *ir.Type, v place) {
	n := r.count("n", v)
	r.flush()
	r.bound(t, n, v)
	inline := r.block(func(q *getter) { q.inlineOpaque(n, v) })
	if v.site == nil {
		r.stmt(inline...)
		return
	}
	r.taken(v, jen.Int().Call(jen.Id(n)), inline, func(data string) []jen.Code {
		return []jen.Code{v.x().Op("=").Id(data)}
	})
}

// inlineOpaque reads n bytes and their padding from the stream. The count is
// compared in 64 bits with what is left.
func (r *getter) inlineOpaque(n string, v place) {
	pad := jen.Parens(jen.Uint64().Call(jen.Id(n)).Op("+").Lit(3)).Op("&^").Lit(3)
	left := jen.Uint64().Call(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off))
	size := func() *jen.Statement { return jen.Int().Call(jen.Id(n)) }
	r.stmt(
		jen.If(pad.Op(">").Add(left)).Block(
			jen.Return(jen.Id(r.off), v.short(jen.Id(r.buf), jen.Id(r.off), jen.Qual(xdrPath, "Padded").Call(size())))),
		jen.If(jen.Op("!").Qual(xdrPath, "ZeroPad").Call(jen.Id(r.buf), jen.Id(r.off), size())).Block(
			jen.Return(jen.Id(r.off), v.fail("CodePadding", jen.Id(r.off).Op("+").Add(size()),
				jen.Qual(xdrPath, "PadBits").Call(jen.Id(r.buf), jen.Id(r.off), size()), jen.Lit(0)))),
		v.x().Op("=").Id("d").Dot("Bytes").Call(jen.Id(r.buf), jen.Id(r.off), size()),
		jen.Id(r.off).Op("+=").Qual(xdrPath, "Padded").Call(size()),
	)
}

// taken writes the choice between an item out of line, of size bytes, and the
// inline one.
func (r *getter) taken(v place, size *jen.Statement, inline []jen.Code, use func(data string) []jen.Code) {
	r.g.needErr = true
	data, ok := r.vars.name("data"), r.vars.name("ok")
	r.stmt(
		jen.Var().Id(data).Index().Byte(),
		jen.Id(ok).Op(":=").False(),
		jen.If(jen.Id("d").Dot("Reinserts").Call()).Block(
			jen.If(
				jen.List(jen.Id(data), jen.Id(ok), jen.Err()).Op("=").Id("d").Dot("Take").Call(v.site(), jen.Id(r.off), size),
				jen.Err().Op("!=").Nil(),
			).Block(jen.Return(jen.Id(r.off), v.wrap(id("err")))),
		),
		jen.If(jen.Id(ok)).Block(use(data)...).Else().Block(inline...),
	)
}

func (r *getter) fixedArray(t *ir.Type, v place) {
	if steps(t, flatLimit) >= 0 {
		for i := 0; i < int(t.Len); i++ {
			i := i
			r.get(t.Elem, v.elem(func() *jen.Statement { return v.x().Index(jen.Lit(i)) },
				func() *jen.Statement { return jen.Lit(i) }))
		}
		return
	}
	r.flush()
	r.loop(t.Elem, v, false)
}

// loop reads the elements of v, an array or slice of the right length. ready
// says that their bytes are known to be there.
func (r *getter) loop(elem *ir.Type, v place, ready bool) {
	l := r.g.each(r.vars, elem, v)
	body := r.block(func(q *getter) {
		q.checked = ready && steps(elem, flatLimit) >= 0
		q.get(elem, l.elem)
	})
	r.stmt(l.loop(body)...)
}

func (r *getter) array(t *ir.Type, v place) {
	n := r.count("n", v)
	r.flush()
	r.bound(t, n, v)
	if v.site == nil {
		r.elements(t, n, v)
		return
	}
	// The elements may be out of line: read them from wherever they are. Only
	// arrays whose elements have one size can be told from what is left.
	buf, off := r.vars.name("bb"), r.vars.name("at")
	data, ok := r.vars.name("data"), r.vars.name("ok")
	r.g.needErr = true
	r.stmt(
		jen.List(jen.Id(buf), jen.Id(off)).Op(":=").List(jen.Id(r.buf), jen.Id(r.off)),
		jen.Id(ok).Op(":=").False(),
		jen.If(jen.Id("d").Dot("Reinserts").Call()).Block(
			jen.Var().Id(data).Index().Byte(),
			jen.If(
				jen.List(jen.Id(data), jen.Id(ok), jen.Err()).Op("=").Id("d").Dot("TakeArray").Call(v.site(), jen.Id(r.off), jen.Id(n), jen.Lit(int(t.Elem.Size.Min)), jen.Lit(t.Elem.Size.Fixed())),
				jen.Err().Op("!=").Nil(),
			).Block(jen.Return(jen.Id(r.off), v.wrap(id("err")))),
			jen.If(jen.Id(ok)).Block(jen.List(jen.Id(buf), jen.Id(off)).Op("=").List(jen.Id(data), jen.Lit(0))),
		),
	)
	q := &getter{g: r.g, vars: r.vars, buf: buf, off: off}
	q.elements(t, n, v)
	r.stmt(q.code...)
	r.stmt(
		jen.If(jen.Op("!").Id(ok)).Block(jen.Id(r.off).Op("=").Id(off)).Else().If(jen.Id(off).Op("!=").Len(jen.Id(buf))).Block(
			jen.Return(jen.Id(r.off), v.fail("CodeChunk", jen.Id(r.off), jen.Uint64().Call(jen.Len(jen.Id(buf))), jen.Uint64().Call(jen.Id(off))))),
	)
}

// elements reads the n elements of an array: first a look at whether they can
// be there at all, then memory, then they.
func (r *getter) elements(t *ir.Type, n string, v place) {
	least := t.Elem.Size.Min
	if least > 0 {
		left := jen.Uint64().Call(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off))
		r.stmt(jen.If(jen.Uint64().Call(jen.Id(n)).Op("*").Lit(int(least)).Op(">").Add(left)).Block(
			jen.Return(jen.Id(r.off), v.fail("CodeCount", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(n)),
				jen.Uint64().Call(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off)).Op("/").Lit(int(least))))))
	} else {
		r.stmt(jen.If(jen.Uint64().Call(jen.Id(n)).Op(">").Uint64().Call(jen.Id("d").Dot("MaxElements").Call())).Block(
			jen.Return(jen.Id(r.off), v.fail("CodeCount", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(n)),
				jen.Uint64().Call(jen.Id("d").Dot("MaxElements").Call())))))
	}
	r.fallible(v.x(), jen.Qual(xdrPath, "Resize").Call(jen.Id("d"), v.x(), jen.Int().Call(jen.Id(n)), jen.Lit(r.g.memOf(t.Elem).size), jen.Id(r.off)), v)
	r.loop(t.Elem, v, t.Elem.Size.Fixed())
}

// optional reads the word that says whether data follows, and then the data;
// what is absent is left empty.
func (r *getter) optional(t *ir.Type, v place) {
	if pointerOptional(t) {
		more := r.count("more", v)
		r.flush()
		inner := r.block(func(q *getter) {
			q.fallible(v.x(), jen.Qual(xdrPath, "New").Types(r.g.goType(t.Elem)).Call(jen.Id("d"), jen.Lit(r.g.memOf(t.Elem).size), jen.Id(r.off)), v)
			q.get(t.Elem, v)
		})
		r.stmt(jen.Switch(jen.Id(more)).Block(
			jen.Case(jen.Lit(0)).Block(v.x().Op("=").Nil()),
			jen.Case(jen.Lit(1)).Block(inner...),
			jen.Default().Block(jen.Return(jen.Id(r.off), v.fail("CodeBool", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(more)), jen.Lit(1)))),
		))
		return
	}
	more := r.count("more", v)
	r.flush()
	inner := v
	inner.x = v.x.dot("Value")
	body := r.block(func(q *getter) {
		q.stmt(v.x().Dot("Present").Op("=").True())
		q.get(t.Elem, inner)
	})
	reset := &resetter{g: r.g, vars: r.vars}
	reset.reset(t.Elem, inner.x)
	absent := append([]jen.Code{v.x().Dot("Present").Op("=").False()}, reset.code...)
	r.stmt(jen.Switch(jen.Id(more)).Block(
		jen.Case(jen.Lit(0)).Block(jen.If(v.x().Dot("Present")).Block(absent...)),
		jen.Case(jen.Lit(1)).Block(body...),
		jen.Default().Block(jen.Return(jen.Id(r.off), v.fail("CodeBool", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(more)), jen.Lit(1)))),
	))
}

// list reads a linked list into a slice. The word that leads on stands in the
// run of the element before it: one length check for both.
func (r *getter) list(node *ir.Decl, v place, head bool) {
	more, s := r.vars.name("more"), r.vars.name("list")
	if head {
		r.flush()
		r.stmt(jen.Id(more).Op(":=").Uint32().Call(jen.Lit(1)))
	} else {
		r.take(4, v, jen.Id(more).Op(":=").Add(r.uint32()))
		r.flush()
	}
	size := r.g.memOfElem(node)
	r.stmt(jen.Id(s).Op(":=").Add(v.x()).Index(jen.Op(":").Lit(0)))
	i := func() *jen.Statement { return jen.Len(jen.Id(s)).Op("-").Lit(1) }
	last := r.vars.name("p")
	body := r.block(func(q *getter) {
		grow := &getter{g: r.g, vars: r.vars, buf: r.buf, off: r.off}
		grow.fallible(jen.Id(s), jen.Qual(xdrPath, "Extend").Call(jen.Id("d"), jen.Id(s), jen.Lit(size), jen.Id(r.off)), v)
		q.stmt(
			jen.If(jen.Len(jen.Id(s)).Op("==").Cap(jen.Id(s))).Block(grow.code...),
			jen.Id(s).Op("=").Id(s).Index(jen.Op(":").Len(jen.Id(s)).Op("+").Lit(1)),
			jen.Id(last).Op(":=").Op("&").Id(s).Index(i()),
		)
		q.elem(node, v.elem(func() *jen.Statement { return jen.Id(last) }, i), last)
		q.take(4, v, jen.Id(more).Op("=").Add(q.uint32()))
	})
	r.stmt(
		jen.For(jen.Id(more).Op("==").Lit(1)).Block(body...),
		jen.If(jen.Id(more).Op("!=").Lit(0)).Block(
			jen.Return(jen.Id(r.off), v.fail("CodeBool", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(more)), jen.Lit(1)))),
		v.x().Op("=").Id(s),
	)
}

// elem reads one element of a list through the pointer named p.
func (r *getter) elem(node *ir.Decl, v place, p string) {
	fs := node.List.Elem
	switch {
	case len(fs) == 1:
		if !isStructLike(fs[0].Type) {
			v.x = func() *jen.Statement { return jen.Op("*").Id(p) }
		}
		r.get(fs[0].Type, v)
	case r.g.inlined(node):
		for _, f := range fs {
			r.get(f.Type, r.g.field(v, f))
		}
	default:
		r.call(v)
	}
}

// isStructLike reports whether values of t are used by selectors only, which
// work on a pointer as well.
func isStructLike(t *ir.Type) bool {
	t = resolve(t)
	if t.Kind == ir.Ref {
		switch t.Ref.Kind {
		case ir.Struct, ir.Union:
			return t.Ref.List == nil
		}
	}
	return t.Kind == ir.Optional && !pointerOptional(t)
}
