package gohelper

import (
	"math"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// walker writes the walk over the bytes of a value as they arrive. It reads only what the extent
// of the value depends on: counts, presence words and discriminants.
type walker struct {
	h     *Helpers
	fn    *goexpr.Function
	fixed int // bytes not yet moved over
	code  []jen.Code
}

// Stream writes the methods EncodeTo and DecodeFrom of type t.
func (h *Helpers) Stream(f *jen.File, t *plan.Type, least string) {
	recv := func() *jen.Statement { return f.Func().Params(jen.Id("v").Op("*").Id(h.pkg.Names.Decl(t.Decl))) }
	extent := jen.Nil()
	if !t.Size.Fixed() {
		extent = jen.Id(h.name(extentHelper, t))
	}
	f.Comment("// EncodeTo writes the encoding of v to w.")
	recv().Id("EncodeTo").Params(jen.Id("w").Qual("io", "Writer")).Error().Block(
		jen.Return(jen.Qual(goexpr.Codec, "EncodeTo").Call(jen.Id("v"), jen.Id("w"))))
	f.Comment("// DecodeFrom reads v from r, and no byte after it. If v has more than limit bytes, it fails; if")
	f.Comment("// limit is negative, there is no limit. It returns io.EOF if r has no bytes.")
	recv().Id("DecodeFrom").Params(jen.Id("r").Qual("io", "Reader"), jen.Id("limit").Int()).Error().Block(
		jen.Return(jen.Qual(goexpr.Codec, "DecodeFrom").Call(jen.Id("v"), jen.Id("r"), jen.Id("limit"), jen.Id(least), extent)))
	if !t.Size.Fixed() {
		h.extentFunc(f, t)
	}
}

// extentFunc writes the function that walks over a value of t.
func (h *Helpers) extentFunc(f *jen.File, t *plan.Type) {
	w := &walker{h: h, fn: &goexpr.Function{}}
	w.content(t.Whole())
	w.flush()
	code := w.code
	if t.Recursive {
		enter := jen.If(jen.Op("!").Id("f").Dot("Enter").Call()).Block(jen.Return())
		code = append(append([]jen.Code{enter}, code...), jen.Id("f").Dot("Leave").Call())
	}
	f.Func().Id(h.name(extentHelper, t)).Params(jen.Id("f").Op("*").Qual(goexpr.Codec, "Feed")).Block(code...)
}

func (w *walker) stmt(s ...jen.Code) { w.code = append(w.code, s...) }

// flush moves over the bytes that are pending.
func (w *walker) flush() {
	if w.fixed > 0 {
		w.stmt(jen.Id("f").Dot("Skip").Call(jen.Lit(w.fixed)))
	}
	w.fixed = 0
}

// do writes a call of a method of the Feed.
func (w *walker) do(method string, args ...jen.Code) {
	w.flush()
	w.stmt(jen.Id("f").Dot(method).Call(args...))
}

// block returns the statements that f writes.
func (w *walker) block(f func(q *walker)) []jen.Code {
	q := &walker{h: w.h, fn: w.fn}
	f(q)
	q.flush()
	return q.code
}

// step walks over a value of step s.
func (w *walker) step(s *plan.Step) {
	switch {
	case s.Size.Fixed():
		w.fixed += s.Min()
	case helped(s) != nil:
		w.flush()
		w.stmt(jen.Id(w.h.name(extentHelper, helped(s))).Call(jen.Id("f")))
	default:
		w.content(s)
	}
}

// content walks over the parts of a value of step s.
func (w *walker) content(s *plan.Step) {
	switch s.Op {
	case plan.Opaque:
		w.do("Opaque", mostOf(s))
	case plan.Loop:
		w.flush()
		w.loop(jen.Lit(s.Len), s.Elem)
	case plan.Array:
		w.array(s)
	case plan.Optional:
		w.flush()
		w.stmt(jen.If(more(s.Elem.Min())).Block(w.block(func(q *walker) { q.step(s.Elem) })...))
	case plan.List:
		w.list(s)
	case plan.Typedef:
		w.step(under(s))
	case plan.Struct:
		for _, f := range s.Of.Fields {
			w.step(f.Step)
		}
	case plan.Union:
		w.union(s.Of)
	}
}

// mostOf is the largest count of opaque data or an array.
func mostOf(s *plan.Step) jen.Code {
	if s.Bounded && s.Max < math.MaxUint32 {
		return goexpr.Literal(s.Max)
	}
	return jen.Qual("math", "MaxUint32")
}

func more(least int) jen.Code { return jen.Id("f").Dot("More").Call(jen.Lit(least)) }

func (w *walker) array(s *plan.Step) {
	if s.Elem.Size.Fixed() {
		w.do("Array", mostOf(s), jen.Lit(s.Elem.Min()))
		return
	}
	w.flush()
	w.loop(jen.Id("f").Dot("Count").Call(mostOf(s), jen.Lit(s.Elem.Min())), s.Elem)
}

// loop walks over n elements.
func (w *walker) loop(n jen.Code, elem *plan.Step) {
	left := w.fn.Name("n")
	w.stmt(jen.For(jen.Id(left).Op(":=").Add(n), jen.Id("f").Dot("Left").Call(jen.Id(left)), jen.Id(left).Op("--")).Block(
		w.block(func(q *walker) { q.step(elem) })...))
}

// list walks over a linked list. A list without elements has one word, as has each element more.
func (w *walker) list(s *plan.Step) {
	if s.Head {
		w.step(s.Elem)
	}
	w.flush()
	w.stmt(jen.For(more(s.Elem.Min() + 4)).Block(w.block(func(q *walker) { q.step(s.Elem) })...))
}

// union walks over the discriminant and the arm that it selects.
func (w *walker) union(t *plan.Type) {
	w.flush()
	refuse := jen.Id("f").Dot("Check").Call(jen.False())
	if t.Disc.Step.Under().Op == plan.Bool {
		w.boolUnion(t, refuse)
		return
	}
	kind := w.fn.Name("kind")
	w.stmt(jen.Id(kind).Op(":=").Add(w.h.pkg.GoType(t.Disc.Step)).Call(jen.Id("f").Dot("Word").Call()))
	w.stmt(w.h.pkg.Arms(t, goexpr.ID(kind), func(a *plan.Arm) []jen.Code {
		return w.block(func(q *walker) {
			if a.Default && t.Closed() {
				q.do("Check", goexpr.ID(kind)().Dot("Valid").Call())
			}
			if a.Field != nil {
				q.step(a.Field.Step)
			}
		})
	}, []jen.Code{refuse}))
}

// boolUnion is union for a bool, of which 0 and 1 are the only words.
func (w *walker) boolUnion(t *plan.Type, refuse jen.Code) {
	cases := []jen.Code{nil, nil, jen.Default().Block(refuse)}
	for word := range uint32(2) {
		cases[word] = jen.Case(jen.Lit(int(word))).Block(w.block(func(q *walker) {
			switch a := boolArm(t, word); {
			case a == nil:
				q.stmt(refuse)
			case a.Field != nil:
				q.step(a.Field.Step)
			}
		})...)
	}
	w.stmt(jen.Switch(jen.Id("f").Dot("Word").Call()).Block(cases...))
}

// boolArm returns the arm that a word selects in t, a union over a bool, or nil.
func boolArm(t *plan.Type, word uint32) *plan.Arm {
	var other *plan.Arm
	for _, a := range t.Arms {
		if a.Default {
			other = a
		}
		if slices.ContainsFunc(a.Labels, func(l ir.Label) bool { return l.Word() == word }) {
			return a
		}
	}
	return other
}
