package gogen

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// This file writes iterators over the lists and arrays of a message that is
// still unchecked: they check what they pass, element by element.

// maxWays is how many iterators a message has at most: each checks all that stands
// before its list, and there may be more ways than time for them.
const maxWays = 64

// walks writes an iterator for each list and array that a message of the unit
// holds once. Messages are the types that no other type holds, and those that a
// procedure takes or returns.
func (g *gen) walks() {
	for _, d := range g.messages() {
		w := &ways{max: maxWays}
		w.decl(d, nil)
		for _, way := range w.found {
			g.walk(d, way.fields, way.to)
		}
		g.next()
	}
}

// messages are the declarations that stand for whole messages.
func (g *gen) messages() []*ir.Decl {
	whole := map[*ir.Decl]bool{}
	for _, d := range g.unit.Decls {
		whole[d] = whole[d] || g.uses[d] == 0 && d.List == nil
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range d.Program.Versions {
			for _, p := range v.Procs {
				for _, a := range p.Args {
					whole[a.Type.Ref] = true
				}
				if p.Result != nil {
					whole[p.Result.Ref] = true
				}
			}
		}
	}
	var out []*ir.Decl
	for _, d := range g.unit.Decls {
		if whole[d] && (hasView(d) || d.Kind == ir.Typedef && !isTransparent(d) && !isAlias(d)) {
			out = append(out, d)
		}
	}
	return out
}

// ways finds the ways from a declaration to a list or array that do not lead
// through another one, nor through a type that contains itself.
type ways struct {
	found []way
	max   int
	none  map[*ir.Decl]bool // leads nowhere
}

// way is the fields that lead to the list or array of type to.
type way struct {
	fields []*ir.Field
	to     *ir.Type
}

func (w *ways) typ(t *ir.Type, on []*ir.Field) {
	switch u := t.Underlying(); u.Kind {
	case ir.Array, ir.ListOf, ir.ListHead:
		w.found = append(w.found, way{on, u})
	case ir.Optional:
		w.typ(u.Elem, on)
	case ir.Ref:
		if u.Ref.Kind != ir.Enum {
			w.decl(u.Ref, on)
		}
	}
}

func (w *ways) decl(d *ir.Decl, on []*ir.Field) {
	if d.Recursive || w.none[d] {
		return
	}
	had := len(w.found)
	field := func(f *ir.Field) {
		if len(w.found) < w.max {
			w.typ(f.Type, append(on[:len(on):len(on)], f))
		}
	}
	switch d.Kind {
	case ir.Typedef:
		w.typ(d.Type, on)
	case ir.Struct:
		for _, f := range structFields(d) {
			field(f)
		}
	case ir.Union:
		for _, a := range d.Arms {
			if a.Field != nil {
				field(a.Field)
			}
		}
	}
	if len(w.found) == had && had < w.max {
		if w.none == nil {
			w.none = map[*ir.Decl]bool{}
		}
		w.none[d] = true
	}
}

// walk writes the iterator over the list or array of type t that the fields of
// way lead to from message d.
func (g *gen) walk(d *ir.Decl, way []*ir.Field, t *ir.Type) {
	of := g.names.decl[d]
	var path, name strings.Builder
	for _, f := range way {
		path.WriteString("." + g.names.field[f])
		name.WriteString(g.names.field[f])
	}
	each := g.names.fresh("Each" + of + name.String())
	walk := "walk" + strings.TrimPrefix(each, "Each")

	g.needErr = false
	w := &walker{getter: g.newChecker(), way: way}
	w.decl(d, g.self(d))
	w.flush()
	elem := func() *jen.Statement { return g.walkElem(t) }
	yield := func() *jen.Statement { return jen.Func().Params(elem(), jen.Error()).Bool() }

	g.v.Commentf("// %s iterates over %s of the %s at the front of b. It checks what", each, "["+of+"]"+path.String(), of)
	g.v.Comment("// it passes, one element ahead of the loop, and nothing beyond: what is wrong comes as")
	g.v.Comment("// the last pair. There is no element where an arm is not selected or data is absent.")
	g.v.Func().Id(each).Params(jen.Id("b").Index().Byte()).Qual("iter", "Seq2").Types(elem(), jen.Error()).Block(
		jen.Return(jen.Func().Params(jen.Id("yield").Add(yield())).Block(
			jen.If(jen.List(jen.Id("_"), jen.Err()).Op(":=").Id(walk).Call(jen.New(jen.Qual(xdrPath, "Checker")), jen.Id("b"), jen.Lit(0), jen.Id("yield")), jen.Err().Op("!=").Nil()).Block(
				jen.Var().Id("none").Add(elem()),
				jen.Id("yield").Call(jen.Id("none"), jen.Err()),
			),
		)),
	)
	g.v.Func().Id(walk).Params(
		jen.Id("c").Op("*").Qual(xdrPath, "Checker"), jen.Id("b").Index().Byte(), jen.Id("off").Int(), jen.Id("yield").Add(yield()),
	).Params(jen.Int(), jen.Op("*").Qual(xdrPath, "Error")).Block(g.body(w.code, errPtr(), nil)...)
	g.eaches = append(g.eaches, eachOf{d, path.String(), each})
}

