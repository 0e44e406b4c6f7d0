package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// getUnion reads the discriminant, empties the arm that was selected before if
// it is another, and reads the arm.
func (g *gen) getUnion(r *getter, d *ir.Decl, v place) {
	if r.check {
		g.checkArms(r, d, v, func(q *getter, a *ir.Arm) { q.get(a.Field.Type, g.field(v, a.Field)) })
		return
	}
	field, disc := g.field(v, d.Disc), g.readDisc(r, d, v)
	clears := g.arms(d, field.x, func(a *ir.Arm) []jen.Code {
		if a.Field == nil {
			return nil
		}
		z := &resetter{g: g, vars: r.vars}
		g.resetArm(z, d, a, v)
		return z.code
	}, nil)
	r.stmt(jen.If(disc.x().Op("!=").Add(field.x())).Block(clears, field.x().Op("=").Add(disc.x())))
	g.getArms(r, d, disc, func(q *getter, a *ir.Arm) {
		if g.byPointer(d, a) {
			g.newArm(q, d, a, v)
		}
		q.get(a.Field.Type, g.arm(d, a, v))
	})
}

// newArm gives the arm that is held by pointer memory. It keeps what it has, but
// where the type contains itself: there values of all shapes would leave theirs.
func (g *gen) newArm(r *getter, d *ir.Decl, a *ir.Arm, v place) {
	arm, size := g.field(v, a.Field), jen.Lit(g.memOf(a.Field.Type).size)
	if d.Recursive {
		r.fallible(arm.x(), jen.Qual(codecPath, "New").Types(g.goType(a.Field.Type)).Call(jen.Id("d"), size, jen.Id(r.off)), arm)
		return
	}
	r.fallible(nil, jen.Qual(codecPath, "Arm").Call(jen.Id("d"), arm.addr(), size, jen.Id(r.off)), arm)
}

// checkArms reads the discriminant, and does with the arm what arm says.
func (g *gen) checkArms(r *getter, d *ir.Decl, v place, arm func(q *getter, a *ir.Arm)) {
	g.getArms(r, d, g.readDisc(r, d, v), arm)
}

// getArms does with the arm that disc, the variable with the discriminant, selects
// what arm says, and refuses a discriminant without one.
func (g *gen) getArms(r *getter, d *ir.Decl, disc place, arm func(q *getter, a *ir.Arm)) {
	at := func() *jen.Statement { return jen.Id(r.off).Op("-").Lit(4) }
	var refuse []jen.Code
	if closed(d) {
		refuse = append(refuse, r.refuse(invalid(disc.x), "CodeEnum", disc.fail("CodeEnum", at(), g.discWord(d, disc.x), jen.Lit(0))))
	}
	r.stmt(g.arms(d, disc.x, func(a *ir.Arm) []jen.Code {
		return r.block(func(q *getter) {
			if a.Default {
				q.stmt(refuse...)
			}
			if a.Field != nil {
				arm(q, a)
			}
		})
	}, append(refuse, r.fail(disc.fail("CodeUnion", at(), g.discWord(d, disc.x), jen.Lit(0))))))
}

// readDisc reads the discriminant into a variable, and returns that. Whether it is
// an enumerator getArms tells.
func (g *gen) readDisc(r *getter, d *ir.Decl, v place) place {
	disc, kind := g.field(v, d.Disc), r.vars.name("kind")
	disc.x = id(kind)
	if closed(d) {
		r.take(4, disc, func(w window) jen.Code { return jen.Id(kind).Op(":=").Add(g.goType(d.Disc.Type)).Call(w.uint32()) })
		r.flush()
		return disc
	}
	r.stmt(jen.Var().Id(kind).Add(g.goType(d.Disc.Type)))
	check := r.check
	r.check = false
	r.get(d.Disc.Type, disc)
	r.check = check
	r.flush()
	return disc
}
