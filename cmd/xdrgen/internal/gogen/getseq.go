package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// This file is the part of getter for arrays, optional data and lists.

func (r *getter) fixedArray(t *ir.Type, v place) {
	if r.g.steps(t) >= 0 {
		for i := 0; i < int(t.Len); i++ {
			i := i
			r.get(t.Elem, v.elem(func() *jen.Statement { return v.x().Index(jen.Lit(i)) },
				func() *jen.Statement { return jen.Lit(i) }))
		}
		return
	}
	r.flush()
	if r.check {
		r.passFixed(t, v)
		return
	}
	r.loop(t, v, false)
}

// loop reads the elements of v, an array or slice of the right length. ready
// says that their bytes are known to be there.
func (r *getter) loop(t *ir.Type, v place, ready bool) {
	l := r.g.over(r.vars, t, v)
	body := r.block(func(q *getter) {
		q.checked = ready && r.g.steps(t.Elem) >= 0
		q.get(t.Elem, l.elem)
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
	taken := []jen.Code{jen.List(jen.Id(buf), jen.Id(off)).Op("=").List(jen.Id(data), jen.Lit(0))}
	nested := r.g.typeReducible(t.Elem)
	if nested {
		taken = append(taken, jen.Qual(codecPath, "Within").Call(r.decoder(), jen.True()))
	}
	r.stmt(
		jen.List(jen.Id(buf), jen.Id(off)).Op(":=").List(jen.Id(r.buf), jen.Id(r.off)),
		jen.Id(ok).Op(":=").False(),
		jen.If(jen.Qual(codecPath, "Reinserts").Call(r.decoder())).Block(
			jen.Var().Id(data).Index().Byte(),
			jen.Var().Id("fault").Add(errPtr()),
			attempt(jen.List(jen.Id(data), jen.Id(ok), jen.Id("fault")),
				jen.Qual(codecPath, "TakeArray").Call(r.decoder(), v.site(), jen.Id(r.off), jen.Id(n), jen.Lit(int(t.Elem.Size.Min)), jen.Lit(t.Elem.Size.Fixed())),
				"fault", r.fail(v.wrap(id("fault")))),
			jen.If(jen.Id(ok)).Block(taken...),
		),
	)
	q := r.sub()
	q.buf, q.off = buf, off
	q.elements(t, n, v)
	if nested {
		q.stmt(jen.If(jen.Id(ok)).Block(jen.Qual(codecPath, "Within").Call(r.decoder(), jen.False())))
	}
	r.stmt(q.code...)
	r.stmt(
		jen.If(jen.Op("!").Id(ok)).Block(jen.Id(r.off).Op("=").Id(off)).Else().If(jen.Id(off).Op("!=").Len(jen.Id(buf))).Block(
			r.fail(v.fail("CodeChunk", jen.Id(r.off), jen.Uint64().Call(jen.Len(jen.Id(buf))), jen.Uint64().Call(jen.Id(off))))),
	)
}

// elements reads the n elements of an array: first a look at whether they can
// be there at all, then memory, then they.
func (r *getter) elements(t *ir.Type, n string, v place) {
	least := t.Elem.Size.Min
	if least > 0 {
		left := jen.Uint64().Call(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off))
		r.stmt(jen.If(jen.Uint64().Call(jen.Id(n)).Op("*").Lit(int(least)).Op(">").Add(left)).Block(
			r.fail(v.fail("CodeCount", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(n)),
				jen.Uint64().Call(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off)).Op("/").Lit(int(least))))))
	} else {
		r.stmt(jen.If(jen.Uint64().Call(jen.Id(n)).Op(">").Uint64().Call(jen.Qual(codecPath, "MaxElements").Call(r.rules()))).Block(
			r.fail(v.fail("CodeCount", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(n)),
				jen.Uint64().Call(jen.Qual(codecPath, "MaxElements").Call(r.rules()))))))
	}
	if r.check {
		r.passElements(t.Elem, n, v)
		return
	}
	r.fallible(nil, jen.Qual(codecPath, "Resize").Call(jen.Id("d"), v.addr(), jen.Int().Call(jen.Id(n)), jen.Lit(r.g.memOf(t.Elem).size), jen.Id(r.off)), v)
	r.loop(t, v, t.Elem.Size.Fixed())
}

