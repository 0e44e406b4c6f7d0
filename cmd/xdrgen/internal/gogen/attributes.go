package gogen

import (
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// attributes writes a struct for each line "attributes" of the sidecar, with a field for each
// value, and its methods.
func (g *gen) attributes() {
	for i := range g.bind.Attributes {
		if a := &g.bind.Attributes[i]; len(a.Items) > 0 {
			g.attributesOf(a)
		}
	}
}

func (g *gen) attributesOf(a *ir.Attributes) {
	whole := func() *jen.Statement { return g.pkg.Qualified(a.Decl) }
	mask := func() *jen.Statement { return jen.Index().Uint32() }
	if t := a.Decl.Fields[0].Type; t.Kind == ir.Ref {
		mask = func() *jen.Statement { return g.pkg.Qualified(t.Ref) }
	}
	names := fieldNames(g.pkg, a)
	fields := []jen.Code{jen.Id("Mask").Add(mask()).Comment("// the numbers of the attributes that are there")}
	var arms []jen.Code
	for i, x := range a.Items {
		fields = append(fields, jen.Id(names[i]).Add(g.pkg.Qualified(valueOf(x.Type))).Comment(goexpr.Tail(x.Const.Name)))
		arms = append(arms, jen.Case(g.pkg.Qualified(x.Const)).Block(jen.Return(jen.Op("&").Id("v").Dot(names[i]))))
	}
	g.t.Add(jen.Comment(goexpr.Comment([]string{
		a.GoName + " has the attributes of a " + a.Struct + ", the fields whose numbers are in Mask. The others",
		"have no meaning. See [" + a.GoName + ".Decode] and [" + a.GoName + ".Encode].",
	})))
	g.t.Type().Id(a.GoName).Struct(fields...)

	made := a.GoName + "Mask"
	g.f.Commentf("// %s returns a bitmap of attributes by their numbers.", made)
	g.f.Func().Id(made).Params(jen.Id("numbers").Op("...").Uint32()).Add(mask()).Add(goexpr.OneLine(
		jen.Return(jen.Qual(goexpr.Codec, "Numbers").Types(mask()).Call(jen.Id("numbers")))))

	method := func(name string) *jen.Statement {
		return g.f.Func().Params(jen.Id("v").Op("*").Id(a.GoName)).Id(name)
	}
	part := func(i int) *jen.Statement { return jen.Id("f").Dot(g.pkg.Names.Field(a.Decl.Fields[i])) }
	path := func() *jen.Statement { return jen.Lit(g.pkg.Name + "." + a.GoName + ":") }

	g.f.Comment("// Has reports whether attribute n is there.")
	method("Has").Params(jen.Id("n").Uint32()).Bool().Add(goexpr.OneLine(
		jen.Return(jen.Qual(goexpr.Codec, "HasNumber").Call(jen.Id("v").Dot("Mask"), jen.Id("n")))))

	g.f.Comment("// AttributeXDR returns a pointer to the field of attribute n, or nil if n is not known.")
	method("AttributeXDR").Params(jen.Id("n").Uint32()).Qual(goexpr.Codec, "Attribute").Block(
		jen.Switch(jen.Id("n")).Block(arms...), jen.Return(jen.Nil()))

	g.f.Comment(goexpr.Comment([]string{
		"Encode sets f to the attributes in Mask, in ascending order. It uses the memory of f, and f gets",
		"Mask itself. A number that is not known is an error.",
	}))
	method("Encode").Params(jen.Id("f").Op("*").Add(whole())).Params(jen.Err().Error()).Block(
		part(0).Op("=").Id("v").Dot("Mask"),
		jen.List(part(1), jen.Err()).Op("=").Qual(goexpr.Codec, "PutAttributes").Call(
			part(1).Index(jen.Empty(), jen.Lit(0)), jen.Id("v"), jen.Id("v").Dot("Mask"), path()),
		jen.Return(jen.Err()))

	g.f.Comment(goexpr.Comment([]string{
		"Decode sets v to the attributes of f, with Decoder d, which it resets. The options of d bound the",
		"memory, and say whether opaque data are copied. If d is nil, a new Decoder has the defaults. A number",
		"that is not known, bytes that are missing, and bytes after the last attribute are errors, and Mask",
		"is empty then.",
	}))
	method("Decode").Params(jen.Id("d").Op("*").Qual(goexpr.XDR, "Decoder"), jen.Id("f").Op("*").Add(whole())).Params(jen.Err().Error()).Block(
		jen.If(jen.Id("d").Op("==").Nil()).Block(jen.Id("d").Op("=").New(jen.Qual(goexpr.XDR, "Decoder"))),
		jen.List(jen.Id("v").Dot("Mask"), jen.Err()).Op("=").Qual(goexpr.Codec, "GetAttributes").Call(
			jen.Id("d"), part(1), jen.Id("v"), jen.Id("v").Dot("Mask"), part(0), path()),
		jen.Return(jen.Err()))
}

// fieldNames returns the names of the fields: the types' names without the words at the front that
// all of them share.
func fieldNames(p *goexpr.Package, a *ir.Attributes) []string {
	names := make([]string, len(a.Items))
	for i, x := range a.Items {
		names[i] = p.Names.Decl(valueOf(x.Type))
	}
	shared := names[0]
	for _, n := range names {
		for !strings.HasPrefix(n, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	begins := func(n string) bool { return len(n) > len(shared) && unicode.IsUpper(rune(n[len(shared)])) }
	for i := 0; i < len(names); i++ {
		for !begins(names[i]) && shared != "" {
			shared, i = shared[:len(shared)-1], 0
		}
	}
	for i, n := range names {
		names[i] = n[len(shared):]
	}
	return names
}

// attributeTypes finds attributes whose type has no Go type with the methods of a value.
func attributeTypes(b *ir.Bind) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, a := range b.Attributes {
		for _, x := range a.Items {
			if plan.Transparent(x.Type) {
				out = append(out, diag.New(diag.BindCode, a.Pos, "%s has no Go type that could stand for attribute %s", x.Type.Name, x.Const.Name).
					Helpf("declare a typedef or struct with another name for it"))
			}
		}
	}
	return out
}
