package goview

import (
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes the methods of a scan that iterate over lists.

// list writes the method for the list or array s, after which the message goes on to f.
func (w *Scan) list(s *plan.Stop, f follow) {
	name, x := w.methods[s], s.List
	after, cost := w.segment(f)
	if cost > listCost {
		after = append([]jen.Code{in("Off").Op("=").Id("off")},
			w.own(s.Num, "after"+name, append([]jen.Code{scanVars(cost)}, after...))...)
	}
	body := w.linked
	if x.Op == plan.Array {
		body = w.array
	}
	w.cases[s.Num] = []jen.Code{jen.For(jen.Range().Id("s").Dot(name).Call()).Block()}
	yield := jen.Id("yield").Func().Params(w.viewType(x.Elem)).Bool()
	pass := jen.If(in("At").Op("!=").Lit(s.Num).Op("&&").Op("!").Id("s").Dot("pass").Call(jen.Lit(s.Num))).Block(jen.Return())
	code := append(append([]jen.Code{pass}, body(x)...), after...)
	w.code[s.Num] = append([]jen.Code{
		jen.Comment("// " + name + " iterates over the elements of " + w.describe(s) + "."),
		jen.Line(),
		w.method(name).Params().Qual("iter", "Seq").Types(w.viewType(x.Elem)).Block(
			jen.Return(jen.Func().Params(yield).Block(code...))),
		jen.Line(),
	}, w.code[s.Num]...)
}

// describe names a list in a comment.
func (w *Scan) describe(s *plan.Stop) string {
	if s.Path == nil {
		return "the " + w.of
	}
	return w.path(s, ".")[1:]
}

// array iterates over an array. left is the number of elements that follow.
func (w *Scan) array(s *plan.Step) []jen.Code {
	wrong := jen.Id("off").Op("<").Lit(0).Op("||")
	if s.Bounded && s.Max < math.MaxUint32 {
		wrong.Id("left").Op(">").Add(goexpr.Literal(s.Max)).Op("||")
	}
	wrong.Uint64().Call(jen.Id("left"))
	if least := s.Elem.Min(); least > 0 {
		wrong.Op("*").Lit(least).Op(">").Uint64().Call(jen.Len(jen.Id("b")).Op("-").Id("off"))
	} else {
		wrong.Op(">").Uint64().Call(jen.Qual(goexpr.Codec, "MaxElements").Call(jen.New(jen.Qual(goexpr.XDR, "Checker"))))
	}
	size := -1
	if s.Elem.InRun {
		size = s.Elem.Min()
	}
	elem, _ := w.element(size, func(q *passer) {
		q.known = size >= 0
		q.pass(s.Elem)
	})
	elem = append([]jen.Code{jen.Id("from").Op(":=").Id("off")}, elem...)
	return []jen.Code{
		jen.List(jen.Id("b"), jen.Id("off"), jen.Id("left")).Op(":=").List(in("B"), in("Off"), jen.Uint32().Call(in("Left"))),
		jen.If(jen.Id("left").Op("==").Lit(0)).Block(leadWord("left", "="), jen.If(wrong).Block(failed()...)),
		in("Left").Op("=").Lit(0),
		jen.For(jen.Id("left").Op(">").Lit(0)).Block(append(elem,
			jen.Id("left").Op("--"),
			jen.If(jen.Op("!").Id("yield").Call(w.value(s, jen.Id("off"))).Op("&&").Id("left").Op(">").Lit(0)).Block(
				jen.List(in("Off"), in("Left")).Op("=").List(jen.Id("off"), jen.Int().Call(jen.Id("left"))),
				jen.Return()),
		)...),
	}
}

// linked iterates over a linked list. another is the word that leads on to the next element.
func (w *Scan) linked(s *plan.Step) []jen.Code {
	size := 0
	for _, f := range s.Of.Fields {
		if size >= 0 && f.Step.InRun {
			size += f.Step.Min()
		} else {
			size = -1
		}
	}
	elem, one := w.element(size, func(q *passer) {
		q.pass(s.Elem)
		q.add(4, jen.Id("another").Op("=").Add(q.uint32()))
	})
	end := func() *jen.Statement { return jen.Id("off").Op("-").Lit(4) }
	value := w.value(s, end())
	if one {
		value = w.windowed(s, size)
	} else {
		elem = append([]jen.Code{jen.Id("from").Op(":=").Id("off")}, elem...)
	}
	vars := []jen.Code{
		jen.List(jen.Id("b"), jen.Id("off")).Op(":=").List(in("B"), in("Off")),
		leadWord("another", ":="),
	}
	broken := in("Off").Op("=").Add(end())
	if s.Head {
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
	return jen.List(jen.Id(name), jen.Id("off")).Op(op).Qual(goexpr.Codec, "LeadWord").Call(jen.Id("b"), jen.Id("off"))
}

// element returns the code that passes an element of size bytes, or without a fixed size, and
// whether all of it is one run that lies in the window w.
func (w *Scan) element(size int, pass func(q *passer)) (code []jen.Code, one bool) {
	cost := 0
	p := &passer{pkg: w.pkg, fn: &goexpr.Function{}, fail: failed, cost: &cost}
	pass(p)
	p.end()
	return p.code, size >= 0 && cost == 1 && p.w
}

// value is the element that begins at from and ends at end.
func (w *Scan) value(s *plan.Step, end jen.Code) *jen.Statement {
	if u := s.Elem.Under(); u.Op == plan.Struct || u.Op == plan.Union {
		return w.viewName(u.Of).Call(jen.Id("b").Index(jen.Id("from").Op(":").Add(end).Op(":").Add(end)))
	}
	return w.viewValue(s.Elem, "b", variable("from"))
}

// windowed is the element of size bytes at the front of the window w.
func (w *Scan) windowed(s *plan.Step, size int) *jen.Statement {
	if !s.Elem.NodeElem() {
		return w.viewValue(s.Elem, "w", position{})
	}
	return w.viewName(s.Of).Call(part("w", position{}, size))
}
