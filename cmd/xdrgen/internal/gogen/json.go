package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// json writes the methods of encoding/json. MarshalJSON has a value receiver, because encoding/json
// does not call methods of the pointer for a value in a map or an interface.
func (g *gen) json(t *plan.Type) {
	name := g.names.decl[t.Decl]
	tag := jen.Lit(typeTag(t))
	g.f.Comment("// MarshalJSON returns the JSON form of v, which xdrgen help json describes.")
	g.f.Func().Params(jen.Id("v").Id(name)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Return(jen.Qual(jsonPath, "Marshal").Call(jen.Op("&").Id("v"), tag)))
	g.f.Comment("// UnmarshalJSON reads v from its JSON form. After an error, v is unspecified.")
	g.f.Func().Params(jen.Id("v").Op("*").Id(name)).Id("UnmarshalJSON").Params(jen.Id("b").Index().Byte()).Error().Block(
		jen.Return(jen.Qual(jsonPath, "Unmarshal").Call(jen.Id("b"), jen.Id("v"), tag)))
}

// typeTag describes type t as the tag of a field would.
func typeTag(t *plan.Type) string {
	if t.Op == plan.Typedef {
		return describe(t.Decl.Name, t.Body)
	}
	return t.Decl.Name
}
