package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// sizer writes the statements that add a value's wire size to a variable.
type sizer struct {
	g     *gen
	vars  *local
	sum   string // the variable
	fixed int    // constant part not yet added
	code  []jen.Code
}

func (s *sizer) stmt(c ...jen.Code) { s.code = append(s.code, c...) }

func (s *sizer) add(c jen.Code) { s.stmt(jen.Id(s.sum).Op("+=").Add(c)) }

// size adds the size of a value of type t at v.
func (s *sizer) size(t *ir.Type, v place) {
	if t.Size.Fixed() {
		s.fixed += fixedLen(t)
		return
	}
	switch t.Kind {
	case ir.Opaque, ir.String:
		s.fixed += 4
		padded := jen.Qual(xdrPath, "Padded").Call(jen.Len(v.x()))
		if site := v.site; site != nil && s.g.sizing {
			s.stmt(jen.If(jen.Op("!").Qual(codecPath, "Reduces").Call(jen.Id("e"), site(), jen.Len(v.x()))).Block(
				jen.Id(s.sum).Op("+=").Add(padded)))
			return
		}
		s.add(padded)
	case ir.FixedArray:
		s.loop(t.Elem, v)
	case ir.Array:
		s.fixed += 4
		if v.site != nil && s.g.sizing {
			s.reducedArray(t, v)
			return
		}
		s.loop(t.Elem, v)
	case ir.Optional:
		s.fixed += 4
		cond, inner := v.x.dot("Present"), v
		if pointerOptional(t) {
			cond = func() *jen.Statement { return v.x().Op("!=").Nil() }
		} else {
			inner.x = v.x.dot("Value")
		}
		s.branch(cond(), func(q *sizer) { q.size(t.Elem, inner) })
	case ir.ListOf, ir.ListHead:
		s.list(t, v)
	case ir.Ref:
		s.ref(t.Ref, v)
	}
}

// reducedArray adds the elements of an array where they stay inline.
func (s *sizer) reducedArray(t *ir.Type, v place) {
	whole := &sizer{g: s.g, vars: s.vars, sum: s.vars.name("size")}
	s.g.sizing = false
	whole.loop(t.Elem, v)
	s.g.sizing = true
	s.stmt(jen.Id(whole.sum).Op(":=").Lit(0))
	s.stmt(whole.code...)
	s.branch(jen.Op("!").Qual(codecPath, "Reduces").Call(jen.Id("e"), v.site(), jen.Id(whole.sum)), func(q *sizer) {
		if s.g.typeReducible(t.Elem) {
			q.loop(t.Elem, v)
		} else {
			q.add(jen.Id(whole.sum))
		}
	})
}

func (s *sizer) ref(d *ir.Decl, v place) {
	switch {
	case d.Kind == ir.Typedef && (s.g.inlined(d) || v.site != nil):
		s.size(s.g.underTypedef(d, v))
	case d.Kind == ir.Struct && d.List == nil && s.g.inlined(d):
		for _, f := range d.Fields {
			s.size(f.Type, s.g.field(v, f))
		}
	case d.Kind == ir.Union && s.g.inlined(d):
		s.g.sizeUnion(s, d, v)
	default:
		s.call(d, v)
	}
}

// call adds what the value's own method says.
func (s *sizer) call(d *ir.Decl, v place) {
	if s.g.reducible[d] && s.g.sizing {
		s.add(v.x().Dot("ReducedXDRSize").Call(jen.Id("e")))
		return
	}
	s.add(v.x().Dot("XDRSize").Call())
}

func (s *sizer) branch(cond jen.Code, f func(q *sizer)) {
	q := &sizer{g: s.g, vars: s.vars, sum: s.sum}
	f(q)
	q.flush()
	if len(q.code) > 0 {
		s.stmt(jen.If(cond).Block(q.code...))
	}
}

// flush adds the constant part.
func (s *sizer) flush() {
	if s.fixed > 0 {
		s.code = append([]jen.Code{jen.Id(s.sum).Op("+=").Lit(s.fixed)}, s.code...)
	}
	s.fixed = 0
}

// loop adds the elements of an array or slice.
func (s *sizer) loop(elem *ir.Type, v place) {
	s.elems(v, func(q *sizer, e place) { q.size(elem, e) })
}

func (s *sizer) elems(v place, f func(q *sizer, e place)) {
	i := s.vars.name("i")
	q := &sizer{g: s.g, vars: s.vars, sum: s.sum}
	f(q, v.elem(v.x.index(i), id(i)))
	if q.fixed > 0 {
		s.add(jen.Lit(q.fixed).Op("*").Len(v.x()))
	}
	if len(q.code) > 0 {
		s.stmt(jen.For(jen.Id(i).Op(":=").Range().Add(v.x())).Block(q.code...))
	}
}

func (s *sizer) list(t *ir.Type, v place) {
	if t.Kind == ir.ListOf {
		s.fixed += 4 // the word at the end; a head has one word less
	}
	node := t.Ref
	s.elems(v, func(q *sizer, e place) {
		q.fixed += 4
		fs := node.List.Elem
		switch {
		case len(fs) == 1:
			e.site = s.g.sites[fs[0]]
			q.size(fs[0].Type, e)
		case s.g.inlined(node):
			for _, f := range fs {
				q.size(f.Type, s.g.field(e, f))
			}
		default:
			q.call(node, e)
		}
	})
}
