package gohelper

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// cloner writes the statements that turn a plain copy of a value into a deep one. Values that hold
// no memory need none.
type cloner struct {
	h    *Helpers
	fn   *goexpr.Function
	code []jen.Code
}

// Clone writes the method Clone of type t.
func (h *Helpers) Clone(f *jen.File, t *plan.Type) {
	name := h.pkg.Names.Decl(t.Decl)
	deepen := jen.Nil()
	if t.Whole().Holds() {
		deepen = jen.Id(h.name(cloneHelper, t))
	}
	f.Comment("// Clone returns a deep copy of v, or an error if v nests too deeply.")
	f.Func().Params(jen.Id("v").Op("*").Id(name)).Id("Clone").Params().Params(jen.Op("*").Id(name), jen.Error()).Block(
		jen.Return(jen.Qual(goexpr.Codec, "Clone").Call(jen.Id("v"), deepen)))
	if t.Whole().Holds() {
		h.cloneFunc(f, t)
	}
}

// cloneFunc writes the function that makes the copy v of a value of t a deep one.
func (h *Helpers) cloneFunc(f *jen.File, t *plan.Type) {
	c := &cloner{h: h, fn: &goexpr.Function{}}
	c.content(t, receiver(t, "v"))
	code := c.code
	if t.Recursive {
		enter := jen.If(jen.Op("!").Id("k").Dot("Enter").Call(jen.Lit(pathOf(h.pkg, t)))).Block(jen.Return())
		code = append(append([]jen.Code{enter}, code...), jen.Id("k").Dot("Leave").Call())
	}
	f.Func().Id(h.name(cloneHelper, t)).Params(jen.Id("k").Op("*").Qual(goexpr.Codec, "Cloner"), jen.Id("v").Op("*").Add(h.pkg.DeclType(t))).Block(code...)
}

// pathOf is the path of errors that begins at a value of t.
func pathOf(p *goexpr.Package, t *plan.Type) string {
	if imp := t.Decl.Import; imp != nil {
		return imp.GoName + "." + p.Names.Decl(t.Decl) + ":"
	}
	return p.Name + "." + p.Names.Decl(t.Decl) + ":"
}

func (c *cloner) stmt(s ...jen.Code) { c.code = append(c.code, s...) }

// block returns the statements that deepen the copy o of a value of step s.
func (c *cloner) block(s *plan.Step, o operand) []jen.Code {
	q := &cloner{h: c.h, fn: c.fn}
	q.step(s, o)
	return q.code
}

// step deepens the copy o of a value of step s.
func (c *cloner) step(s *plan.Step, o operand) {
	if !s.Holds() {
		return
	}
	if t := helped(s); t != nil {
		c.stmt(jen.Id(c.h.name(cloneHelper, t)).Call(jen.Id("k"), o.addr()))
		return
	}
	switch s.Op {
	case plan.Opaque:
		c.stmt(o.x().Op("=").Qual(goexpr.Codec, "CloneBytes").Call(jen.Id("k"), o.x()))
	case plan.Loop:
		c.elements(s, o)
	case plan.Array, plan.List:
		c.stmt(o.x().Op("=").Qual(goexpr.Codec, "CloneSlice").Call(o.x()))
		c.elements(s, o)
	case plan.Optional:
		c.optional(s, o)
	case plan.Typedef:
		c.step(under(s), o)
	}
}

// content deepens the parts of o, a value of type t.
func (c *cloner) content(t *plan.Type, o operand) {
	switch t.Op {
	case plan.Typedef:
		c.step(under(t.Whole()), o)
	case plan.Struct:
		for _, f := range t.Fields {
			c.step(f.Step, o.field(c.h.pkg, f))
		}
	case plan.Union:
		c.union(t, o)
	}
}

// elements deepens the elements of an array or slice.
func (c *cloner) elements(s *plan.Step, o operand) {
	if !s.Elem.Holds() {
		return
	}
	i := c.fn.Name("i")
	elem, body := o.index(i), []jen.Code(nil)
	if s.Elem.Selectors() {
		p := c.fn.Name("p")
		body = append(body, jen.Id(p).Op(":=").Add(elem.addr()))
		elem = pointee(s.Elem, goexpr.ID(p))
	}
	c.stmt(jen.For(jen.Id(i).Op(":=").Range().Add(o.x())).Block(append(body, c.block(s.Elem, elem)...)...))
}

// optional deepens optional data. Of absent data, nothing is kept.
func (c *cloner) optional(s *plan.Step, o operand) {
	if s.Pointer {
		body := c.block(s.Elem, pointee(s.Elem, o.x))
		c.stmt(jen.If(o.x().Op("!=").Nil()).Block(append([]jen.Code{
			o.x().Op("=").Qual(goexpr.Codec, "ClonePointer").Call(o.x()),
		}, body...)...))
		return
	}
	c.stmt(jen.If(o.x().Dot("Present")).Block(c.block(s.Elem, o.dot("Value"))...).Else().Block(
		jen.Qual(goexpr.Codec, "Move").Call(o.addr())))
}

// union keeps the discriminant and the selected arm.
func (c *cloner) union(t *plan.Type, o operand) {
	old := c.fn.Name("old")
	from := operand{x: goexpr.ID(old)}
	disc := from.field(c.h.pkg, t.Disc).x
	c.stmt(
		jen.Id(old).Op(":=").Qual(goexpr.Codec, "Move").Call(o.addr()),
		o.field(c.h.pkg, t.Disc).x().Op("=").Add(disc()),
		c.h.pkg.Arms(t, disc, func(a *plan.Arm) []jen.Code {
			if a.Field == nil {
				return nil
			}
			q := &cloner{h: c.h, fn: c.fn}
			to := o.field(c.h.pkg, a.Field)
			q.stmt(to.x().Op("=").Add(from.field(c.h.pkg, a.Field).x()))
			if !a.Pointer {
				q.step(a.Field.Step, to)
				return q.code
			}
			q.stmt(jen.If(to.x().Op("!=").Nil()).Block(append([]jen.Code{
				to.x().Op("=").Qual(goexpr.Codec, "ClonePointer").Call(to.x()),
			}, c.block(a.Field.Step, o.arm(c.h.pkg, a))...)...))
			return q.code
		}, nil))
}
