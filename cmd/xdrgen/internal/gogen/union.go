package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// union writes the type of a discriminated union (RFC 4506 §4.15): the discriminant and all arms as
// fields. Only the selected arm counts. Large arms of unions that occur many times in a message are
// pointers (ADR 0002).
func (g *gen) union(t *plan.Type) {
	d := t.Decl
	name := g.pkg.Names.Decl(d)
	disc := g.pkg.Names.Field(d.Disc)
	g.t.Add(g.doc(name, "union "+d.Name+", with the arm that "+disc+" selects", d.Doc))
	fields := []jen.Code{g.fieldDecl(t.Disc, g.pkg.GoType(t.Disc.Step), discTag(t), "selects the arm")}
	for _, a := range t.Arms {
		if a.Field == nil {
			continue
		}
		typ := g.pkg.GoType(a.Field.Step)
		if a.Pointer {
			typ = jen.Op("*").Add(typ)
		}
		fields = append(fields, g.fieldDecl(a.Field, typ, armTag(t, a), "if "+disc+" is "+g.pkg.LabelText(t, a)))
	}
	g.t.Type().Id(name).Struct(fields...)
	g.methods(t)
}
