package goview

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes views: a type of bytes for each struct and union, with a method for each field
// that reads it from the wire.

// views writes the views of a package's types.
type views struct {
	pkg *goexpr.Package
	out *jen.File
}

// View writes the view of type t to out.
func View(p *goexpr.Package, out *jen.File, t *plan.Type) {
	vs := &views{p, out}
	name, of := vs.pkg.Names.View(t.Decl), vs.pkg.Names.Decl(t.Decl)
	vs.out.Commentf("// %s reads the fields of %s from its encoding. Convert only bytes that", name, of)
	vs.out.Commentf("// begin with a checked %s; see package xdr.", of)
	vs.out.Type().Id(name).Index().Byte()
	if t.Op == plan.Union {
		vs.viewUnion(t)
		return
	}
	at := offset{}
	for _, f := range t.Fields {
		vs.shorten(t, &at)
		var body []jen.Code
		if u := f.Step.Under(); u.Seq() {
			// In the iterator, so that the method can be inlined.
			body = []jen.Code{jen.Return(vs.viewSeq(u, "v", at))}
		} else {
			body = append(at.code(), vs.viewReturn(f.Step, at.position())...)
		}
		vs.viewMethod(t, f, "returns field "+f.Name+".", vs.viewResult(f.Step), body)
		vs.pass(&at, f.Step)
	}
}

func (vs *views) viewUnion(t *plan.Type) {
	disc := vs.pkg.Names.Field(t.Disc.Field)
	vs.viewMethod(t, t.Disc, "returns the discriminant.", vs.viewResult(t.Disc.Step), vs.viewReturn(t.Disc.Step, position{}))
	after := position{n: 4}
	for _, a := range t.Arms {
		if a.Field == nil {
			continue
		}
		value := jen.Return(vs.viewValue(a.Field.Step, "v", after), jen.True())
		none := jen.Return(jen.Id("x"), jen.False())
		mine, others := vs.caseLabels(t, a)
		kind := jen.Switch(jen.Id("v").Dot(disc).Call())
		body := []jen.Code{kind.Clone().Block(jen.Case(mine...).Block(value)), none}
		if a.Default {
			body = []jen.Code{value}
			if len(others) > 0 {
				body = []jen.Code{kind.Clone().Block(jen.Case(others...).Block(none)), value}
			}
		}
		vs.viewMethod(t, a.Field, "returns the arm that is selected if "+disc+" is "+vs.pkg.LabelText(t, a)+".",
			jen.Params(jen.Id("x").Add(vs.viewType(a.Field.Step)), jen.Id("ok").Bool()), body)
	}
}

// caseLabels returns the labels of arm a, and if it is the default arm, those of the others.
func (vs *views) caseLabels(t *plan.Type, a *plan.Arm) (mine, others []jen.Code) {
	for _, l := range a.Labels {
		mine = append(mine, vs.pkg.Label(t, l))
	}
	if !a.Default {
		return mine, nil
	}
	for _, b := range t.Arms {
		if b == a {
			continue
		}
		for _, l := range b.Labels {
			others = append(others, vs.pkg.Label(t, l))
		}
	}
	return mine, others
}

func (vs *views) viewMethod(t *plan.Type, f *plan.Field, what string, result *jen.Statement, body []jen.Code) {
	name := vs.pkg.Names.Field(f.Field)
	vs.out.Comment("// " + name + " " + what)
	vs.out.Func().Params(jen.Id("v").Id(vs.pkg.Names.View(t.Decl))).Id(name).Params().Add(result).Block(body...)
}

// viewResult is the result of the method for a field of step s.
func (vs *views) viewResult(s *plan.Step) *jen.Statement {
	if u := s.Under(); u.Op == plan.Optional {
		return jen.Params(jen.Id("x").Add(vs.viewType(u.Elem)), jen.Id("ok").Bool())
	}
	return vs.viewType(s)
}

// viewReturn returns the value of step s at offset at.
func (vs *views) viewReturn(s *plan.Step, at position) []jen.Code {
	u := s.Under()
	if u.Op != plan.Optional {
		return []jen.Code{jen.Return(vs.viewValue(s, "v", at))}
	}
	return []jen.Code{
		jen.If(jen.Qual(goexpr.Codec, "Uint32").Call(jen.Id("v"), at.expr()).Op("==").Lit(0)).Block(jen.Return(jen.Id("x"), jen.False())),
		jen.Return(vs.viewValue(u.Elem, "v", at.plus(4)), jen.True()),
	}
}

