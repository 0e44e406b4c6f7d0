package gogen

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gofile"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// bindings writes the placement sites of this unit and the procedures at which
// they are eligible.
func (g *gen) bindings() {
	if len(g.bind.DDP) == 0 {
		return
	}
	var consts, rows []jen.Code
	seen := map[*ir.Field]bool{}
	for _, x := range g.bind.DDP {
		known := g.plan.Site(x.Field)
		if known == nil {
			continue
		}
		site := g.pkg.Site(known)
		if !seen[x.Field] && x.Owner.Import == nil { // else the other package has the constant
			seen[x.Field] = true
			consts = append(consts, site().Qual(goexpr.XDR, "Site").Op("=").Lit(g.pkg.Name+"."+x.Owner.Name+"."+x.Field.Name))
		}
		rows = append(rows, jen.Values(jen.Dict{
			jen.Id("Program"):   jen.Lit(int(x.Prog)),
			jen.Id("Version"):   jen.Lit(int(x.Vers)),
			jen.Id("Procedure"): jen.Lit(int(x.Number)),
			jen.Id("Reply"):     jen.Lit(x.Reply),
			jen.Id("Path"):      jen.Lit(strings.Join(x.Path, ".")),
			jen.Id("Site"):      site(),
		}))
	}
	g.f.Comment("// The items that the upper-layer binding makes eligible for reduction (RFC 8166 §6.1).")
	if len(consts) > 0 {
		g.f.Const().Defs(consts...)
	}
	g.f.Comment("// DDPBindings returns the procedure and direction in which each site is eligible.")
	g.f.Func().Id("DDPBindings").Params().Index().Qual(goexpr.XDR, "Binding").Block(
		jen.Return(jen.Index().Qual(goexpr.XDR, "Binding").Values(goexpr.Rows(rows)...)))
}

// extension writes the descriptor that ties code points to types.
func (g *gen) extension() {
	if len(g.bind.Codes) == 0 {
		return
	}
	spaces := map[string]string{
		"header-type": "HeaderTypes", "flag": "HeaderFlags", "property": "Properties", "error": "ErrorCodes", "operation": "Operations", "characteristic": "Characteristics",
	}
	var rows []jen.Code
	for _, c := range g.bind.Codes {
		row := jen.Dict{
			jen.Id("Space"): jen.Qual(goexpr.XDR, spaces[c.Space]),
			jen.Id("Value"): jen.Lit(int(c.Value)),
			jen.Id("Name"):  jen.Lit(c.Const),
		}
		if c.Decl != nil {
			row[jen.Id("Type")] = jen.Lit(c.Type)
			row[jen.Id("New")] = jen.Func().Params().Qual(goexpr.XDR, "Value").Block(
				jen.Return(jen.New(g.pkg.Qualified(valueOf(c.Decl)))))
		}
		if c.Mask != 0 {
			row[jen.Id("Flags")] = jen.Lit(int(c.Mask))
		}
		rows = append(rows, jen.Values(row))
	}
	g.f.Comment("// Extension describes this package's code points to the transport.")
	g.f.Func().Id("Extension").Params().Qual(goexpr.XDR, "Extension").Block(
		jen.Return(jen.Qual(goexpr.XDR, "Extension").Values(jen.Dict{
			jen.Id("Name"):   jen.Lit(g.pkg.Name),
			jen.Id("Source"): jen.Lit(gofile.SourceNames(g.unit)),
			jen.Id("Codes"):  jen.Index().Qual(goexpr.XDR, "CodePoint").Values(goexpr.Rows(rows)...),
		})))
}

// valueOf returns the declaration whose Go type holds what the name of d stands for on the wire.
func valueOf(d *ir.Decl) *ir.Decl {
	if d.List != nil {
		return d.List.Whole
	}
	return d
}

// codeTypes finds code points whose type has no Go type with the methods of a value: typedefs that
// only spell a built-in type.
func codeTypes(b *ir.Bind) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, c := range b.Codes {
		d := c.Decl
		if d == nil {
			continue
		}
		if plan.Transparent(d) {
			out = append(out, diag.New(diag.BindCode, c.Pos, "%s has no Go type of its own that could stand for code point %s", c.Type, c.Const).
				Helpf("declare a typedef or struct for what the code point carries, and name that"))
		}
	}
	return out
}
