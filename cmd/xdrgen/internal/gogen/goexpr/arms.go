package goexpr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// LabelText is the labels of arm a in a comment.
func (p *Package) LabelText(t *plan.Type, a *plan.Arm) string {
	var names []string
	for _, l := range a.Labels {
		names = append(names, fmt.Sprintf("%#v", p.Label(t, l)))
	}
	if a.Default {
		names = append(names, "anything else")
	}
	return strings.Join(names, " or ")
}

// Label is the Go expression for a case label.
func (p *Package) Label(t *plan.Type, l ir.Label) *jen.Statement {
	u := t.Disc.Step.Under()
	switch {
	case l.Member != nil && u.Op == plan.Enum:
		if imp := u.Of.Decl.Import; imp != nil {
			return jen.Qual(imp.Package, p.Names.Member(l.Member))
		}
		return jen.Id(p.Names.Member(l.Member))
	case u.Op == plan.Bool:
		return jen.Lit(l.Value.Abs != 0)
	case l.Const != nil:
		return p.Qualified(l.Const)
	case l.Value.Neg:
		return jen.Op("-").Lit(int(l.Value.Abs))
	}
	return jen.Lit(int(l.Value.Abs))
}

// Arms writes a switch over the discriminant: body for each arm, other if no arm is selected.
func (p *Package) Arms(t *plan.Type, disc Expr, body func(a *plan.Arm) []jen.Code, other []jen.Code) jen.Code {
	isBool := t.Disc.Step.Under().Op == plan.Bool
	if isBool && OneLabelEach(t) {
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
			labels = append(labels, p.Label(t, l))
		}
		cases = append(cases, jen.Case(labels...).Block(code...))
	}
	if !t.HasDefault() && !(isBool && len(cases) == 2) && other != nil {
		cases = append(cases, jen.Default().Block(other...))
	}
	return jen.Switch(disc()).Block(cases...)
}

// OneLabelEach reports whether no arm of t has two labels.
func OneLabelEach(t *plan.Type) bool {
	return !slices.ContainsFunc(t.Arms, func(a *plan.Arm) bool { return len(a.Labels) > 1 })
}

// boolArms is arms for a union over a bool: if and else.
func boolArms(t *plan.Type, disc Expr, body func(a *plan.Arm) []jen.Code, other []jen.Code) jen.Code {
	var code [2][]jen.Code // of FALSE and of TRUE
	var has [2]bool
	rest := other
	for _, a := range t.Arms {
		switch {
		case a.Dead:
		case a.Default:
			rest = body(a)
		default:
			i := a.Labels[0].Word()
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