// viewType is the Go type in which a view returns a value of step s.
func (vs *views) viewType(s *plan.Step) *jen.Statement {
	switch u := s.Under(); u.Op {
	case plan.Loop, plan.Array, plan.List:
		return jen.Qual("iter", "Seq2").Types(jen.Int(), vs.viewType(u.Elem))
	case plan.Optional:
		return jen.Qual(goexpr.XDR, "Optional").Types(vs.viewType(u.Elem))
	case plan.Struct, plan.Union:
		return vs.viewName(u.Of)
	}
	return vs.pkg.GoType(s)
}

func (vs *views) viewName(t *plan.Type) *jen.Statement {
	if t.Decl.Import != nil {
		return jen.Qual(t.Decl.Import.Package, vs.pkg.Names.View(t.Decl))
	}
	return jen.Id(vs.pkg.Names.View(t.Decl))
}

// viewValue is the value of step s at offset at of the variable buf.
func (vs *views) viewValue(s *plan.Step, buf string, at position) *jen.Statement {
	s = s.Resolved()
	read := func(name string) *jen.Statement { return jen.Qual(goexpr.Codec, name).Call(jen.Id(buf), at.expr()) }
	as := func(x *jen.Statement) *jen.Statement { return vs.pkg.GoType(s).Call(x) }
	switch u := s.Under(); u.Op {
	case plan.Bool:
		x := read("Uint32").Op("!=").Lit(0)
		if s == u {
			return x
		}
		return as(x)
	case plan.Word:
		return vs.viewNumber(s, read("Uint32"), "Float32frombits")
	case plan.Hyper:
		return vs.viewNumber(s, read("Uint64"), "Float64frombits")
	case plan.Enum:
		return as(read("Uint32"))
	case plan.Bytes:
		return as(jen.Id(buf).Index(at.expr().Op(":")))
	case plan.Opaque:
		if s == u && !u.Text {
			return read("ViewOpaque")
		}
		return as(read("ViewOpaque"))
	case plan.Optional:
		return jen.Qual(goexpr.Codec, "ViewOptional").Call(jen.Id(buf), at.expr(),
			jen.Func().Params(jen.Id("off").Int()).Add(vs.viewType(u.Elem)).Block(jen.Return(vs.viewValue(u.Elem, buf, variable("off")))))
	case plan.Loop, plan.Array, plan.List:
		return vs.viewSeq(u, buf, offset{steps: []func() jen.Code{func() jen.Code { return jen.Id("off").Op(":=").Add(at.expr()) }}})
	default:
		if s.Size.Fixed() && !u.NodeElem() {
			return vs.viewName(u.Of).Call(part(buf, at, s.Min()))
		}
		return vs.viewName(u.Of).Call(jen.Id(buf).Index(at.expr().Op(":")))
	}
}

// viewNumber is the number of step s, whose bits are the unsigned integer x.
func (vs *views) viewNumber(s *plan.Step, x *jen.Statement, toFloat string) *jen.Statement {
	switch {
	case s.Under().Number == plan.Float:
		x = jen.Qual("math", toFloat).Call(x)
	case s.Number == plan.Unsigned: // not a typedef
		return x
	}
	return vs.pkg.GoType(s).Call(x)
}

// part is the n bytes at offset at of the variable buf: the compiler then knows that they are
// there.
func part(buf string, at position, n int) *jen.Statement {
	end := at.plus(n)
	return jen.Id(buf).Index(at.expr().Op(":").Add(end.expr()).Op(":").Add(end.expr()))
}

// offset is the offset of a field: a constant, or a variable that statements compute.
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

// pass moves o over a value of step s.
func (vs *views) pass(o *offset, s *plan.Step) {
	if s.Size.Fixed() {
		o.fixed += s.Min()
		return
	}
	from, op := *o, "="
	if o.steps == nil {
		op = ":="
	}
	step := func() jen.Code { return jen.Id("off").Op(op).Add(vs.skip(s, "v", from.position()).expr()) }
	o.steps = append(o.steps[:len(o.steps):len(o.steps)], step)
	o.fixed = 0
}

// longWay is the largest number of fields without a fixed size that a method for a field skips
// itself. Beyond it, methods share the code, or they would be quadratic in length.
const longWay = 4

// shorten lets o begin at a method that skips the fields so far.
func (vs *views) shorten(t *plan.Type, o *offset) {
	if len(o.steps) <= longWay {
		return
	}
	o.ways++
	name := "way" + strconv.Itoa(o.ways)
	vs.out.Commentf("// %s returns the offset after the first fields.", name)
	vs.out.Func().Params(jen.Id("v").Id(vs.pkg.Names.View(t.Decl))).Id(name).Params().Int().Block(append(o.code(), jen.Return(jen.Id("off")))...)
	o.steps = []func() jen.Code{func() jen.Code { return jen.Id("off").Op(":=").Id("v").Dot(name).Call() }}
}
