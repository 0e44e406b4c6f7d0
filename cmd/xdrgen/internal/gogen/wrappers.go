package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// wrappers writes the methods of type t that call its encoder and decoder: one line each, with a
// function of the runtime that takes v as an interface. The compiler inlines these functions and
// then calls the methods of v directly, so that the value and its buffer stay on the stack.
func (g *gen) wrappers(t *plan.Type) {
	name := g.pkg.Names.Decl(t.Decl)
	v := func() *jen.Statement { return g.f.Func().Params(jen.Id("v").Op("*").Id(name)) }
	e, d := jen.Id("e").Op("*").Qual(goexpr.XDR, "Encoder"), jen.Id("d").Op("*").Qual(goexpr.XDR, "Decoder")
	put := func() *jen.Statement {
		return jen.Id("v").Dot("PutXDR").Call(jen.Id("e"), jen.Id("e").Dot("Buf"), jen.Id("e").Dot("Off"))
	}
	bytes := func() *jen.Statement { return jen.Params(jen.Index().Byte(), jen.Error()) }
	codec := func(name string, args ...jen.Code) *jen.Statement { return jen.Qual(goexpr.Codec, name).Call(args...) }
	line := func(call jen.Code) *jen.Statement { return goexpr.OneLine(jen.Return(call)) }

	off := jen.List(jen.Id("off"), jen.Err()).Op(":=").Add(put())
	switch encode := v().Id("EncodeXDR").Params(e).Error(); {
	case t.Reducible:
		// Room is made first: if items may leave the stream, an attempt has effects.
		encode.Block(
			jen.If(jen.Err().Op(":=").Id("e").Dot("Grow").Call(jen.Id("v").Dot("ReducedXDRSize").Call(jen.Id("e"))), jen.Err().Op("!=").Nil()).Block(
				jen.Return(jen.Err())),
			off,
			jen.Return(codec("Ended", jen.Id("e"), jen.Id("off"), jen.Err(), jen.Lit(0))),
		)
	case t.Compact:
		encode.Block(off, jen.Return(codec("Again", jen.Id("e"), jen.Id("v"),
			codec("Ended", jen.Id("e"), jen.Id("off"), jen.Err(), codec("Need", jen.Id("v"), jen.Err())))))
	default:
		encode.Add(line(codec("Encode", jen.Id("e"), jen.Id("v"))))
	}
	decoder := jen.Id("d")
	if b := g.bound[t]; b.rate > defaultRate {
		decoder = codec("Amplify", decoder, jen.Id(b.amp))
	}
	v().Id("DecodeXDR").Params(d).Error().Add(line(codec("Decode", decoder, jen.Id("v"))))
	v().Id("MarshalBinary").Params().Add(bytes(), line(jen.Id("v").Dot("AppendBinary").Call(jen.Nil())))
	v().Id("AppendBinary").Params(jen.Id("b").Index().Byte()).Add(bytes(), line(codec("Out", codec("To", jen.Id("b")), jen.Id("v"))))
	v().Id("UnmarshalBinary").Params(jen.Id("b").Index().Byte()).Error().Add(line(codec("All", codec("From", jen.Id("b"), jen.Id("v")))))
}
