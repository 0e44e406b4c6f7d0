package gocodec

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes the encoders of unions, and the part of reader for them. If the discriminant
// takes enumerators only (RFC 4506 §4.3), only the values without a label are checked: each label
// is an enumerator.

// union writes the discriminant and the arm. If nothing is pending, and some arm begins with a run,
// the discriminant is part of the run.
func (p *putter) union(t *plan.Type, v value) {
	disc, at := v.field(p.pkg, t.Disc), goexpr.ID(p.off)
	if p.isSmall(disc) {
		p.compactUnion(t, v)
		return
	}
	begin := func(q *putter) { q.disc(t, disc) }
	if p.pending() || !t.RunArm {
		begin(p)
		p.flush()
		begin = func(*putter) {}
		at = func() *jen.Statement { return jen.Id(p.off).Op("-").Lit(4) }
	}
	refuse := func(q *putter) {
		if t.Closed() {
			q.check(invalid(disc.x), disc.fail("CodeEnum", at(), discWord(t, disc.x), jen.Lit(0)))
		}
	}
	p.stmt(p.pkg.Arms(t, disc.x, func(a *plan.Arm) []jen.Code {
		return p.block(func(q *putter) {
			if a.Default {
				refuse(q)
			}
			if begin(q); a.Field == nil {
				return
			}
			q.putArm(a, v)
		})
	}, p.block(func(q *putter) {
		refuse(q)
		q.stmt(q.fail(disc.fail("CodeUnion", at(), discWord(t, disc.x), jen.Lit(0))))
	})))
}

// compactUnion writes the discriminant and the arm as parts. PutEnum checks the discriminant.
func (p *putter) compactUnion(t *plan.Type, v value) {
	disc := v.field(p.pkg, t.Disc)
	if t.Closed() {
		p.part(p.runtime("PutEnum", disc.x()), disc)
	} else {
		p.put(t.Disc.Step, disc)
		p.flush()
	}
	chained := t.HasDefault()
	for _, a := range t.Arms {
		chained = chained && (a.Field == nil || !a.Pointer && (a.Field.Step.Call || a.Field.Step.Op == plan.Opaque))
	}
	if chained {
		p.code = append(p.code, p.parts.link()...)
	} else {
		p.stmt()
	}
	ended := true // all arms end the function
	p.code = append(p.code, p.pkg.Arms(t, disc.x, func(a *plan.Arm) []jen.Code {
		q := p.sub(p.buf, p.off)
		q.parts.long = chained
		if a.Field != nil {
			q.putArm(a, v)
		}
		switch q.flush(); {
		case p.tail && q.parts.call != nil:
			q.finish(true)
			return q.code
		case chained:
			q.code = append(q.code, q.parts.link()...)
		default:
			q.stmt()
		}
		ended = false
		return q.code
	}, []jen.Code{p.fail(disc.fail("CodeUnion", jen.Id(p.off).Op("-").Lit(4), discWord(t, disc.x), jen.Lit(0)))}))
	p.ended = p.tail && endsSwitch(t, ended)
	p.parts.long = chained && !p.ended
}

// endsSwitch reports whether no code follows the switch over the arms of t, if all arms end the
// function.
func endsSwitch(t *plan.Type, ended bool) bool {
	return ended && (t.Disc.Step.Under().Op != plan.Bool || goexpr.OneLabelEach(t))
}

// putArm writes arm a of the union v.
func (p *putter) putArm(a *plan.Arm, v value) {
	arm := v.arm(p.pkg, a)
	if a.Pointer {
		p.check(v.field(p.pkg, a.Field).x().Op("==").Nil(), arm.fail("CodeEmpty", p.at(), jen.Lit(0), jen.Lit(1)))
	}
	p.put(a.Field.Step, arm)
}

// disc writes the discriminant. The arms check whether it is an enumerator.
func (p *putter) disc(t *plan.Type, disc value) {
	if t.Closed() {
		p.word(jen.Uint32().Call(disc.x()))
		return
	}
	p.put(t.Disc.Step, disc)
}

