package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// methods writes the methods that every generated type has (D2).
func (g *gen) methods(t *plan.Type) {
	name := g.names.Decl(t.Decl)
	recv := func() *jen.Statement { return g.f.Func().Params(jen.Id("v").Op("*").Id(name)) }

	g.bounds(t)
	g.f.Comment("// XDRSize returns the size of v on the wire, in bytes.")
	recv().Id("XDRSize").Params().Int().Add(short(g.sizeBody(t, false)))
	if most := g.bound[t].max; most != "" {
		g.f.Func().Params(jen.Op("*").Id(name)).Id("XDRMaxSize").Params().Int().Add(oneLine(jen.Return(jen.Id(most))))
	}
	if t.Reducible {
		g.f.Comment("// ReducedXDRSize returns the size of v in the output of e, without the items that e")
		g.f.Comment("// leaves out of line.")
		recv().Id("ReducedXDRSize").Params(jen.Id("e").Op("*").Qual(xdrPath, "Encoder")).Int().Block(g.sizeBody(t, true)...)
	}

	g.wrappers(t)

	g.f.Comment("// PutXDR and GetXDR encode and decode v in b at off. Only generated code calls them.")
	recv().Id("PutXDR").Params(jen.Id("e").Op("*").Qual(xdrPath, "Encoder"), jen.Id("b").Index().Byte(), jen.Id("off").Int()).
		Add(g.putBody(t))
	g.f.Line()
	recv().Id("GetXDR").Params(jen.Id("d").Op("*").Qual(xdrPath, "Decoder"), jen.Id("b").Index().Byte(), jen.Id("off").Int()).
		Add(g.getBody(t))

	g.f.Comment("// ResetXDR empties v and keeps the capacity of its slices.")
	recv().Id("ResetXDR").Params().Add(short(g.resetBody(t)))
	if g.with.Clone {
		g.clone(t)
	}
	if g.with.Equal {
		g.equal(t)
	}
	if g.with.Stream {
		g.stream(t)
	}
	if g.with.JSON {
		g.json(t)
	}
	if g.with.String {
		g.stringMethod(t)
	}
}

// short is the body of a function, in one line if it is one statement.
func short(code []jen.Code) *jen.Statement {
	if len(code) == 1 {
		return oneLine(code...)
	}
	return jen.Block(code...)
}

// self is the value of the method's receiver v. A struct or union is used by its pointer.
func (g *gen) self(t *plan.Type) value {
	v := value{x: id("v"), root: g.pkg + "." + g.names.Decl(t.Decl)}
	if t.Op == plan.Enum || t.Op == plan.Typedef {
		return v.deref()
	}
	return v
}

func (g *gen) sizeBody(t *plan.Type, reduced bool) []jen.Code {
	z := &sizer{g: g, fn: &function{}, sum: "n", reduced: reduced}
	if t.Op == plan.Union {
		z.union(t, g.self(t))
	} else {
		z.size(t.Whole(), g.self(t))
	}
	if len(z.code) == 0 {
		return []jen.Code{jen.Return(z.first())}
	}
	body := []jen.Code{jen.Id("n").Op(":=").Add(z.first())}
	body = append(body, z.code...)
	return append(body, jen.Return(jen.Id("n")))
}

func (g *gen) putBody(t *plan.Type) *jen.Statement {
	p := &putter{g: g, fn: &function{}, once: t.Reducible || t.Compact, compact: t.Compact, tail: t.Op == plan.Union}
	p.start("b", "off").parts.top = true
	p.put(t.Whole(), g.self(t))
	ended := p.finish(p.compact) || p.ended
	return body(p.fn, p.code, jen.Error(), ended)
}

func (g *gen) getBody(t *plan.Type) *jen.Statement {
	r := newReader(g, t, "d")
	r.get(t.Whole(), g.self(t))
	return r.body(t, jen.Error())
}

func (g *gen) resetBody(t *plan.Type) []jen.Code {
	z := &resetter{g: g, fn: &function{}}
	if t.Zero {
		return []jen.Code{jen.Op("*").Id("v").Op("=").Id(g.names.Decl(t.Decl)).Values()}
	}
	switch v := g.self(t); t.Op {
	case plan.Struct:
		for _, f := range t.Fields {
			z.reset(f.Step, g.field(v, f).x)
		}
	case plan.Union:
		z.union(t, v)
	default:
		z.reset(t.Whole(), v.x)
	}
	return z.code
}

// body is the body of a reader of type t. A type that contains itself counts the levels.
func (r *reader) body(t *plan.Type, err *jen.Statement) *jen.Statement {
	ended := r.finish(r.compact) || r.ended
	if !t.Recursive {
		return body(r.fn, r.code, err, ended)
	}
	enter := jen.If(jen.Err().Op(":=").Qual(codecPath, "Enter").Call(r.rules(), jen.Id("off")), jen.Err().Op("!=").Nil()).Block(
		jen.Return(jen.Lit(0), jen.Err()))
	leave := jen.Qual(codecPath, "Leave").Call(r.rules())
	return body(r.fn, append(append([]jen.Code{enter}, r.code...), leave), err, false)
}

// body frames the statements of a function: its results, the variable fault if it is used, and the
// return, unless the statements end the function.
func body(fn *function, code []jen.Code, err *jen.Statement, ended bool) *jen.Statement {
	if fn.usesFault {
		code = append([]jen.Code{jen.Var().Id("fault").Add(errPtr())}, code...)
	}
	if !ended {
		code = append(code, jen.Return(jen.Id("off"), jen.Nil()))
	}
	if fn.usesErr {
		return jen.Params(jen.Id("_").Int(), jen.Err().Add(err)).Block(code...)
	}
	return jen.Params(jen.Int(), err).Block(code...)
}
