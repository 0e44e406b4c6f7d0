package gogen

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// This file writes views: a type of bytes for each struct and union, with a
// method for each field that reads it where it lies on the wire.

// hasView reports whether declaration d has a view type.
func hasView(d *ir.Decl) bool {
	switch d.Kind {
	case ir.Struct:
		return d.List == nil || len(d.List.Elem) > 1
	case ir.Union:
		return true
	}
	return false
}

func (g *gen) view(d *ir.Decl) {
	if !hasView(d) {
		return
	}
	name, of := g.names.view[d], g.names.decl[d]
	g.v.Commentf("// %s reads the fields of %s from its encoding. Convert only bytes that", name, of)
	g.v.Commentf("// begin with a checked %s; see package xdr.", of)
	g.v.Type().Id(name).Index().Byte()
	if d.Kind == ir.Union {
		g.viewUnion(d)
		return
	}
	at := offset{}
	for _, f := range structFields(d) {
		g.shorten(d, &at)
		var body []jen.Code
		if u := f.Type.Underlying(); isSeq(u) {
			// In the iterator, so that the method can be inlined.
			body = []jen.Code{jen.Return(g.viewSeq(u, "v", at))}
		} else {
			body = append(at.code(), g.viewReturn(f.Type, at.position())...)
		}
		g.viewMethod(d, f, "returns field "+f.Name+".", g.viewResult(f.Type), body)
		g.pass(&at, f.Type)
	}
}

func (g *gen) viewUnion(d *ir.Decl) {
	disc := g.names.field[d.Disc]
	g.viewMethod(d, d.Disc, "returns the discriminant.", g.viewResult(d.Disc.Type), g.viewReturn(d.Disc.Type, position{}))
	after := position{n: 4}
	for _, a := range d.Arms {
		if a.Field == nil {
			continue
		}
		value := jen.Return(g.viewValue(a.Field.Type, "v", after), jen.True())
		none := jen.Return(jen.Id("x"), jen.False())
		mine, others := g.caseLabels(d, a)
		kind := jen.Switch(jen.Id("v").Dot(disc).Call())
		body := []jen.Code{kind.Clone().Block(jen.Case(mine...).Block(value)), none}
		if a.Default {
			body = []jen.Code{value}
			if len(others) > 0 {
				body = []jen.Code{kind.Clone().Block(jen.Case(others...).Block(none)), value}
			}
		}
		g.viewMethod(d, a.Field, "returns the arm that is selected if "+disc+" is "+g.labelText(d, a)+".",
			jen.Params(jen.Id("x").Add(g.viewType(a.Field.Type)), jen.Id("ok").Bool()), body)
	}
}

// caseLabels returns the labels of arm a, and if it is the default arm, those of the others.
func (g *gen) caseLabels(d *ir.Decl, a *ir.Arm) (mine, others []jen.Code) {
	for _, l := range a.Labels {
		mine = append(mine, g.label(d, l))
	}
	if !a.Default {
		return mine, nil
	}
	for _, b := range d.Arms {
		if b == a {
			continue
		}
		for _, l := range b.Labels {
			others = append(others, g.label(d, l))
		}
	}
	return mine, others
}

func (g *gen) viewMethod(d *ir.Decl, f *ir.Field, what string, result *jen.Statement, body []jen.Code) {
	name := g.names.field[f]
	g.v.Comment("// " + name + " " + what)
	g.v.Func().Params(jen.Id("v").Id(g.names.view[d])).Id(name).Params().Add(result).Block(body...)
}

// viewResult is what the method for a field of type t returns.
func (g *gen) viewResult(t *ir.Type) *jen.Statement {
	if u := t.Underlying(); u.Kind == ir.Optional {
		return jen.Params(jen.Id("x").Add(g.viewType(u.Elem)), jen.Id("ok").Bool())
	}
	return g.viewType(t)
}

// viewReturn returns the value of type t at offset at.
func (g *gen) viewReturn(t *ir.Type, at position) []jen.Code {
	u := t.Underlying()
	if u.Kind != ir.Optional {
		return []jen.Code{jen.Return(g.viewValue(t, "v", at))}
	}
	return []jen.Code{
		jen.If(jen.Qual(codecPath, "Uint32").Call(jen.Id("v"), at.expr()).Op("==").Lit(0)).Block(jen.Return(jen.Id("x"), jen.False())),
		jen.Return(g.viewValue(u.Elem, "v", at.plus(4)), jen.True()),
	}
}