// disc reads the discriminant into a variable, and returns the variable. readArms checks whether it
// is an enumerator.
func (r *reader) disc(t *plan.Type, v value) value {
	kind := r.fn.Name("kind")
	disc := v.field(r.pkg, t.Disc).with(goexpr.ID(kind))
	if r.isSmall(disc) {
		r.flush()
		if r.keeps() {
			r.smallDisc(t, v, disc)
			return disc
		}
	}
	if t.Closed() {
		r.add(4, disc, func(w window) jen.Code { return jen.Id(kind).Op(":=").Add(r.pkg.GoType(t.Disc.Step)).Call(w.uint32()) })
	} else {
		r.stmt(jen.Var().Id(kind).Add(r.pkg.GoType(t.Disc.Step)))
		r.scalar(t.Disc.Step, disc)
	}
	r.flush()
	return disc
}

// smallDisc reads the discriminant of v, a union of a compact type, into disc. If all arms are
// calls that end the function, nothing looks at the error before: after an error, disc has v's
// discriminant, and the arm is not read.
func (r *reader) smallDisc(t *plan.Type, v, disc value) {
	if !r.tail || !callsOnly(t) {
		r.stmt(jen.Var().Add(disc.x(), r.pkg.GoType(t.Disc.Step)))
		r.scalar(t.Disc.Step, disc)
		r.flush()
		r.stmt()
		return
	}
	r.stmt(disc.x().Op(":=").Add(v.field(r.pkg, t.Disc).x()))
	r.scalar(t.Disc.Step, disc)
	r.flush()
	r.code = append(r.code, r.parts.link()...)
}

// callsOnly reports whether each value of t's discriminant selects an arm that is a call.
func callsOnly(t *plan.Type) bool {
	return t.HasDefault() && t.Disc.Step.Under().Op != plan.Bool && !slices.ContainsFunc(t.Arms, func(a *plan.Arm) bool { return a.Field == nil || a.Pointer || !a.Field.Step.Call })
}

// readArms reads the arm that the variable disc selects by calling arm, and refuses a discriminant
// without an arm.
func (r *reader) readArms(t *plan.Type, disc value, arm func(q *reader, a *plan.Arm)) {
	at := func() *jen.Statement { return jen.Id(r.off).Op("-").Lit(4) }
	var refuse []jen.Code
	if t.Closed() && !(r.keeps() && r.isSmall(disc)) { // GetEnum has checked it
		refuse = append(refuse, r.refuse(invalid(disc.x), "CodeEnum", disc.fail("CodeEnum", at(), discWord(t, disc.x), jen.Lit(0))))
	}
	ended := true // all arms end the function
	r.code = append(r.code, r.pkg.Arms(t, disc.x, func(a *plan.Arm) []jen.Code {
		q := r.sub()
		q.parts.long = r.parts.long
		if a.Default && len(refuse) > 0 {
			q.stmt(refuse...)
		}
		if a.Field != nil {
			arm(q, a)
		}
		ended = q.finish(r.tail) && ended
		return q.code
	}, append(refuse, r.fail(disc.fail("CodeUnion", at(), discWord(t, disc.x), jen.Lit(0))))))
	r.ended = r.tail && endsSwitch(t, ended)
	r.parts.long = false
}

// discWord is the discriminant as the number that an error shows.
func discWord(t *plan.Type, disc goexpr.Expr) *jen.Statement {
	if s := t.Disc.Step; s.Under().Op == plan.Bool {
		x := disc()
		if s.Resolved().Op != plan.Bool { // a separate type
			x = jen.Bool().Call(x)
		}
		return jen.Uint64().Call(jen.Qual(goexpr.Codec, "Word").Call(x))
	}
	return jen.Uint64().Call(jen.Uint32().Call(disc()))
}

// invalid is the condition that x is not a value of its enum.
func invalid(x goexpr.Expr) *jen.Statement { return jen.Op("!").Add(x()).Dot("Valid").Call() }
