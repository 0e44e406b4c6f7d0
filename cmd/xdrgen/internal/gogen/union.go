package gogen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// union writes a discriminated union (RFC 4506 §4.15): the discriminant and
// all arms as fields, of which the one selected counts. Large arms of unions
// that occur many times in a message are pointers (layout.go).
func (g *gen) union(d *ir.Decl) {
	name := g.names.decl[d]
	disc := g.names.field[d.Disc]
	g.t.Add(g.doc(name, "union "+d.Name+", with the arm that "+disc+" selects", d.Doc))
	fields := []jen.Code{g.fieldDecl(d.Disc, g.goType(d.Disc.Type), "selects the arm")}
	for _, a := range d.Arms {
		if a.Field == nil {
			continue
		}
		t := g.goType(a.Field.Type)
		if g.byPointer(d, a) {
			t = jen.Op("*").Add(t)
		}
		fields = append(fields, g.fieldDecl(a.Field, t, "if "+disc+" is "+g.labelText(d, a)))
	}
	g.t.Type().Id(name).Struct(fields...)
	g.methods(d, codec{
		put:   func(p *putter, v place) { g.putUnion(p, d, v) },
		get:   func(r *getter, v place) { g.getUnion(r, d, v) },
		size:  func(s *sizer, v place) { g.sizeUnion(s, d, v) },
		reset: func(z *resetter, v place) { g.resetUnion(z, d, v) },
	})
}

func (g *gen) labelText(d *ir.Decl, a *ir.Arm) string {
	var names []string
	for _, l := range a.Labels {
		names = append(names, fmt.Sprintf("%#v", g.label(d, l)))
	}
	if a.Default {
		names = append(names, "anything else")
	}
	return strings.Join(names, " or ")
}

// label is the Go expression for a case label.
func (g *gen) label(d *ir.Decl, l ir.Label) *jen.Statement {
	u := d.Disc.Type.Underlying()
	switch {
	case l.Member != nil && u.Kind == ir.Ref:
		if u.Ref.Import != nil {
			return jen.Qual(u.Ref.Import.Package, g.names.member[l.Member])
		}
		return jen.Id(g.names.member[l.Member])
	case u.Kind == ir.Bool:
		return jen.Lit(l.Value.Abs != 0)
	case l.Const != nil:
		return g.declType(l.Const)
	case l.Value.Neg:
		return jen.Op("-").Lit(int(l.Value.Abs))
	}
	return jen.Lit(int(l.Value.Abs))
}

// arms writes a switch over the discriminant: body for each arm, other where no
// arm is selected.
func (g *gen) arms(d *ir.Decl, disc expr, body func(a *ir.Arm) []jen.Code, other []jen.Code) jen.Code {
	if d.Disc.Type.Underlying().Kind == ir.Bool && oneLabelEach(d) {
		return boolArms(d, disc, body, other)
	}
	var cases []jen.Code
	hasDefault := false
	for _, a := range d.Arms {
		code := body(a)
		if a.Default {
			hasDefault = true
			cases = append(cases, jen.Default().Block(code...))
			continue
		}
		var labels []jen.Code
		for _, l := range a.Labels {
			labels = append(labels, g.label(d, l))
		}
		cases = append(cases, jen.Case(labels...).Block(code...))
	}
	both := d.Disc.Type.Underlying().Kind == ir.Bool && len(cases) == 2
	if !hasDefault && !both && other != nil {
		cases = append(cases, jen.Default().Block(other...))
	}
	return jen.Switch(disc()).Block(cases...)
}

// oneLabelEach reports whether no arm of d has two labels.
func oneLabelEach(d *ir.Decl) bool {
	return !slices.ContainsFunc(d.Arms, func(a *ir.Arm) bool { return len(a.Labels) > 1 })
}

// dead reports whether a is the default arm of a union over a bool, with arms for
// TRUE and for FALSE: no code is written for it.
func dead(d *ir.Decl, a *ir.Arm) bool {
	return a.Default && len(d.Arms) == 3 && d.Disc.Type.Underlying().Kind == ir.Bool
}

// boolArms is arms for a union over a bool: if and else.
func boolArms(d *ir.Decl, disc expr, body func(a *ir.Arm) []jen.Code, other []jen.Code) jen.Code {
	var code [2][]jen.Code // of FALSE and of TRUE
	var has [2]bool
	rest := other
	for _, a := range d.Arms {
		switch {
		case dead(d, a):
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

// arm is the place of arm a of the union at v.
func (g *gen) arm(d *ir.Decl, a *ir.Arm, v place) place {
	q := g.field(v, a.Field)
	if g.byPointer(d, a) && !isStructLike(a.Field.Type) {
		x := q.x
		q.ptr = x
		q.x = func() *jen.Statement { return jen.Parens(jen.Op("*").Add(x())) }
	}
	return q
}

// discWord is the discriminant as the number that an error shows.
func (g *gen) discWord(d *ir.Decl, disc expr) *jen.Statement {
	if t := d.Disc.Type; t.Underlying().Kind == ir.Bool {
		x := disc()
		if resolve(t).Kind != ir.Bool { // a type of its own
			x = jen.Bool().Call(x)
		}
		return jen.Uint64().Call(jen.Qual(codecPath, "Word").Call(x))
	}
	return jen.Uint64().Call(jen.Uint32().Call(disc()))
}

func (g *gen) sizeUnion(s *sizer, d *ir.Decl, v place) {
	disc := g.field(v, d.Disc)
	s.size(d.Disc.Type, disc)
	some := false
	sw := g.arms(d, disc.x, func(a *ir.Arm) []jen.Code {
		if a.Field == nil {
			return nil
		}
		q := &sizer{g: g, vars: s.vars, sum: s.sum}
		if g.byPointer(d, a) {
			ptr := v.x.dot(g.names.field[a.Field])
			q.branch(ptr().Op("!=").Nil(), func(in *sizer) { in.size(a.Field.Type, g.arm(d, a, v)) })
		} else {
			q.size(a.Field.Type, g.arm(d, a, v))
			q.flush()
		}
		some = true
		return q.code
	}, nil)
	if some {
		s.stmt(sw)
	}
}

func (g *gen) resetUnion(z *resetter, d *ir.Decl, v place) {
	disc := g.field(v, d.Disc)
	z.stmt(g.arms(d, disc.x, func(a *ir.Arm) []jen.Code {
		if a.Field == nil {
			return nil
		}
		q := &resetter{g: g, vars: z.vars}
		g.resetArm(q, d, a, v)
		return q.code
	}, nil))
	z.reset(d.Disc.Type, disc.x)
}

// resetArm empties arm a. One that is held by pointer keeps its memory (newArm).
func (g *gen) resetArm(z *resetter, d *ir.Decl, a *ir.Arm, v place) {
	if !g.byPointer(d, a) {
		z.reset(a.Field.Type, g.arm(d, a, v).x)
		return
	}
	ptr := v.x.dot(g.names.field[a.Field])
	if d.Recursive {
		z.stmt(ptr().Op("=").Nil())
		return
	}
	q := &resetter{g: g, vars: z.vars}
	q.reset(a.Field.Type, g.arm(d, a, v).x)
	z.stmt(jen.If(ptr().Op("!=").Nil()).Block(q.code...))
}
