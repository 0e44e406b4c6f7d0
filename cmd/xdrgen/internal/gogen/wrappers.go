package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// wrappers writes the methods of type t that call its encoder and decoder. All calls are static:
// through an interface or a function value, the receiver or its buffer would move to the heap. The
// methods share one comment, because they are the same for all types, and package xdr describes
// them.
func (g *gen) wrappers(t *plan.Type) {
	name := g.pkg.Names.Decl(t.Decl)
	v := func() *jen.Statement { return g.f.Func().Params(jen.Id("v").Op("*").Id(name)) }
	e, d := jen.Id("e").Op("*").Qual(goexpr.XDR, "Encoder"), jen.Id("d").Op("*").Qual(goexpr.XDR, "Decoder")
	put := func() *jen.Statement {
		return jen.Id("v").Dot("PutXDR").Call(jen.Id("e"), jen.Id("e").Dot("Buf"), jen.Id("e").Dot("Off"))
	}
	bytes := func() *jen.Statement { return jen.Params(jen.Index().Byte(), jen.Error()) }

	g.f.Comment("// EncodeXDR appends v to the output of e. Package [xdr] describes it and the methods below.")
	switch {
	case t.Compact && !t.Reducible:
		v().Id("EncodeXDR").Params(e).Error().Block(
			jen.List(jen.Id("off"), jen.Err()).Op(":=").Add(put()),
			jen.If(jen.Err().Op("==").Qual(goexpr.Codec, "Full").Call().Op("&&").Qual(goexpr.Codec, "More").Call(jen.Id("e"), jen.Id("v").Dot("XDRSize").Call(), jen.Op("&").Err())).Block(
				jen.List(jen.Id("off"), jen.Err()).Op("=").Add(put())),
			jen.Return(jen.Qual(goexpr.Codec, "Encoded").Call(jen.Id("e"), jen.Id("off"), jen.Err())),
		)
	case t.Reducible:
		// Room is made first: if items may leave the stream, an attempt has effects.
		v().Id("EncodeXDR").Params(e).Error().Block(
			jen.If(jen.Err().Op(":=").Id("e").Dot("Grow").Call(jen.Id("v").Dot("ReducedXDRSize").Call(jen.Id("e"))), jen.Err().Op("!=").Nil()).Block(
				jen.Return(jen.Err())),
			jen.List(jen.Id("off"), jen.Err()).Op(":=").Add(put()),
			jen.If(jen.Err().Op("==").Nil()).Block(jen.Id("e").Dot("Off").Op("=").Id("off")),
			jen.Return(jen.Err()),
		)
	default:
		// In this form the compiler can inline it.
		v().Id("EncodeXDR").Params(e).Params(jen.Err().Error()).Add(goexpr.OneLine(
			jen.List(jen.Id("e").Dot("Off"), jen.Err()).Op("=").Add(put()), jen.Return()))
	}
	v().Id("DecodeXDR").Params(d).Params(jen.Err().Error()).Add(g.decodeBody(t))
	v().Id("MarshalBinary").Params().Add(bytes(), goexpr.OneLine(jen.Return(jen.Id("v").Dot("AppendBinary").Call(jen.Nil()))))
	v().Id("AppendBinary").Params(jen.Id("b").Index().Byte()).Add(bytes()).Block(
		jen.Id("e").Op(":=").Qual(goexpr.XDR, "NewEncoder").Call(jen.Id("b")),
		jen.Return(jen.Qual(goexpr.Codec, "Output").Call(jen.Id("e"), jen.Id("v").Dot("EncodeXDR").Call(jen.Id("e")))),
	)
	v().Id("UnmarshalBinary").Params(jen.Id("b").Index().Byte()).Error().Block(
		jen.Id("d").Op(":=").Qual(goexpr.Codec, "From").Call(jen.Id("b")),
		jen.Return(jen.Qual(goexpr.Codec, "All").Call(jen.Id("d"), jen.Id("v").Dot("DecodeXDR").Call(jen.Id("d")))),
	)
	if !t.Reducible && !t.Compact {
		v().Id("failXDR").Params(e, jen.Err().Op("*").Qual(goexpr.XDR, "Error")).Params(jen.Int(), jen.Error()).Block(
			jen.Return(jen.Qual(goexpr.Codec, "Retry").Call(jen.Id("e"), jen.Err(), jen.Id("v").Dot("XDRSize").Call(),
				jen.Func().Params().Params(jen.Int(), jen.Error()).Add(goexpr.OneLine(jen.Return(put()))))))
	}
}

// decodeBody is the body of DecodeXDR. In this form the compiler can inline it, unless it has to
// raise the memory budget.
func (g *gen) decodeBody(t *plan.Type) *jen.Statement {
	get := jen.List(jen.Id("d").Dot("Off"), jen.Err()).Op("=").
		Id("v").Dot("GetXDR").Call(jen.Id("d"), jen.Id("d").Dot("Buf"), jen.Id("d").Dot("Off"))
	if b := g.bound[t]; b.rate > defaultRate {
		return jen.Block(jen.Qual(goexpr.Codec, "Amplify").Call(jen.Id("d"), jen.Id(b.amp)), get, jen.Return())
	}
	return goexpr.OneLine(get, jen.Return())
}
