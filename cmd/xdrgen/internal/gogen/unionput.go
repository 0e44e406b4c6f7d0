package gogen

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// closed reports whether the discriminant of d takes enumerators only. Every label is
// one, so that only what no label names must be looked at.
func closed(d *ir.Decl) bool {
	u := d.Disc.Type.Underlying()
	return u.Kind == ir.Ref && !u.Ref.Open
}

// invalid is the condition that disc is no enumerator.
func invalid(disc expr) *jen.Statement { return jen.Op("!").Add(disc()).Dot("Valid").Call() }

// putUnion writes the discriminant and the arm. Where nothing stands before it, and
// some arm begins with a run, the discriminant is part of the run.
func (g *gen) putUnion(p *putter, d *ir.Decl, v place) {
	disc, at := g.field(v, d.Disc), id(p.off)
	begin := func(q *putter) { g.putDisc(q, d, disc) }
	if p.pending() || !g.armBeginsRun(d) {
		begin(p)
		p.flush()
		begin = func(*putter) {}
		at = func() *jen.Statement { return jen.Id(p.off).Op("-").Lit(4) }
	}
	// RFC 4506 §4.3: a value that is no enumerator is an error.
	refuse := func(q *putter) {
		if closed(d) {
			q.check(invalid(disc.x), disc.fail("CodeEnum", at(), g.discWord(d, disc.x), jen.Lit(0)))
		}
	}
	p.stmt(g.arms(d, disc.x, func(a *ir.Arm) []jen.Code {
		return p.block(func(q *putter) {
			if a.Default {
				refuse(q)
			}
			if begin(q); a.Field == nil {
				return
			}
			arm := g.arm(d, a, v)
			if g.byPointer(d, a) {
				q.check(v.x.dot(g.names.field[a.Field])().Op("==").Nil(), arm.fail("CodeEmpty", q.at(), jen.Lit(0), jen.Lit(1)))
			}
			q.put(a.Field.Type, arm)
		})
	}, p.block(func(q *putter) {
		refuse(q)
		q.stmt(q.fail(disc.fail("CodeUnion", at(), g.discWord(d, disc.x), jen.Lit(0))))
	})))
}

// putDisc writes the discriminant; whether it is an enumerator the arms tell.
func (g *gen) putDisc(p *putter, d *ir.Decl, disc place) {
	if closed(d) {
		p.word(jen.Uint32().Call(disc.x()))
		return
	}
	p.put(d.Disc.Type, disc)
}

// armBeginsRun reports whether the encoder of some arm of d begins with a run.
func (g *gen) armBeginsRun(d *ir.Decl) bool {
	return slices.ContainsFunc(d.Arms, func(a *ir.Arm) bool { return a.Field != nil && g.beginsRun(a.Field.Type) })
}

// beginsRun reports whether an encoder for a value of type t begins with a run.
func (g *gen) beginsRun(t *ir.Type) bool {
	if t.Kind == ir.ListHead {
		return false
	}
	if t.Kind != ir.Ref || g.steps(t) >= 0 {
		return t.Kind != ir.FixedArray || g.steps(t) >= 0
	}
	if !g.inlined(t.Ref) {
		return false
	}
	switch d := t.Ref; d.Kind {
	case ir.Typedef:
		return g.beginsRun(d.Type)
	case ir.Struct:
		return d.List == nil && len(d.Fields) > 0 && g.beginsRun(d.Fields[0].Type)
	}
	return false
}
