package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gocodec"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// methods writes the methods that every generated type has (D2).
func (g *gen) methods(t *plan.Type) {
	name := g.pkg.Names.Decl(t.Decl)
	recv := func() *jen.Statement { return g.f.Func().Params(jen.Id("v").Op("*").Id(name)) }

	g.bounds(t)
	g.f.Comment("// XDRSize returns the size of v on the wire, in bytes. Package [xdr] describes all methods.")
	recv().Id("XDRSize").Params().Int().Add(goexpr.Short(gocodec.Size(g.pkg, t, false)))
	if most := g.bound[t].max; most != "" {
		g.f.Func().Params(jen.Op("*").Id(name)).Id("XDRMaxSize").Params().Int().Add(goexpr.OneLine(jen.Return(jen.Id(most))))
	}
	g.wrappers(t)
	recv().Id("ResetXDR").Params().Add(goexpr.Short(gocodec.Reset(g.pkg, t)))
	if g.with.String {
		g.stringMethod(t)
	}
	if t.Reducible {
		g.f.Comment("// ReducedXDRSize returns the size of v in the output of e, without the items that e")
		g.f.Comment("// leaves out of line.")
		recv().Id("ReducedXDRSize").Params(jen.Id("e").Op("*").Qual(goexpr.XDR, "Encoder")).Int().Block(gocodec.Size(g.pkg, t, true)...)
	}

	put, fails := gocodec.Put(g.pkg, t)
	g.f.Line()
	recv().Id("PutXDR").Params(jen.Id("e").Op("*").Qual(goexpr.XDR, "Encoder"), jen.Id("b").Index().Byte(), jen.Id("off").Int()).Add(put)
	recv().Id("GetXDR").Params(jen.Id("d").Op("*").Qual(goexpr.XDR, "Decoder"), jen.Id("b").Index().Byte(), jen.Id("off").Int()).
		Add(gocodec.Get(g.pkg, t))
	if fails {
		recv().Id("failXDR").Params(jen.Id("e").Op("*").Qual(goexpr.XDR, "Encoder"), jen.Err().Op("*").Qual(goexpr.XDR, "Error")).
			Params(jen.Int(), jen.Error()).Block(jen.Return(gocodec.Retry(jen.Err())))
	}
	if g.with.Clone {
		g.helpers.Clone(g.f, t)
	}
	if g.with.Equal {
		g.helpers.Equal(g.f, t)
	}
	if g.with.Stream {
		g.helpers.Stream(g.f, t, g.bound[t].min)
	}
	if g.with.JSON {
		g.json(t)
	}
}

// checks writes the methods of type t that check bytes without decoding them.
func (g *gen) checks(t *plan.Type) {
	if _, ok := g.bound[t]; !ok {
		return // it has no methods
	}
	recv := func() *jen.Statement { return g.v.Func().Params(jen.Id("v").Op("*").Id(g.pkg.Names.Decl(t.Decl))) }
	g.v.Comment("// CheckXDR returns the size of the value at the front of b, or the error of decoding it")
	g.v.Comment("// by the default rules. It does not use v, which may be nil.")
	recv().Id("CheckXDR").Params(jen.Id("b").Index().Byte()).Params(jen.Id("n").Int(), jen.Err().Error()).Block(
		// In this form the compiler can inline it.
		jen.List(jen.Id("n"), jen.Id("e")).Op(":=").Id("v").Dot("SkipXDR").Call(jen.New(jen.Qual(goexpr.XDR, "Checker")), jen.Id("b"), jen.Lit(0)),
		jen.If(jen.Id("e").Op("!=").Nil()).Block(jen.Err().Op("=").Id("e")),
		jen.Return(),
	)
	g.v.Comment("// SkipXDR checks the value in b at off and returns the next offset. Only generated code calls it.")
	recv().Id("SkipXDR").Params(jen.Id("c").Op("*").Qual(goexpr.XDR, "Checker"), jen.Id("b").Index().Byte(), jen.Id("off").Int()).
		Add(gocodec.Check(g.pkg, t))
}