// viewType is the Go type in which a view gives a value of type t.
func (g *gen) viewType(t *ir.Type) *jen.Statement {
	t = resolve(t)
	u := t.Underlying()
	switch u.Kind {
	case ir.FixedArray, ir.Array:
		return jen.Qual("iter", "Seq2").Types(jen.Int(), g.viewType(u.Elem))
	case ir.ListOf, ir.ListHead:
		if len(u.Ref.List.Elem) == 1 {
			return jen.Qual("iter", "Seq2").Types(jen.Int(), g.viewType(u.Ref.List.Elem[0].Type))
		}
		return jen.Qual("iter", "Seq2").Types(jen.Int(), g.viewName(u.Ref))
	case ir.Optional:
		return jen.Qual(xdrPath, "Optional").Types(g.viewType(u.Elem))
	case ir.Ref:
		if hasView(u.Ref) {
			return g.viewName(u.Ref)
		}
	}
	return g.goType(t)
}

func (g *gen) viewName(d *ir.Decl) *jen.Statement {
	if d.Import != nil {
		return jen.Qual(d.Import.Package, g.names.view[d])
	}
	return jen.Id(g.names.view[d])
}

// viewValue is the value of type t at offset at of the variable buf.
func (g *gen) viewValue(t *ir.Type, buf string, at position) *jen.Statement {
	t = resolve(t)
	u := t.Underlying()
	read := func(name string) *jen.Statement { return jen.Qual(codecPath, name).Call(jen.Id(buf), at.expr()) }
	as := func(x *jen.Statement) *jen.Statement { return g.goType(t).Call(x) }
	switch u.Kind {
	case ir.Bool:
		x := read("Uint32").Op("!=").Lit(0)
		if t.Kind == ir.Bool {
			return x
		}
		return as(x)
	case ir.Int:
		return as(read("Uint32"))
	case ir.Uint:
		if t.Kind == ir.Uint {
			return read("Uint32")
		}
		return as(read("Uint32"))
	case ir.Hyper:
		return as(read("Uint64"))
	case ir.Uhyper:
		if t.Kind == ir.Uhyper {
			return read("Uint64")
		}
		return as(read("Uint64"))
	case ir.Float:
		return as(jen.Qual("math", "Float32frombits").Call(read("Uint32")))
	case ir.Double:
		return as(jen.Qual("math", "Float64frombits").Call(read("Uint64")))
	case ir.Quad, ir.FixedOpaque:
		return as(jen.Id(buf).Index(at.expr().Op(":")))
	case ir.Opaque:
		if t.Kind == ir.Opaque {
			return read("ViewOpaque")
		}
		return as(read("ViewOpaque"))
	case ir.String:
		return as(read("ViewOpaque"))
	case ir.Optional:
		return jen.Qual(codecPath, "ViewOptional").Call(jen.Id(buf), at.expr(),
			jen.Func().Params(jen.Id("off").Int()).Add(g.viewType(u.Elem)).Block(jen.Return(g.viewValue(u.Elem, buf, variable("off")))))
	case ir.FixedArray, ir.Array, ir.ListOf, ir.ListHead:
		return g.viewSeq(u, buf, offset{steps: []func() jen.Code{func() jen.Code { return jen.Id("off").Op(":=").Add(at.expr()) }}})
	}
	if u.Ref.Kind == ir.Enum {
		return as(read("Uint32"))
	}
	if t.Size.Fixed() {
		return g.viewName(u.Ref).Call(part(buf, at, fixedLen(t)))
	}
	return g.viewName(u.Ref).Call(jen.Id(buf).Index(at.expr().Op(":")))
}

// part is the n bytes at offset at of the variable buf: the compiler then knows
// that what is read of them is there.
func part(buf string, at position, n int) *jen.Statement {
	end := at.plus(n)
	return jen.Id(buf).Index(at.expr().Op(":").Add(end.expr()).Op(":").Add(end.expr()))
}

func isSeq(t *ir.Type) bool {
	switch t.Kind {
	case ir.FixedArray, ir.Array, ir.ListOf, ir.ListHead:
		return true
	}
	return false
}

