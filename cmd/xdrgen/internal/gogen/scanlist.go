package gogen

import (
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// This file writes the methods of a scan that iterate over lists.

// list writes the method for the list or array s, behind which the message goes on
// to f.
func (w *scan) list(s *spot, f follow) {
	name, t := w.methods[s], s.list
	after, cost := w.segment(f)
	if cost > listCost {
		after = append([]jen.Code{in("Off").Op("=").Id("off")},
			w.own(s.num, "after"+name, append([]jen.Code{scanVars(cost)}, after...))...)
	}
	var body []jen.Code
	switch t.Kind {
	case ir.Array:
		body = w.array(t)
	default:
		body = w.linked(t)
	}
	w.cases[s.num] = []jen.Code{jen.For(jen.Range().Id("s").Dot(name).Call()).Block()}
	yield := jen.Id("yield").Func().Params(w.g.listed(t)).Bool()
	body = append([]jen.Code{
		jen.If(in("At").Op("!=").Lit(s.num).Op("&&").Op("!").Id("s").Dot("pass").Call(jen.Lit(s.num))).Block(jen.Return()),
	}, append(body, after...)...)
	w.code[s.num] = append([]jen.Code{
		jen.Comment("// " + name + " iterates over the elements of " + describe(w.of, s.path) + "."),
		jen.Line(),
		w.method(name).Params().Qual("iter", "Seq").Types(w.g.listed(t)).Block(
			jen.Return(jen.Func().Params(yield).Block(body...))),
		jen.Line(),
	}, w.code[s.num]...)
}

// describe names a list in a comment.
func describe(of, path string) string {
	if path == "" {
		return "the " + of
	}
	return path[1:]
}

// array iterates over an array. left is how many elements follow.
func (w *scan) array(t *ir.Type) []jen.Code {
	wrong := jen.Id("off").Op("<").Lit(0).Op("||")
	if t.Bounded && t.Max < math.MaxUint32 {
		wrong.Id("left").Op(">").Add(literal(t.Max)).Op("||")
	}
	wrong.Uint64().Call(jen.Id("left"))
	if least := int(t.Elem.Size.Min); least > 0 {
		wrong.Op("*").Lit(least).Op(">").Uint64().Call(jen.Len(jen.Id("b")).Op("-").Id("off"))
	} else {
		wrong.Op(">").Uint64().Call(jen.Qual(codecPath, "MaxElements").Call(jen.New(jen.Qual(xdrPath, "Checker"))))
	}
	size := -1
	if t.Elem.Size.Fixed() && w.g.steps(t.Elem) >= 0 {
		size = fixedLen(t.Elem)
	}
	elem, _ := w.element(size, func(q *passer) {
		q.known = size >= 0
		q.pass(t.Elem)
	})
	elem = append([]jen.Code{jen.Id("from").Op(":=").Id("off")}, elem...)
	return []jen.Code{
		jen.List(jen.Id("b"), jen.Id("off"), jen.Id("left")).Op(":=").List(in("B"), in("Off"), jen.Uint32().Call(in("Left"))),
		jen.If(jen.Id("left").Op("==").Lit(0)).Block(leadWord("left", "="), jen.If(wrong).Block(failed()...)),
		in("Left").Op("=").Lit(0),
		jen.For(jen.Id("left").Op(">").Lit(0)).Block(append(elem,
			jen.Id("left").Op("--"),
			jen.If(jen.Op("!").Id("yield").Call(w.value(t, jen.Id("off"))).Op("&&").Id("left").Op(">").Lit(0)).Block(
				jen.List(in("Off"), in("Left")).Op("=").List(jen.Id("off"), jen.Int().Call(jen.Id("left"))),
				jen.Return()),
		)...),
	}
}

// linked iterates over a linked list. more is the word that leads on to the next
// element.
func (w *scan) linked(t *ir.Type) []jen.Code {
	size := 0
	for _, f := range t.Ref.List.Elem {
		if size >= 0 && f.Type.Size.Fixed() && w.g.steps(f.Type) >= 0 {
			size += fixedLen(f.Type)
		} else {
			size = -1
		}
	}
	elem, one := w.element(size, func(q *passer) {
		q.node(t.Ref)
		q.take(4, jen.Id("another").Op("=").Add(q.uint32()))
	})
	end := func() *jen.Statement { return jen.Id("off").Op("-").Lit(4) }
	value := w.value(t, end())
	if one {
		value = w.windowed(t, size)
	} else {
		elem = append([]jen.Code{jen.Id("from").Op(":=").Id("off")}, elem...)
	}
	vars := []jen.Code{
		jen.List(jen.Id("b"), jen.Id("off")).Op(":=").List(in("B"), in("Off")),
		leadWord("another", ":="),
	}
	broken := in("Off").Op("=").Add(end())
	if t.Kind == ir.ListHead {
		// A word leads on to all elements but the first.
		vars = []jen.Code{
			jen.List(jen.Id("b"), jen.Id("off"), jen.Id("another")).Op(":=").List(in("B"), in("Off"), jen.Uint32().Call(jen.Lit(1))),
			jen.If(in("Left").Op(">").Lit(0)).Block(leadWord("another", "="), in("Left").Op("=").Lit(0)),
		}
		broken = jen.List(in("Off"), in("Left")).Op("=").List(end(), jen.Lit(1))
	}
	return append(vars,
		jen.For(jen.Id("another").Op("==").Lit(1)).Block(append(elem,
			jen.If(jen.Op("!").Id("yield").Call(value)).Block(broken, jen.Return()))...),
		jen.If(jen.Id("another").Op("!=").Lit(0)).Block(failed()...),
	)
}

// leadWord reads the word that a list or array begins with into a variable.
func leadWord(name, op string) jen.Code {
	return jen.List(jen.Id(name), jen.Id("off")).Op(op).Qual(codecPath, "LeadWord").Call(jen.Id("b"), jen.Id("off"))
}

// element is the code that passes an element of size bytes, or of no fixed size, and
// whether all of it is one run that lies in the window w.
func (w *scan) element(size int, pass func(q *passer)) (code []jen.Code, one bool) {
	cost := 0
	p := &passer{g: w.g, vars: &local{}, fail: failed, cost: &cost}
	pass(p)
	p.end()
	return p.code, size >= 0 && cost == 1 && p.w
}

// value is the element that begins at from and ends at end.
func (w *scan) value(t *ir.Type, end jen.Code) *jen.Statement {
	elem := elemOf(t)
	bytes := jen.Id("b").Index(jen.Id("from").Op(":").Add(end).Op(":").Add(end))
	switch {
	case elem == nil:
		return w.g.viewName(t.Ref).Call(bytes)
	case elem.Underlying().Kind == ir.Ref && hasView(elem.Underlying().Ref):
		return w.g.viewName(elem.Underlying().Ref).Call(bytes)
	}
	return w.g.viewValue(elem, "b", variable("from"))
}

// windowed is the element of size bytes at the front of the window w.
func (w *scan) windowed(t *ir.Type, size int) *jen.Statement {
	if elem := elemOf(t); elem != nil {
		return w.g.viewValue(elem, "w", position{})
	}
	return w.g.viewName(t.Ref).Call(part("w", position{}, size))
}
