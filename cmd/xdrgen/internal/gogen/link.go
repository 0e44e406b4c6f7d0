package gogen

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// site is the Go constant of a placement site, which the unit that declares the type declares.
func (g *gen) site(s *plan.Site) expr {
	name := "Site" + g.names.Decl(s.Owner) + g.names.Field(s.Field)
	if imp := s.Owner.Import; imp != nil {
		return func() *jen.Statement { return jen.Qual(imp.Package, name) }
	}
	return id(name)
}

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
		site := g.site(known)
		if !seen[x.Field] {
			seen[x.Field] = true
			consts = append(consts, site().Qual(xdrPath, "Site").Op("=").Lit(g.pkg+"."+x.Owner.Name+"."+x.Field.Name))
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
	g.f.Const().Defs(consts...)
	g.f.Comment("// DDPBindings returns the procedure and direction in which each site is eligible.")
	g.f.Func().Id("DDPBindings").Params().Index().Qual(xdrPath, "Binding").Block(
		jen.Return(jen.Index().Qual(xdrPath, "Binding").Values(multi(rows)...)))
}

func multi(rows []jen.Code) []jen.Code {
	out := make([]jen.Code, 0, len(rows)+1)
	for _, r := range rows {
		out = append(out, jen.Line().Add(r))
	}
	return append(out, jen.Line())
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
			jen.Id("Space"): jen.Qual(xdrPath, spaces[c.Space]),
			jen.Id("Value"): jen.Lit(int(c.Value)),
			jen.Id("Name"):  jen.Lit(c.Const),
		}
		if c.Decl != nil {
			row[jen.Id("Type")] = jen.Lit(c.Type)
			row[jen.Id("New")] = jen.Func().Params().Qual(xdrPath, "Value").Block(
				jen.Return(jen.New(g.qualified(c.Decl))))
		}
		if c.Mask != 0 {
			row[jen.Id("Flags")] = jen.Lit(int(c.Mask))
		}
		rows = append(rows, jen.Values(row))
	}
	g.f.Comment("// Extension describes this package's code points to the transport.")
	g.f.Func().Id("Extension").Params().Qual(xdrPath, "Extension").Block(
		jen.Return(jen.Qual(xdrPath, "Extension").Values(jen.Dict{
			jen.Id("Name"):   jen.Lit(g.pkg),
			jen.Id("Source"): jen.Lit(g.sourceNames()),
			jen.Id("Codes"):  jen.Index().Qual(xdrPath, "CodePoint").Values(multi(rows)...),
		})))
}

func (g *gen) sourceNames() string {
	var names []string
	for _, f := range g.unit.Files {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// codeTypes finds code points whose type has no Go type with the methods of a
// value: typedefs that only spell a built-in type, and nodes of lists.
func codeTypes(b *ir.Bind) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, c := range b.Codes {
		d := c.Decl
		if d == nil {
			continue
		}
		node := d.List != nil && len(d.List.Elem) == 1
		bare := d.Kind == ir.Typedef && (plan.Transparent(d) || resolved(d.Type).Kind == ir.Optional)
		if node || bare {
			out = append(out, diag.New(diag.BindCode, c.Pos, "%s has no Go type of its own that could stand for code point %s", c.Type, c.Const).
				Helpf("declare a typedef or struct for what the code point carries, and name that"))
		}
	}
	return out
}

// resolved follows transparent typedefs.
func resolved(t *ir.Type) *ir.Type {
	for t.Kind == ir.Ref && plan.Transparent(t.Ref) {
		t = t.Ref.Type
	}
	return t
}
