package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// This file writes expressions for offsets: of a field, and of what follows a value.

// position is an offset in emitted code: the number n, or the expression x if it is not
// nil. Whether it is a number is known without rendering it, so an expression that holds
// other positions is built once.
type position struct {
	n int
	x expr
}

// variable is the position that a variable holds.
func variable(name string) position { return position{x: id(name)} }

func (p position) expr() *jen.Statement {
	if p.x == nil {
		return jen.Lit(p.n)
	}
	return p.x()
}

// plus is the position n bytes further on.
func (p position) plus(n int) position {
	if p.x == nil {
		return position{n: p.n + n}
	}
	return position{x: func() *jen.Statement { return p.x().Op("+").Lit(n) }}
}

// skip is the position after the value of type t at position at.
func (g *gen) skip(t *ir.Type, buf string, at position) position {
	if t.Size.Fixed() {
		return at.plus(fixedLen(t))
	}
	u := t.Underlying()
	if t.Kind == ir.Ref && g.deep(t) {
		return g.skipDecl(named(t.Ref), buf, at)
	}
	switch u.Kind {
	case ir.Opaque, ir.String:
		return skipCall("SkipOpaque", buf, at)
	case ir.FixedArray:
		return position{x: func() *jen.Statement {
			return jen.Qual(codecPath, "SkipElements").Call(at.expr(), jen.Lit(int(u.Len)), g.stepOver(u.Elem, buf)())
		}}
	case ir.Array:
		if u.Elem.Size.Fixed() {
			return skipCall("SkipFixed", buf, at, func() *jen.Statement { return jen.Lit(fixedLen(u.Elem)) })
		}
		return skipCall("SkipArray", buf, at, g.stepOver(u.Elem, buf))
	case ir.Optional:
		return skipCall("SkipOptional", buf, at, g.stepOver(u.Elem, buf))
	case ir.ListOf, ir.ListHead:
		return g.skipList(u, buf, at)
	}
	if g.skipsByField(u.Ref) {
		for _, f := range u.Ref.Fields {
			at = g.skip(f.Type, buf, at)
		}
		return at
	}
	return g.skipDecl(u.Ref, buf, at)
}

// skipsByField reports whether the fields of d are skipped one by one in the code that
// skips d.
func (g *gen) skipsByField(d *ir.Decl) bool {
	if d.Kind != ir.Struct || d.List != nil || d.Recursive || g.declWeight(d) > onceLimit {
		return false
	}
	varying := 0 // fields of no fixed size
	for _, f := range d.Fields {
		if !f.Type.Size.Fixed() {
			varying++
		}
	}
	return varying <= 2
}

// skipCall is the position that a function of the runtime returns, called with the
// buffer, the position at, and more.
func skipCall(name, buf string, at position, more ...expr) position {
	return position{x: func() *jen.Statement {
		args := []jen.Code{jen.Id(buf), at.expr()}
		for _, m := range more {
			args = append(args, m())
		}
		return jen.Qual(codecPath, name).Call(args...)
	}}
}

// stepOver is a function from the offset of a value of type t to the one after it.
func (g *gen) stepOver(t *ir.Type, buf string) expr {
	return func() *jen.Statement { return offsetFunc(g.skip(t, buf, variable("off"))) }
}

func offsetFunc(end position) *jen.Statement {
	return jen.Func().Params(jen.Id("off").Int()).Int().Block(jen.Return(end.expr()))
}

func (g *gen) skipList(t *ir.Type, buf string, at position) position {
	elem := func(at position) position {
		if e := listElem(t.Ref); e != nil {
			return g.skip(e, buf, at)
		}
		return g.skipDecl(t.Ref, buf, at)
	}
	each := func() *jen.Statement { return offsetFunc(elem(variable("off"))) }
	if t.Kind == ir.ListHead {
		return skipCall("SkipList", buf, elem(at), each)
	}
	return skipCall("SkipList", buf, at, each)
}

// skipDecl is skip by the type's own check-only reader.
func (g *gen) skipDecl(d *ir.Decl, buf string, at position) position {
	return position{x: func() *jen.Statement {
		return jen.Qual(codecPath, "Skip").Call(
			jen.Parens(jen.Op("*").Add(g.declType(d))).Call(jen.Nil()).Dot("SkipXDR").Call(jen.Nil(), jen.Id(buf), at.expr()))
	}}
}
