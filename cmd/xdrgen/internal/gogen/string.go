package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// maxCopied is the size of the largest Go value whose method String has a value receiver. With a
// value receiver, fmt finds the method for values and fields too, but each call copies the value.
const maxCopied = 16 << 10

// stringMethod writes the method String of a type. Enums have their own; numbers need none.
func (g *gen) stringMethod(t *plan.Type) {
	name := g.pkg.Names.Decl(t.Decl)
	recv, v := jen.Id("v").Id(name), jen.Op("&").Id("v")
	if t.Whole().Memory() > maxCopied {
		recv, v = jen.Id("v").Op("*").Id(name), jen.Id("v")
	}
	call := jen.Qual(goexpr.Text, "String").Call(v, jen.Lit(describe(t.Decl.Name, t.Whole())))
	switch s := t.Whole().Under(); {
	case t.Op == plan.Enum, s.Op == plan.Word, s.Op == plan.Hyper, s.Op == plan.Bool:
		return
	case s.Text:
		call = jen.String().Call(jen.Id("v"))
	}
	g.f.Func().Params(recv).Id("String").Params().String().Add(goexpr.OneLine(jen.Return(call)))
}
