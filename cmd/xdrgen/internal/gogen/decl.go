package gogen

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// decl writes the declaration and the methods of a type.
func (g *gen) decl(t *plan.Type) {
	switch t.Op {
	case plan.Enum:
		g.enum(t)
	case plan.Struct:
		g.structDecl(t)
	case plan.Union:
		g.union(t)
	case plan.Typedef:
		g.typedef(t)
	}
}

// doc is a doc comment: the Go name, the XDR name, and the comment in the source.
func (g *gen) doc(goName, what string, comment []string) jen.Code {
	lines := []string{goName + " is " + what + "."}
	if len(comment) > 0 {
		lines = append(append(lines, ""), comment...)
	}
	return jen.Comment(goexpr.Comment(lines))
}

func (g *gen) structDecl(t *plan.Type) {
	d := t.Decl
	name := g.pkg.Names.Decl(d)
	if t.Node && !t.View {
		return // its lists are slices of the one field's type
	}
	what := "struct " + d.Name
	if t.Node {
		what = "one element of the linked list of struct " + d.Name + ", without the pointer to the next"
	}
	g.t.Add(g.doc(name, what, d.Doc))
	var fields []jen.Code
	for _, f := range t.Fields {
		fields = append(fields, g.fieldDecl(f, g.pkg.GoType(f.Step), tag(f), ""))
	}
	g.t.Type().Id(name).Struct(fields...)
	g.methods(t)
}

func (g *gen) fieldDecl(f *plan.Field, t, tag jen.Code, note string) jen.Code {
	s := jen.Id(g.pkg.Names.Field(f.Field)).Add(t, tag)
	note = strings.Join(slices.Concat(goexpr.NonEmpty(note), goexpr.NonEmpty(f.Tail), goexpr.NonEmpty(narrowNote(f.Type))), "; ")
	if note != "" {
		s.Comment(goexpr.Tail(note))
	}
	return documented(f.Doc, s)
}

// narrowNote returns a note on data that the text declares by a C type of fewer than 32
// bits: a peer in C keeps only those, we keep all.
func narrowNote(t *ir.Type) string {
	for t.Elem != nil {
		t = t.Elem
	}
	if t.CName == "" {
		return ""
	}
	return t.CName + " in the source; Go keeps all 32 bits"
}

// documented is code below its comment in the source.
func documented(doc []string, code *jen.Statement) jen.Code {
	if len(doc) == 0 {
		return code
	}
	return jen.Comment(goexpr.Comment(doc)).Line().Add(code)
}

func (g *gen) typedef(t *plan.Type) {
	if t.Transparent {
		return
	}
	d := t.Decl
	name := g.pkg.Names.Decl(d)
	what := "typedef " + d.Name
	if d.IsList() {
		what = "the linked list that struct " + d.Name + " is on the wire, of one element or more"
	}
	g.t.Add(g.doc(name, what, slices.Concat(d.Doc, goexpr.NonEmpty(d.Tail), goexpr.NonEmpty(narrowNote(d.Type)))))
	under := g.pkg.GoType(t.Body)
	switch {
	case t.Alias:
		g.t.Type().Id(name).Op("=").Add(g.pkg.DeclType(t.Body.Resolved().Of))
		return
	case t.PointerName:
		content := jen.Id(goexpr.PointerField).Add(under, jen.Tag(map[string]string{"xdr": describe(d.Name, t.Body, "whole")}))
		under = jen.Struct(content.Comment("// nil if absent; fields of this type hold the pointer"))
	case t.Body.Resolved().Text:
		under = jen.Index().Byte()
	}
	g.t.Type().Id(name).Add(under)
	g.methods(t)
}
