package gogen

import (
	"sort"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// enum writes an enum: an int32 (RFC 4506 §4.3), whose decoder accepts enumerators only.
func (g *gen) enum(t *plan.Type) {
	d := t.Decl
	name := g.names.decl[d]
	g.t.Add(g.doc(name, "enum "+d.Name, d.Doc))
	g.t.Type().Id(name).Int32()

	var consts, names []jen.Code
	seen := map[int32]bool{}
	for _, m := range d.Members {
		s := jen.Id(g.names.member[m]).Id(name).Op("=").Lit(int(m.Value))
		note := m.Name
		if m.Tail != "" {
			note += ": " + m.Tail
		}
		consts = append(consts, documented(m.Doc, s.Comment(tail(note))))
		if !seen[m.Value] {
			seen[m.Value] = true
			names = append(names, jen.Case(jen.Id(g.names.member[m])).Block(jen.Return(jen.Lit(m.Name))))
		}
	}
	g.t.Commentf("// The enumerators of %s.", name)
	g.t.Const().Defs(consts...)

	g.f.Comment("// String returns the XDR name of v, or its number if it is no enumerator.")
	g.f.Func().Params(jen.Id("v").Id(name)).Id("String").Params().String().Block(
		jen.Switch(jen.Id("v")).Block(names...),
		jen.Return(jen.Lit(d.Name+"(").Op("+").Qual("strconv", "Itoa").Call(jen.Int().Call(jen.Id("v"))).Op("+").Lit(")")),
	)
	g.f.Comment("// Valid reports whether v is an enumerator.")
	g.f.Func().Params(jen.Id("v").Id(name)).Id("Valid").Params().Bool().Block(g.valid(d)...)

	g.methods(t)
}

const (
	fewRanges  = 24 // ranges of enumerators that are compared one by one
	lineRanges = 6  // of them in a line
	caseNames  = 4  // enumerators in a line
)

// valid writes the test whether v is an enumerator: by the ranges of consecutive enumerators, or if
// there are many by a switch, which the compiler makes a search.
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
		if names = append(names, jen.Id(g.names.member[m])); len(names) == caseNames {
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
