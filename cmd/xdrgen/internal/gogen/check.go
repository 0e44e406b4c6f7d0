package gogen

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// This file is what a check-only reader does otherwise than a decoder: it steps
// over elements together where nothing in them could be refused.

// pure reports whether every value of t has the same size and any bytes will
// do: there is nothing to refuse but their want.
func (g *gen) pure(t *ir.Type) bool {
	switch t.Kind {
	case ir.Int, ir.Uint, ir.Hyper, ir.Uhyper, ir.Float, ir.Double, ir.Quad:
		return true
	case ir.FixedOpaque:
		return t.Len%4 == 0
	case ir.FixedArray:
		return g.pure(t.Elem)
	case ir.Ref:
		switch t.Ref.Kind {
		case ir.Enum:
			return t.Ref.Open
		case ir.Typedef:
			return g.pure(t.Underlying())
		case ir.Struct:
			if t.Ref.List != nil || t.Ref.Recursive {
				return false
			}
			is, ok := g.pures[t.Ref]
			if !ok {
				is = !slices.ContainsFunc(t.Ref.Fields, func(f *ir.Field) bool { return !g.pure(f.Type) })
				g.pures[t.Ref] = is
			}
			return is
		}
	}
	return false
}

// passLimit is up to which weight the check of a struct or union is written out
// where the decoder calls: there is so much less of it.
const passLimit = 8

// checkWeight counts the steps of code of a check-only reader of d.
func (g *gen) checkWeight(d *ir.Decl) int {
	if d.Recursive || d.Kind != ir.Struct && d.Kind != ir.Union {
		return never
	}
	n, ok := g.checks[d]
	if !ok {
		n = min(g.sumCheckWeight(d), never)
		g.checks[d] = n
	}
	return n
}

func (g *gen) sumCheckWeight(d *ir.Decl) (n int) {
	for _, f := range structFields(d) {
		n += g.typeCheckWeight(f.Type)
	}
	if d.Kind == ir.Union {
		n += 2
	}
	for _, a := range d.Arms {
		if a.Field != nil {
			n += g.typeCheckWeight(a.Field.Type)
		}
	}
	return n
}

func (g *gen) typeCheckWeight(t *ir.Type) int {
	u := t.Underlying()
	switch {
	case g.pure(t) && g.steps(t) >= 0:
		return 0 // a length check, with what stands beside it
	case u.Kind == ir.Opaque, u.Kind == ir.String:
		return 3
	case u.Elem != nil:
		return 2 + g.typeCheckWeight(u.Elem)
	case u.Kind == ir.Ref && u.Ref.Kind != ir.Enum, u.Kind == ir.ListOf, u.Kind == ir.ListHead:
		return 2 + g.checkWeight(u.Ref)
	}
	return 1
}

// index makes the variable of a loop, and tells whether its body used it.
type index struct {
	name string
	used bool
}

func (i *index) x() *jen.Statement {
	i.used = true
	return jen.Id(i.name)
}

// count writes a loop of n rounds.
func (i *index) count(n jen.Code, body []jen.Code) jen.Code {
	if i.used {
		return jen.For(jen.Id(i.name).Op(":=").Range().Add(n)).Block(body...)
	}
	return jen.For(jen.Range().Add(n)).Block(body...)
}

// passFixed steps over an array of fixed length that is no part of a run.
func (r *getter) passFixed(t *ir.Type, v place) {
	i := &index{name: r.vars.name("i")}
	if r.g.pure(t.Elem) && r.g.steps(t.Elem) >= 0 {
		// Short input is refused at the element that it ends in, as a decoder does.
		size := fixedLen(t.Elem)
		left := r.vars.name("left")
		short := r.block(func(q *getter) {
			q.stmt(jen.Id(r.off).Op("+=").Id(left).Op("*").Lit(size))
			q.get(t.Elem, v.elem(nil, id(left)))
		})
		if size == 0 {
			return
		}
		r.stmt(
			jen.If(
				jen.Id(left).Op(":=").Parens(jen.Len(jen.Id(r.buf)).Op("-").Id(r.off)).Op("/").Lit(size),
				jen.Id(left).Op("<").Lit(int(t.Len)),
			).Block(short...),
			jen.Id(r.off).Op("+=").Lit(size*int(t.Len)),
		)
		return
	}
	body := r.block(func(q *getter) { q.get(t.Elem, v.elem(nil, i.x)) })
	r.stmt(i.count(jen.Lit(int(t.Len)), body))
}

// passElements steps over the n elements of an array, which the input is long
// enough for.
func (r *getter) passElements(elem *ir.Type, n string, v place) {
	count := jen.Int().Call(jen.Id(n))
	if r.g.pure(elem) {
		if size := fixedLen(elem); size > 0 {
			r.stmt(jen.Id(r.off).Op("+=").Add(count).Op("*").Lit(size))
		}
		return
	}
	i := &index{name: r.vars.name("i")}
	body := r.block(func(q *getter) {
		q.checked = elem.Size.Fixed() && r.g.steps(elem) >= 0
		q.get(elem, v.elem(nil, i.x))
	})
	r.stmt(i.count(count, body))
}

// passList steps over a list.
func (r *getter) passList(node *ir.Decl, more string, v place) {
	i := &index{name: r.vars.name("i")}
	body := r.block(func(q *getter) {
		q.elem(node, v.elem(nil, i.x), "")
		q.take(4, v, func(w window) jen.Code { return jen.Id(more).Op("=").Add(w.uint32()) })
	})
	if i.used {
		r.stmt(jen.Id(i.name).Op(":=").Lit(0))
		body = append(body, jen.Id(i.name).Op("++"))
	}
	r.stmt(r.whileMore(more, v, body)...)
}