// optional reads the word that says whether data follows, and then the data;
// what is absent is left empty.
func (r *getter) optional(t *ir.Type, v place) {
	more := r.count("more", v)
	r.flush()
	r.stmt(r.presence(jen.Id(more).Op(">").Lit(1), more, v))
	var present, absent []jen.Code
	switch {
	case r.check:
		present = r.block(func(q *getter) { q.get(t.Elem, v) })
	case pointerOptional(t):
		present = r.block(func(q *getter) {
			q.fallible(v.x(), jen.Qual(codecPath, "New").Types(r.g.goType(t.Elem)).Call(jen.Id("d"), jen.Lit(r.g.memOf(t.Elem).size), jen.Id(r.off)), v)
			q.get(t.Elem, v)
		})
		absent = []jen.Code{v.x().Op("=").Nil()}
	default:
		inner := v
		inner.x, inner.ptr = v.x.dot("Value"), nil
		present = r.block(func(q *getter) {
			q.stmt(v.x().Dot("Present").Op("=").True())
			q.get(t.Elem, inner)
		})
		reset := &resetter{g: r.g, vars: r.vars}
		reset.reset(t.Elem, inner.x)
		empty := append([]jen.Code{v.x().Dot("Present").Op("=").False()}, reset.code...)
		absent = []jen.Code{jen.If(v.x().Dot("Present")).Block(empty...)}
	}
	s := jen.If(jen.Id(more).Op("!=").Lit(0)).Block(present...)
	if absent != nil {
		s.Else().Block(absent...)
	}
	r.stmt(s)
}

// presence refuses a presence word, just read, that is neither 0 nor 1
// (RFC 4506 §4.19).
func (r *getter) presence(broken *jen.Statement, more string, v place) jen.Code {
	return r.refuse(broken, "CodeBool", r.noPresence(more, v))
}

// noPresence is the error of a presence word, just read, that is neither 0 nor 1.
func (r *getter) noPresence(more string, v place) jen.Code {
	return v.fail("CodeBool", jen.Id(r.off).Op("-").Lit(4), jen.Uint64().Call(jen.Id(more)), jen.Lit(1))
}

// list reads a linked list into a slice. The word that leads on stands in the
// run of the element before it: one length check for both.
func (r *getter) list(node *ir.Decl, v place, head bool) {
	more := r.vars.name("more")
	if head {
		r.flush()
		r.stmt(jen.Id(more).Op(":=").Uint32().Call(jen.Lit(1)))
	} else {
		r.take(4, v, func(w window) jen.Code { return jen.Id(more).Op(":=").Add(w.uint32()) })
		r.flush()
	}
	if r.check {
		r.passList(node, more, v)
		return
	}
	size, s, i := r.g.memOfElem(node), r.vars.name("list"), r.vars.name("i")
	r.stmt(jen.List(jen.Id(s), jen.Id(i)).Op(":=").List(v.x().Index(jen.Op(":").Cap(v.x())), jen.Lit(0)))
	last := r.vars.name("p")
	body := r.block(func(q *getter) {
		extend := jen.Qual(codecPath, "Extend").Call(jen.Id("d"), v.addr(), jen.Lit(size), jen.Id(r.off))
		if wire := declSize(node); wire.Fixed() {
			extend = jen.Qual(codecPath, "ExtendFixed").Call(jen.Id("d"), v.addr(), jen.Lit(size), jen.Id(r.buf), jen.Id(r.off), jen.Lit(int(wire.Min)+4))
		}
		grow := r.sub()
		grow.fallible(jen.Id(s), extend, v)
		q.stmt(jen.If(jen.Id(i).Op("==").Len(jen.Id(s))).Block(grow.code...))
		if !emptyElem(node) {
			q.stmt(jen.Id(last).Op(":=").Op("&").Id(s).Index(jen.Id(i)))
		}
		q.elem(node, v.elem(id(last), id(i)), last)
		q.take(4, v, func(w window) jen.Code { return jen.Id(more).Op("=").Add(w.uint32()) })
	})
	body = append(body, jen.Id(i).Op("++"))
	r.stmt(r.whileMore(more, v, body)...)
	r.stmt(v.x().Op("=").Add(v.x()).Index(jen.Op(":").Id(i)))
}

// whileMore writes the loop over a list: more is the word that leads on. Where
// it must be 1, nothing but it is tested in the loop.
func (r *getter) whileMore(more string, v place, body []jen.Code) []jen.Code {
	lenient := jen.Id(more).Op(">").Lit(1).Op("&&").Op("!").Qual(codecPath, "Refuses").Call(r.rules(), jen.Qual(xdrPath, "CodeBool"))
	return []jen.Code{
		jen.For(jen.Id(more).Op("==").Lit(1).Op("||").Add(lenient)).Block(body...),
		jen.If(jen.Id(more).Op("!=").Lit(0)).Block(r.fail(r.noPresence(more, v))),
	}
}

// elem reads one element of a list through the pointer named p; a check has
// none.
func (r *getter) elem(node *ir.Decl, v place, p string) {
	fs := node.List.Elem
	switch {
	case len(fs) == 1:
		v.site = r.g.sites[fs[0]]
		if p != "" && !isStructLike(fs[0].Type) {
			v.x, v.ptr = func() *jen.Statement { return jen.Parens(jen.Op("*").Id(p)) }, id(p)
		}
		r.get(fs[0].Type, v)
	case r.g.inlined(node):
		r.fields(fs, v)
	default:
		r.call(node, v)
	}
}

// emptyElem reports whether the elements of a list take no bytes, so that
// nothing is read into them.
func emptyElem(node *ir.Decl) bool {
	for _, f := range node.List.Elem {
		if s := f.Type.Size; !s.Fixed() || s.Min != 0 {
			return false
		}
	}
	return true
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