// viewSeq is an iterator over the elements of the array or list of type t.
func (g *gen) viewSeq(t *ir.Type, buf string, at offset) *jen.Statement {
	elem := t.Elem
	if elem != nil && elem.Size.Fixed() && fixedLen(elem) > 0 {
		return g.viewFixed(t, buf, at)
	}
	value := func() *jen.Statement { return g.viewValue(elem, buf, variable("off")) }
	typ := func() *jen.Statement { return g.viewType(elem) }
	skip := func() *jen.Statement { return g.skip(elem, buf, variable("off")).expr() }
	if t.Kind == ir.ListOf || t.Kind == ir.ListHead {
		elem = listElem(t.Ref)
		if elem == nil {
			value = func() *jen.Statement { return g.viewName(t.Ref).Call(jen.Id(buf).Index(jen.Id("off").Op(":"))) }
			typ = func() *jen.Statement { return g.viewName(t.Ref) }
			skip = func() *jen.Statement { return g.skipDecl(t.Ref, buf, variable("off")).expr() }
		}
	}
	yield := jen.If(jen.Op("!").Id("yield").Call(jen.Id("i"), value())).Block(jen.Return())
	next := jen.Id("off").Op("=").Add(skip())
	word := func() *jen.Statement { return jen.Qual(codecPath, "Uint32").Call(jen.Id(buf), jen.Id("off")) }
	if t.Kind == ir.Array {
		at.fixed += 4 // the count
	}
	body := at.code()
	switch {
	case body == nil:
		body = []jen.Code{jen.Id("off").Op(":=").Lit(at.fixed)}
	case at.fixed > 0:
		body = append(body, jen.Id("off").Op("+=").Lit(at.fixed))
	}
	switch t.Kind {
	case ir.FixedArray:
		body = append(body, jen.For(jen.Id("i").Op(":=").Range().Lit(int(t.Len))).Block(yield, next))
	case ir.Array:
		count := jen.Int().Call(jen.Qual(codecPath, "Uint32").Call(jen.Id(buf), jen.Id("off").Op("-").Lit(4)))
		body = append(body, jen.For(jen.Id("i").Op(":=").Range().Add(count)).Block(yield, next))
	case ir.ListOf:
		body = append(body, jen.For(jen.Id("i").Op(":=").Lit(0), word().Op("!=").Lit(0), jen.Id("i").Op("++")).Block(
			jen.Id("off").Op("+=").Lit(4), yield, next))
	case ir.ListHead:
		body = append(body, jen.For(jen.Id("i").Op(":=").Lit(0), jen.Empty(), jen.Id("i").Op("++")).Block(
			yield, next,
			jen.If(word().Op("==").Lit(0)).Block(jen.Return()),
			jen.Id("off").Op("+=").Lit(4),
		))
	}
	return jen.Func().Params(jen.Id("yield").Func().Params(jen.Int(), typ()).Bool()).Block(body...)
}

// viewFixed is an iterator over the elements of an array that all have one size.
func (g *gen) viewFixed(t *ir.Type, buf string, at offset) *jen.Statement {
	size, code := fixedLen(t.Elem), at.code()
	from, n := at.position(), expr(func() *jen.Statement { return jen.Lit(int(t.Len)) })
	if t.Kind == ir.Array {
		code = append(code, jen.Id("n").Op(":=").Int().Call(jen.Qual(codecPath, "Uint32").Call(jen.Id(buf), from.expr())))
		from, n = from.plus(4), id("n")
	}
	times := func(x expr) *jen.Statement {
		if size == 1 {
			return x()
		}
		return jen.Lit(size).Op("*").Add(x())
	}
	value := g.viewValue(t.Elem, "s", position{x: func() *jen.Statement { return times(id("i")) }})
	code = append(code,
		jen.Id("s").Op(":=").Id(buf).Index(from.expr().Op(":").Add(from.expr()).Op("+").Add(times(n))),
		jen.For(jen.Id("i").Op(":=").Range().Add(n())).Block(
			jen.If(jen.Op("!").Id("yield").Call(jen.Id("i"), value)).Block(jen.Return())),
	)
	return jen.Func().Params(jen.Id("yield").Func().Params(jen.Int(), g.viewType(t.Elem)).Bool()).Block(code...)
}

// offset is where a field begins: a constant, or a variable that statements
// compute.
type offset struct {
	fixed int
	steps []func() jen.Code // nil while the offset is a constant
	ways  int               // methods made by shorten
}

func (o offset) position() position {
	if o.steps == nil {
		return position{n: o.fixed}
	}
	off := variable("off")
	if o.fixed == 0 {
		return off
	}
	return off.plus(o.fixed)
}

// code computes the variable.
func (o offset) code() []jen.Code {
	var out []jen.Code
	for _, s := range o.steps {
		out = append(out, s())
	}
	return out
}

// pass moves o over a value of type t.
func (g *gen) pass(o *offset, t *ir.Type) {
	if t.Size.Fixed() {
		o.fixed += fixedLen(t)
		return
	}
	from, op := *o, "="
	if o.steps == nil {
		op = ":="
	}
	step := func() jen.Code { return jen.Id("off").Op(op).Add(g.skip(t, "v", from.position()).expr()) }
	o.steps = append(o.steps[:len(o.steps):len(o.steps)], step)
	o.fixed = 0
}

// longWay is how many fields of no fixed size a method for a field steps over
// itself: beyond, methods share the way, or they would be quadratic in length.
const longWay = 4

// shorten lets o begin at a method that steps over the fields so far.
func (g *gen) shorten(d *ir.Decl, o *offset) {
	if len(o.steps) <= longWay {
		return
	}
	o.ways++
	name := "way" + strconv.Itoa(o.ways)
	g.v.Commentf("// %s returns the offset after the first fields.", name)
	g.v.Func().Params(jen.Id("v").Id(g.names.view[d])).Id(name).Params().Int().Block(append(o.code(), jen.Return(jen.Id("off")))...)
	o.steps = []func() jen.Code{func() jen.Code { return jen.Id("off").Op(":=").Id("v").Dot(name).Call() }}
}
