package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// cloner writes the statements that turn a plain copy of a value into a deep one. Values that hold
// no memory need none.
type cloner struct {
	g    *gen
	fn   *function
	code []jen.Code
}

// clone writes the method Clone of type t.
func (g *gen) clone(t *plan.Type) {
	name := g.names.Decl(t.Decl)
	deepen := jen.Nil()
	if t.Whole().Holds() {
		deepen = jen.Id(g.helper(cloneHelper, t))
	}
	g.f.Comment("// Clone returns a deep copy of v, or an error if v nests too deeply.")
	g.f.Func().Params(jen.Id("v").Op("*").Id(name)).Id("Clone").Params().Params(jen.Op("*").Id(name), jen.Error()).Block(
		jen.Return(jen.Qual(codecPath, "Clone").Call(jen.Id("v"), deepen)))
	if t.Whole().Holds() {
		g.cloneFunc(t)
	}
}

// cloneFunc writes the function that makes the copy v of a value of t a deep one.
func (g *gen) cloneFunc(t *plan.Type) {
	c := &cloner{g: g, fn: &function{}}
	c.content(t, pointee(t.Whole(), id("v")))
	code := c.code
	if t.Recursive {
		enter := jen.If(jen.Op("!").Id("k").Dot("Enter").Call(jen.Lit(g.pathOf(t)))).Block(jen.Return())
		code = append(append([]jen.Code{enter}, code...), jen.Id("k").Dot("Leave").Call())
	}
	g.f.Func().Id(g.helper(cloneHelper, t)).Params(jen.Id("k").Op("*").Qual(codecPath, "Cloner"), jen.Id("v").Op("*").Add(g.declType(t))).Block(code...)
}

// pathOf is the path of errors that begins at a value of t.
func (g *gen) pathOf(t *plan.Type) string {
	if imp := t.Decl.Import; imp != nil {
		return imp.GoName + "." + g.names.Decl(t.Decl) + ":"
	}
	return g.pkg + "." + g.names.Decl(t.Decl) + ":"
}

func (c *cloner) stmt(s ...jen.Code) { c.code = append(c.code, s...) }

// block returns the statements that deepen the copy o of a value of step s.
func (c *cloner) block(s *plan.Step, o operand) []jen.Code {
	q := &cloner{g: c.g, fn: c.fn}
	q.step(s, o)
	return q.code
}

// step deepens the copy o of a value of step s.
func (c *cloner) step(s *plan.Step, o operand) {
	if !s.Holds() {
		return
	}
	if t := helped(s); t != nil {
		c.stmt(jen.Id(c.g.helper(cloneHelper, t)).Call(jen.Id("k"), o.addr()))
		return
	}
	switch s.Op {
	case plan.Opaque:
		c.stmt(o.x().Op("=").Qual(codecPath, "CloneBytes").Call(jen.Id("k"), o.x()))
	case plan.Loop:
		c.elements(s, o)
	case plan.Array, plan.List:
		c.stmt(o.x().Op("=").Qual(codecPath, "CloneSlice").Call(o.x()))
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
			c.step(f.Step, c.g.fieldOf(o, f))
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
	i := c.fn.name("i")
	elem, body := o.index(i), []jen.Code(nil)
	if s.Elem.Selectors() {
		p := c.fn.name("p")
		body = append(body, jen.Id(p).Op(":=").Add(elem.addr()))
		elem = pointee(s.Elem, id(p))
	}
	c.stmt(jen.For(jen.Id(i).Op(":=").Range().Add(o.x())).Block(append(body, c.block(s.Elem, elem)...)...))
}

// optional deepens optional data. Of absent data, nothing is kept.
func (c *cloner) optional(s *plan.Step, o operand) {
	if s.Pointer {
		body := c.block(s.Elem, pointee(s.Elem, o.x))
		c.stmt(jen.If(o.x().Op("!=").Nil()).Block(append([]jen.Code{
			o.x().Op("=").Qual(codecPath, "ClonePointer").Call(o.x()),
		}, body...)...))
		return
	}
	c.stmt(jen.If(o.x().Dot("Present")).Block(c.block(s.Elem, o.dot("Value"))...).Else().Block(
		jen.Qual(codecPath, "Move").Call(o.addr())))
}

// union keeps the discriminant and the selected arm.
func (c *cloner) union(t *plan.Type, o operand) {
	old := c.fn.name("old")
	from := operand{x: id(old)}
	disc := c.g.fieldOf(from, t.Disc).x
	c.stmt(
		jen.Id(old).Op(":=").Qual(codecPath, "Move").Call(o.addr()),
		c.g.fieldOf(o, t.Disc).x().Op("=").Add(disc()),
		c.g.arms(t, disc, func(a *plan.Arm) []jen.Code {
			if a.Field == nil {
				return nil
			}
			q := &cloner{g: c.g, fn: c.fn}
			to := c.g.fieldOf(o, a.Field)
			q.stmt(to.x().Op("=").Add(c.g.fieldOf(from, a.Field).x()))
			if !a.Pointer {
				q.step(a.Field.Step, to)
				return q.code
			}
			q.stmt(jen.If(to.x().Op("!=").Nil()).Block(append([]jen.Code{
				to.x().Op("=").Qual(codecPath, "ClonePointer").Call(to.x()),
			}, c.block(a.Field.Step, c.g.armOf(o, a))...)...))
			return q.code
		}, nil))
}
