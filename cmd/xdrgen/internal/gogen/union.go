package gogen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// union writes the type of a discriminated union (RFC 4506 §4.15): the discriminant and all arms as
// fields, of which the selected one counts. Large arms of unions that occur many times in a message
// are pointers (ADR 0002).
func (g *gen) union(t *plan.Type) {
	d := t.Decl
	name := g.names.Decl(d)
	disc := g.names.Field(d.Disc)
	g.t.Add(g.doc(name, "union "+d.Name+", with the arm that "+disc+" selects", d.Doc))
	fields := []jen.Code{g.fieldDecl(t.Disc, g.goType(t.Disc.Step), discTag(t), "selects the arm")}
	for _, a := range t.Arms {
		if a.Field == nil {
			continue
		}
		typ := g.goType(a.Field.Step)
		if a.Pointer {
			typ = jen.Op("*").Add(typ)
		}
		fields = append(fields, g.fieldDecl(a.Field, typ, armTag(t, a), "if "+disc+" is "+g.labelText(t, a)))
	}
	g.t.Type().Id(name).Struct(fields...)
	g.methods(t)
}

func (g *gen) labelText(t *plan.Type, a *plan.Arm) string {
	var names []string
	for _, l := range a.Labels {
		names = append(names, fmt.Sprintf("%#v", g.label(t, l)))
	}
	if a.Default {
		names = append(names, "anything else")
	}
	return strings.Join(names, " or ")
}

// label is the Go expression for a case label.
func (g *gen) label(t *plan.Type, l ir.Label) *jen.Statement {
	u := t.Disc.Step.Under()
	switch {
	case l.Member != nil && u.Op == plan.Enum:
		if imp := u.Of.Decl.Import; imp != nil {
			return jen.Qual(imp.Package, g.names.Member(l.Member))
		}
		return jen.Id(g.names.Member(l.Member))
	case u.Op == plan.Bool:
		return jen.Lit(l.Value.Abs != 0)
	case l.Const != nil:
		return g.qualified(l.Const)
	case l.Value.Neg:
		return jen.Op("-").Lit(int(l.Value.Abs))
	}
	return jen.Lit(int(l.Value.Abs))
}

// arms writes a switch over the discriminant: body for each arm, other if no arm is selected.
func (g *gen) arms(t *plan.Type, disc expr, body func(a *plan.Arm) []jen.Code, other []jen.Code) jen.Code {
	isBool := t.Disc.Step.Under().Op == plan.Bool
	if isBool && oneLabelEach(t) {
		return boolArms(t, disc, body, other)
	}
	var cases []jen.Code
	for _, a := range t.Arms {
		code := body(a)
		if a.Default {
			cases = append(cases, jen.Default().Block(code...))
			continue
		}
		var labels []jen.Code
		for _, l := range a.Labels {
			labels = append(labels, g.label(t, l))
		}
		cases = append(cases, jen.Case(labels...).Block(code...))
	}
	if !t.HasDefault() && !(isBool && len(cases) == 2) && other != nil {
		cases = append(cases, jen.Default().Block(other...))
	}
	return jen.Switch(disc()).Block(cases...)
}

// oneLabelEach reports whether no arm of t has two labels.
func oneLabelEach(t *plan.Type) bool {
	return !slices.ContainsFunc(t.Arms, func(a *plan.Arm) bool { return len(a.Labels) > 1 })
}

// boolArms is arms for a union over a bool: if and else.
func boolArms(t *plan.Type, disc expr, body func(a *plan.Arm) []jen.Code, other []jen.Code) jen.Code {
	var code [2][]jen.Code // of FALSE and of TRUE
	var has [2]bool
	rest := other
	for _, a := range t.Arms {
		switch {
		case a.Dead:
		case a.Default:
			rest = body(a)
		default:
			i := labelWord(a.Labels[0])
			code[i], has[i] = body(a), true
		}
	}
	for i := range code {
		if !has[i] {
			code[i] = rest
		}
	}
	switch {
	case len(code[0]) == 0 && len(code[1]) == 0:
		return jen.Id("_").Op("=").Add(disc()) // all void
	case len(code[1]) == 0:
		return jen.If(jen.Op("!").Add(disc())).Block(code[0]...)
	case len(code[0]) == 0:
		return jen.If(disc()).Block(code[1]...)
	}
	return jen.If(disc()).Block(code[1]...).Else().Block(code[0]...)
}

// arm is the value of arm a of the union v.
func (g *gen) arm(a *plan.Arm, v value) value {
	q := g.field(v, a.Field)
	if a.Pointer && !a.Field.Step.Selectors() {
		return q.deref()
	}
	return q
}

// discWord is the discriminant as the number that an error shows.
func (g *gen) discWord(t *plan.Type, disc expr) *jen.Statement {
	if s := t.Disc.Step; s.Under().Op == plan.Bool {
		x := disc()
		if s.Resolved().Op != plan.Bool { // a type of its own
			x = jen.Bool().Call(x)
		}
		return jen.Uint64().Call(jen.Qual(codecPath, "Word").Call(x))
	}
	return jen.Uint64().Call(jen.Uint32().Call(disc()))
}

// invalid is the condition that an enumerator is none.
func invalid(x expr) *jen.Statement { return jen.Op("!").Add(x()).Dot("Valid").Call() }
