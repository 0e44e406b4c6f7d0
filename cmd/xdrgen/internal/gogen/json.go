package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// json writes the methods of encoding/json. MarshalJSON has a value receiver, because encoding/json
// does not call methods of the pointer for a value in a map or an interface. As with String, large
// values are not copied: above maxCopied, the receiver is a pointer.
func (g *gen) json(t *plan.Type) {
	name := g.pkg.Names.Decl(t.Decl)
	tag := jen.Lit(describe(t.Decl.Name, t.Whole()))
	recv, v := jen.Id("v").Id(name), jen.Op("&").Id("v")
	if t.Whole().Memory() > maxCopied {
		recv, v = jen.Id("v").Op("*").Id(name), jen.Id("v")
	}
	g.f.Comment("// MarshalJSON returns the JSON form of v, which xdrgen help json describes.")
	g.f.Func().Params(recv).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).
		Add(goexpr.OneLine(jen.Return(jen.Qual(goexpr.JSON, "Marshal").Call(v, tag))))
	g.f.Comment("// UnmarshalJSON reads v from its JSON form. After an error, v is unspecified.")
	g.f.Func().Params(jen.Id("v").Op("*").Id(name)).Id("UnmarshalJSON").Params(jen.Id("b").Index().Byte()).Error().
		Add(goexpr.OneLine(jen.Return(jen.Qual(goexpr.JSON, "Unmarshal").Call(jen.Id("b"), jen.Id("v"), tag))))
}