// eachOf is an iterator that was written.
type eachOf struct {
	decl *ir.Decl
	path string // ".Field.Field"
	name string
}

// walkElem is the Go type of what the iterator over t gives.
func (g *gen) walkElem(t *ir.Type) *jen.Statement {
	switch {
	case t.Kind == ir.Array:
		return g.viewType(t.Elem)
	case listElem(t.Ref) != nil:
		return g.viewType(listElem(t.Ref))
	}
	return g.viewName(t.Ref)
}

// walker is a check-only reader that goes one way, and no further.
type walker struct {
	*getter
	way []*ir.Field
}

func (w *walker) decl(d *ir.Decl, v place) {
	switch d.Kind {
	case ir.Typedef:
		w.typ(d.Type, v)
	case ir.Struct:
		for _, f := range structFields(d) {
			if f == w.way[0] {
				w.way = w.way[1:]
				w.typ(f.Type, w.g.field(v, f))
				return
			}
			w.get(f.Type, w.g.field(v, f))
		}
	case ir.Union:
		w.g.checkArms(w.getter, d, v, func(q *getter, a *ir.Arm) {
			if a.Field == w.way[0] {
				in := &walker{getter: q, way: w.way[1:]}
				in.typ(a.Field.Type, w.g.field(v, a.Field))
			}
		})
	}
}

func (w *walker) typ(t *ir.Type, v place) {
	switch t.Kind {
	case ir.Array:
		n := w.count("n", v)
		w.flush()
		w.bound(t, n, v)
		w.each = w.yield(t)
		w.elements(t, n, v)
	case ir.ListOf, ir.ListHead:
		w.each = w.yield(t)
		w.list(t.Ref, v, t.Kind == ir.ListHead)
	case ir.Optional:
		more := w.count("more", v)
		w.flush()
		w.stmt(w.presence(jen.Id(more).Op(">").Lit(1), more, v))
		w.stmt(jen.If(jen.Id(more).Op("!=").Lit(0)).Block(w.block(func(q *getter) {
			in := &walker{getter: q, way: w.way}
			in.typ(t.Elem, v)
		})...))
	case ir.Ref:
		d := t.Ref
		if v.site == nil && !w.g.inlined(d) {
			w.flush() // the decoder calls this type's
		}
		w.decl(d, v)
	}
}

// yield gives the element that begins at from and ends at end to the loop.
func (w *walker) yield(t *ir.Type) func(end jen.Code) jen.Code {
	return func(end jen.Code) jen.Code {
		var value *jen.Statement
		elem := t.Elem
		if t.Kind != ir.Array {
			elem = listElem(t.Ref)
		}
		bytes := jen.Id(w.buf).Index(jen.Id("from").Op(":").Add(end).Op(":").Add(end))
		switch {
		case elem == nil:
			value = w.g.viewName(t.Ref).Call(bytes)
		case elem.Underlying().Kind == ir.Ref && hasView(elem.Underlying().Ref):
			value = w.g.viewName(elem.Underlying().Ref).Call(bytes)
		default:
			value = w.g.viewValue(elem, w.buf, id("from"))
		}
		return jen.If(jen.Op("!").Id("yield").Call(value, jen.Nil())).Block(jen.Return(jen.Id(w.off), jen.Nil()))
	}
}
