package gogen

import (
	"bytes"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// nameless is the placeholder of the type's name in the methods that are the same for all types. It
// must not occur in them otherwise.
const nameless = "Name_Less"

// sameKind are the properties that types with the same methods have in common.
type sameKind struct {
	reduced   bool // an Encoder may leave some of a value out of line
	amplified bool // legal values may need more than the default budget
}

// same writes the methods of type t that are the same for all types. They are a third of the lines,
// so they are rendered and formatted once.
func (g *gen) same(t *plan.Type) {
	b := g.bound[t]
	kind := sameKind{t.Reducible, b.rate > defaultRate}
	if g.sames[kind] == nil {
		p := &piece{code: g.newPiece()}
		sameMethods(p.code, nameless, kind)
		p.err = p.make(&scratch{})
		g.sames[kind] = p
	}
	g.codecs.add(g.formatter, g.f)
	g.f = g.newPiece()
	g.codecs.pieces = append(g.codecs.pieces, g.sames[kind].named(g.names.decl[t.Decl], b.amp))
}

// named is a copy of the piece for the type of that name, whose amplification is
// the constant amp.
func (p *piece) named(name, amp string) *piece {
	q := &piece{imports: p.imports, err: p.err}
	q.text = bytes.ReplaceAll(p.text, []byte(nameless+"Amplification"), []byte(amp))
	q.text = bytes.ReplaceAll(q.text, []byte(nameless), []byte(name))
	for _, c := range p.claims {
		q.claims = append(q.claims, claim{strings.Replace(c.key, nameless, name, 1), name})
	}
	return q
}

// sameMethods writes the methods for type name.
func sameMethods(f *jen.File, name string, kind sameKind) {
	recv := func() *jen.Statement { return f.Func().Params(jen.Id("v").Op("*").Id(name)) }
	f.Comment("// EncodeXDR appends v to the output of e.")
	if kind.reduced {
		recv().Id("EncodeXDR").Params(jen.Id("e").Op("*").Qual(xdrPath, "Encoder")).Error().Block(reducedBody()...)
	} else {
		recv().Id("EncodeXDR").Params(jen.Id("e").Op("*").Qual(xdrPath, "Encoder")).Params(jen.Err().Error()).Block(
			// In this form the compiler can inline it.
			jen.List(jen.Id("e").Dot("Off"), jen.Err()).Op("=").Id("v").Dot("PutXDR").Call(jen.Id("e"), jen.Id("e").Dot("Buf"), jen.Id("e").Dot("Off")),
			jen.Return(),
		)
		f.Comment("// failXDR returns err. If the buffer is full, it makes room in e and encodes v again instead.")
		recv().Id("failXDR").Params(jen.Id("e").Op("*").Qual(xdrPath, "Encoder"), jen.Err().Op("*").Qual(xdrPath, "Error")).
			Params(jen.Int(), jen.Error()).Block(
			jen.If(jen.Id("e").Op("==").Nil()).Block(jen.Return(jen.Lit(0), jen.Err())),
			jen.If(jen.Err().Op(":=").Qual(codecPath, "More").Call(jen.Id("e"), jen.Err(), jen.Id("v").Dot("XDRSize").Call()), jen.Err().Op("!=").Nil()).Block(
				jen.Return(jen.Id("e").Dot("Off"), jen.Err())),
			jen.Return(jen.Id("v").Dot("PutXDR").Call(jen.Id("e"), jen.Id("e").Dot("Buf"), jen.Id("e").Dot("Off"))),
		)
	}

	var amplify []jen.Code
	if kind.amplified {
		amplify = []jen.Code{jen.Qual(codecPath, "Amplify").Call(jen.Id("d"), jen.Id(name+"Amplification"))}
	}
	f.Comment("// DecodeXDR reads v from the input of d. After an error, v is unspecified.")
	recv().Id("DecodeXDR").Params(jen.Id("d").Op("*").Qual(xdrPath, "Decoder")).Params(jen.Err().Error()).Block(append(amplify,
		// In this form the compiler can inline it.
		jen.List(jen.Id("d").Dot("Off"), jen.Err()).Op("=").Id("v").Dot("GetXDR").Call(jen.Id("d"), jen.Id("d").Dot("Buf"), jen.Id("d").Dot("Off")),
		jen.Return(),
	)...)

	put := func(op string) jen.Code {
		return jen.List(jen.Id("end"), jen.Err()).Op(op).Id("v").Dot("PutXDR").Call(jen.Nil(), jen.Id("room"), jen.Len(jen.Id("b")))
	}
	f.Comment("// AppendBinary appends the encoding of v to b. It may write to all of")
	f.Comment("// b's capacity, even if it fails.")
	recv().Id("AppendBinary").Params(jen.Id("b").Index().Byte()).Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Id("room").Op(":=").Id("b").Index(jen.Op(":").Cap(jen.Id("b"))),
		put(":="),
		jen.If(jen.Err().Op("==").Qual(codecPath, "Full").Call()).Block(
			jen.Id("room").Op("=").Qual(codecPath, "Grow").Call(jen.Id("b"), jen.Id("v").Dot("XDRSize").Call()),
			put("="),
		),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Id("b"), jen.Err())),
		jen.Return(jen.Id("room").Index(jen.Op(":").Id("end")), jen.Nil()),
	)
	f.Comment("// MarshalBinary returns the encoding of v.")
	recv().Id("MarshalBinary").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Return(jen.Id("v").Dot("AppendBinary").Call(jen.Nil())))
	f.Comment("// UnmarshalBinary decodes v from all of b, and keeps no reference to b.")
	recv().Id("UnmarshalBinary").Params(jen.Id("b").Index().Byte()).Error().Block(
		jen.Var().Id("d").Qual(xdrPath, "Decoder"),
		jen.Id("d").Dot("Reset").Call(jen.Id("b")),
		jen.If(jen.Err().Op(":=").Id("v").Dot("DecodeXDR").Call(jen.Op("&").Id("d")), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err())),
		jen.Return(jen.Id("d").Dot("Done").Call()),
	)

	f.Comment("// CheckXDR returns the size of the value at the front of b, or the error of decoding it")
	f.Comment("// by the default rules. It does not use v, which may be nil.")
	recv().Id("CheckXDR").Params(jen.Id("b").Index().Byte()).Params(jen.Id("n").Int(), jen.Err().Error()).Block(
		// In this form the compiler can inline it.
		jen.List(jen.Id("n"), jen.Id("e")).Op(":=").Id("v").Dot("SkipXDR").Call(jen.New(jen.Qual(xdrPath, "Checker")), jen.Id("b"), jen.Lit(0)),
		jen.If(jen.Id("e").Op("!=").Nil()).Block(jen.Err().Op("=").Id("e")),
		jen.Return(),
	)
}

// reducedBody makes room first: if items may leave the stream, an attempt has effects.
func reducedBody() []jen.Code {
	return []jen.Code{
		jen.If(jen.Err().Op(":=").Id("e").Dot("Grow").Call(jen.Id("v").Dot("ReducedXDRSize").Call(jen.Id("e"))), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Err())),
		jen.List(jen.Id("off"), jen.Err()).Op(":=").Id("v").Dot("PutXDR").Call(jen.Id("e"), jen.Id("e").Dot("Buf"), jen.Id("e").Dot("Off")),
		jen.If(jen.Err().Op("==").Nil()).Block(jen.Id("e").Dot("Off").Op("=").Id("off")),
		jen.Return(jen.Err()),
	}
}
