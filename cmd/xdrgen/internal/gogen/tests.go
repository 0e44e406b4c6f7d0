package gogen

import (
	"fmt"
	"math/rand/v2"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gosample"
)

// testPath is the package that generated tests run.
const testPath = goexpr.XDR + "/codectest"

// wiresPerType is the number of valid encodings that a generated test has for each type.
const wiresPerType = 7

// manyWires limits the size in bytes of all encodings in a package's tests. Further types get no
// encodings, because large types that hold each other would make the file grow with the square of
// their number.
const manyWires = 8 << 20

// tests writes the package's generated tests. Their encodings are made from the ir, and depend on
// the unit only.
func (g *gen) tests() *jen.File {
	file := g.imports.Piece()
	r := rand.New(rand.NewPCG(1, 2))
	var rows []jen.Code
	held := 0
	for _, t := range g.plan.Types {
		d := t.Decl
		b, ok := g.bound[t]
		if !ok || t.Size.Min > gosample.Large || held > manyWires {
			continue // or too large to be tried
		}
		wires, n := sampleWires(r, d)
		held += n
		name := g.pkg.Names.Decl(d)
		most := jen.Lit(-1)
		if b.max != "" {
			most = jen.Id(b.max)
		}
		row := jen.Dict{
			jen.Id("Name"):  jen.Lit(name),
			jen.Id("New"):   jen.Func().Params().Qual(testPath, "Value").Block(jen.Return(jen.New(jen.Id(name)))),
			jen.Id("Min"):   jen.Id(b.min),
			jen.Id("Max"):   most,
			jen.Id("Wires"): jen.Index().String().Values(goexpr.Rows(wires)...),
		}
		if b.amp != "" {
			row[jen.Id("Amplification")] = jen.Id(b.amp)
		}
		if g.wantViews {
			row[jen.Id("Check")] = jen.Parens(jen.Op("*").Id(name)).Call(jen.Nil())
		}
		if g.wantViews && t.View {
			row[jen.Id("View")] = jen.Func().Params(jen.Id("b").Index().Byte()).Any().Block(jen.Return(jen.Id(g.pkg.Names.View(d)).Call(jen.Id("b"))))
		}
		if w := g.scanned[t]; w != nil {
			var lists []jen.Code
			for _, l := range w.Lists() {
				lists = append(lists, jen.Values(jen.Id("Path").Op(":").Lit(l.Path), jen.Id("Method").Op(":").Lit(l.Method)))
			}
			row[jen.Id("Scan")] = jen.Func().Params(jen.Id("b").Index().Byte()).Qual(testPath, "Scan").Block(
				jen.Id("s").Op(":=").Id(w.Maker).Call(jen.Id("b")), jen.Return(jen.Op("&").Id("s")))
			row[jen.Id("Lists")] = jen.Index().Qual(testPath, "List").Values(goexpr.Rows(lists)...)
		}
		g.optionalRows(row, name)
		rows = append(rows, jen.Values(row))
	}
	file.Comment("// xdrTypes lists the generated types, with valid encodings of random values.")
	file.Func().Id("xdrTypes").Params().Index().Qual(testPath, "Type").Block(
		jen.Return(jen.Index().Qual(testPath, "Type").Values(goexpr.Rows(rows)...)))
	file.Func().Id("TestXDR").Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(
		jen.Qual(testPath, "Run").Call(jen.Id("t"), jen.Id("xdrTypes").Call()))
	file.Func().Id("FuzzXDR").Params(jen.Id("f").Op("*").Qual("testing", "F")).Block(
		jen.Qual(testPath, "Fuzz").Call(jen.Id("f"), jen.Id("xdrTypes").Call()))
	if len(g.enums) > 0 {
		var calls []jen.Code
		for _, e := range g.enums {
			calls = append(calls, jen.Qual(testPath, "Enum").Call(jen.Id("t"), jen.Id(e.all).Call(), jen.Id(e.parse)))
		}
		file.Func().Id("TestEnums").Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(calls...)
	}
	return file
}

// optionalRows adds the optional methods of the type with that name.
func (g *gen) optionalRows(row jen.Dict, name string) {
	value := func() *jen.Statement { return jen.Qual(testPath, "Value") }
	typed := func(v string) *jen.Statement { return jen.Id(v).Assert(jen.Op("*").Id(name)) }
	if g.with.Clone {
		row[jen.Id("Clone")] = jen.Func().Params(jen.Id("v").Add(value())).Params(value(), jen.Error()).Block(
			jen.Return(typed("v").Dot("Clone").Call()))
	}
	if g.with.Equal {
		row[jen.Id("Equal")] = jen.Func().Params(jen.List(jen.Id("v"), jen.Id("w")).Add(value())).Bool().Block(
			jen.Return(typed("v").Dot("Equal").Call(typed("w"))))
	}
	if g.with.Stream {
		row[jen.Id("Stream")] = jen.Func().Params(jen.Id("v").Add(value())).Qual(testPath, "Stream").Block(
			jen.Return(typed("v")))
	}
}

// sampleWires returns valid encodings of d, without repetition, shallow ones first, and the number
// of their bytes.
func sampleWires(r *rand.Rand, d *ir.Decl) (out []jen.Code, n int) {
	seen := map[string]bool{}
	for i := range wiresPerType {
		w := &gosample.Sampler{Rand: r, Deep: i % 6}
		s := fmt.Sprintf("%x", w.Append(nil, d))
		if !seen[s] {
			seen[s] = true
			n += len(s) / 2
			out = append(out, jen.Lit(s))
		}
	}
	return out, n
}
