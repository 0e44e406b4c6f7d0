package gogen

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// enum writes an enum: an int32 (RFC 4506 §4.3), whose decoder accepts enumerators only.
func (g *gen) enum(t *plan.Type) {
	d := t.Decl
	name := g.pkg.Names.Decl(d)
	g.t.Add(g.doc(name, "enum "+d.Name, d.Doc))
	g.t.Type().Id(name).Int32()

	var consts []jen.Code
	for _, m := range d.Members {
		s := jen.Id(g.pkg.Names.Member(m)).Id(name).Op("=").Lit(int(m.Value))
		note := m.Name
		if m.Tail != "" {
			note += ": " + m.Tail
		}
		consts = append(consts, documented(m.Doc, s.Comment(goexpr.Tail(note))))
	}
	g.t.Commentf("// The enumerators of %s.", name)
	g.t.Const().Defs(consts...)

	if g.with.String {
		g.enumNames(d, name)
	}
	if g.with.String || g.with.JSON {
		g.enumTable(d, name)
	}
	g.f.Comment("// Valid reports whether v is an enumerator.")
	g.f.Func().Params(jen.Id("v").Id(name)).Id("Valid").Params().Bool().Add(goexpr.Short(g.valid(d)))

	g.methods(t)
}

// enumNames writes the functions that turn members into names and back, and list them. Their code
// is in package codec, and works with a table.
func (g *gen) enumNames(d *ir.Decl, name string) {
	table := func() *jen.Statement { return jen.Id("enum" + name) }
	first := d.Members[0].Name
	g.f.Commentf("// String returns the XDR name of v, such as %s. Without a name, it is %s(NUMBER).", first, d.Name)
	g.f.Func().Params(jen.Id("v").Id(name)).Id("String").Params().String().Block(
		jen.Return(table().Dot("String").Call(jen.Int32().Call(jen.Id("v")))))

	parse := g.pkg.Names.Fresh("Parse" + name)
	g.f.Commentf("// %s returns the %s with an XDR name, such as %s.", parse, name, first)
	g.f.Func().Id(parse).Params(jen.Id("name").String()).Params(jen.Id(name), jen.Error()).Block(
		jen.List(jen.Id("v"), jen.Err()).Op(":=").Add(table()).Dot("Parse").Call(jen.Id("name")),
		jen.Return(jen.Id(name).Call(jen.Id("v")), jen.Err()))

	all := g.pkg.Names.Fresh("All" + name)
	g.f.Commentf("// %s returns the enumerators of %s in the order of their numbers.", all, name)
	g.f.Func().Id(all).Params().Index().Id(name).Block(
		jen.Return(jen.Qual(goexpr.Codec, "Values").Types(jen.Id(name)).Call(jen.Op("&").Add(table()))))

	g.enums = append(g.enums, enumFuncs{parse, all})
}

// enumTable writes the table of an enum.
func (g *gen) enumTable(d *ir.Decl, name string) {
	g.f.Comment("// XDREnum returns the table of names of v's type. Only package xdrjson calls it.")
	g.f.Func().Params(jen.Id("v").Id(name)).Id("XDREnum").Params().Op("*").Qual(goexpr.Codec, "Enum").Block(
		jen.Return(jen.Op("&").Id("enum" + name)))
	g.f.Var().Id("enum"+name).Op("=").Qual(goexpr.Codec, "Enum").Values(members(d)...)
}

// enumFuncs are the functions of an enum.
type enumFuncs struct{ parse, all string }

// members writes the table of an enum: by number, and where numbers are equal in the order of the
// document. Consecutive numbers are not listed.
func members(d *ir.Decl) []jen.Code {
	sorted := slices.Clone(d.Members)
	slices.SortStableFunc(sorted, func(a, b *ir.Member) int { return cmp.Compare(a.Value, b.Value) })
	numbers, names := make([]string, len(sorted)), make([]string, len(sorted))
	consecutive := true
	for i, m := range sorted {
		numbers[i], names[i] = strconv.Itoa(int(m.Value)), strconv.Quote(m.Name)
		consecutive = consecutive && int(m.Value) == int(sorted[0].Value)+i
	}
	out := []jen.Code{jen.Line().Id("Name").Op(":").Lit(d.Name)}
	if d.Open {
		out = append(out, jen.Id("Open").Op(":").True())
	}
	if !consecutive {
		out = append(out, jen.Line().Id("Numbers").Op(":").Index().Int32().Values(lines(numbers)...))
	} else if len(sorted) > 0 && sorted[0].Value != 0 {
		out = append(out, jen.Id("First").Op(":").Lit(int(sorted[0].Value)))
	}
	return append(out, jen.Line().Id("Names").Op(":").Index().String().Values(lines(names)...).Op(",").Line())
}

// lines writes literals in lines of about lineWidth columns.
func lines(literals []string) []jen.Code {
	out, width := make([]jen.Code, len(literals)), 0
	for i, text := range literals {
		out[i] = jen.Op(text)
		if width += len(text) + 2; width > lineWidth {
			out[i], width = jen.Line().Add(out[i]), len(text)+2
		}
	}
	return out
}

const (
	lineWidth = 90 // columns of an enum's table, about

	fewRanges  = 24 // ranges of enumerators that are compared one by one
	lineRanges = 6  // ranges in a line
	caseNames  = 4  // enumerators in a line
)

// valid writes the test whether v is an enumerator: by the ranges of consecutive enumerators, or,
// if there are many, by a switch, which the compiler turns into a search.
func (g *gen) valid(d *ir.Decl) []jen.Code {
	x, ranges := validExpr(d)
	if ranges <= fewRanges {
		return []jen.Code{jen.Return(x)}
	}
	var cases, names []jen.Code
	line := func() {
		cases = append(cases, jen.Case(names...).Block(jen.Return(jen.True())))
		names = nil
	}
	seen := map[int32]bool{}
	for _, m := range d.Members {
		if seen[m.Value] {
			continue
		}
		seen[m.Value] = true
		if names = append(names, jen.Id(g.pkg.Names.Member(m))); len(names) == caseNames {
			line()
		}
	}
	if len(names) > 0 {
		line()
	}
	return []jen.Code{jen.Switch(jen.Id("v")).Block(cases...), jen.Return(jen.False())}
}

// validExpr compares v with the ranges of consecutive enumerators, and counts the ranges. It stops
// at the limit.
func validExpr(d *ir.Decl) (*jen.Statement, int) {
	vals := make([]int, 0, len(d.Members))
	for _, m := range d.Members {
		vals = append(vals, int(m.Value))
	}
	sort.Ints(vals)
	var x *jen.Statement
	ranges := 0
	for i := 0; i < len(vals) && ranges <= fewRanges; ranges++ {
		j := i
		for j+1 < len(vals) && vals[j+1] <= vals[j]+1 {
			j++
		}
		var c *jen.Statement
		switch lo, hi := vals[i], vals[j]; {
		case lo == hi:
			c = jen.Id("v").Op("==").Lit(lo)
		case lo == 0:
			c = jen.Uint32().Call(jen.Id("v")).Op("<=").Lit(hi)
		default:
			c = jen.Lit(lo).Op("<=").Id("v").Op("&&").Id("v").Op("<=").Lit(hi)
		}
		switch {
		case x == nil:
			x = c
		case ranges%lineRanges == 0:
			x = x.Op("||").Line().Add(c)
		default:
			x = x.Op("||").Add(c)
		}
		i = j + 1
	}
	return x, ranges
}
