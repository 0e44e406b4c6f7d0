package goview

import (
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes code that passes values of an unchecked message, for scans. It only detects
// errors; CheckXDR is run afterwards to describe them. This keeps the code a tenth of the size.

// pass writes the code that passes a value of step s.
func (p *passer) pass(s *plan.Step) {
	switch {
	case s.Unchecked && s.Size.Min <= largeRun:
		p.add(s.Min())
		return
	case s.PassCall:
		p.call(s.Of.Methods())
		return
	}
	switch s.Op {
	case plan.Bool:
		p.add(4, p.unless(p.uint32().Op(">").Lit(1)))
	case plan.Enum:
		p.add(4, p.unless(jen.Op("!").Add(p.pkg.DeclType(s.Of)).Call(p.uint32()).Dot("Valid").Call()))
	case plan.Bytes:
		p.bytes(s.Len)
	case plan.Opaque:
		p.move(jen.Qual(goexpr.Codec, "PassOpaque").Call(jen.Id("b"), jen.Id("off"), bound32(s)))
	case plan.Loop:
		if s.InRun {
			for range s.Len {
				p.pass(s.Elem)
			}
			return
		}
		p.end()
		p.loop(jen.Lit(s.Len), func(q *passer) { q.pass(s.Elem) })
	case plan.Array:
		p.elements(s, p.count(s))
	case plan.Optional:
		more := p.presence()
		p.branch(jen.Id(more).Op("!=").Lit(0), func(q *passer) { q.pass(s.Elem) })
	case plan.List:
		p.list(s)
	case plan.Typedef:
		p.pass(s.Elem)
	case plan.Struct:
		for _, f := range s.Of.Fields {
			p.pass(f.Step)
		}
	case plan.Union:
		p.arms(s.Of, func(q *passer, a *plan.Arm) {
			if a.Field != nil {
				q.pass(a.Field.Step)
			}
		})
	}
}

// bound32 is the largest count of step s.
func bound32(s *plan.Step) jen.Code { return goexpr.Literal(min(s.Max, math.MaxUint32)) }

// presence passes a presence word and returns the variable that holds it.
func (p *passer) presence() string {
	more := p.word("more")
	p.flush()
	p.stmt(p.unless(jen.Id(more).Op(">").Lit(1)))
	return more
}

// branch writes code that runs if the condition holds.
func (p *passer) branch(cond jen.Code, f func(q *passer)) {
	if code := p.block(f); len(code) > 0 {
		p.stmt(jen.If(cond).Block(code...))
	}
}

// loop writes a loop of n rounds.
func (p *passer) loop(n jen.Code, f func(q *passer)) {
	if code := p.block(f); len(code) > 0 {
		p.stmt(jen.For(jen.Range().Add(n)).Block(code...))
	}
}

// count passes the count of an array and returns the variable that holds it. It fails if there
// cannot be as many elements.
func (p *passer) count(s *plan.Step) string {
	n := p.word("n")
	p.flush()
	wide := func() *jen.Statement { return jen.Uint64().Call(jen.Id(n)) }
	if s.Bounded && s.Max < math.MaxUint32 {
		p.stmt(p.unless(jen.Id(n).Op(">").Add(goexpr.Literal(s.Max))))
	}
	if least := s.Elem.Min(); least > 0 {
		p.stmt(p.unless(wide().Op("*").Lit(least).Op(">").Uint64().Call(jen.Len(jen.Id("b")).Op("-").Id("off"))))
	} else {
		p.stmt(p.unless(wide().Op(">").Uint64().Call(jen.Qual(goexpr.Codec, "MaxElements").Call(jen.New(jen.Qual(goexpr.XDR, "Checker"))))))
	}
	return n
}

// elements passes the n elements of an array, for which the message is long enough.
func (p *passer) elements(s *plan.Step, n string) {
	count := jen.Int().Call(jen.Id(n))
	if s.Elem.Unchecked {
		if size := s.Elem.Min(); size > 0 {
			p.stmt(jen.Id("off").Op("+=").Add(count).Op("*").Lit(size))
		}
		return
	}
	p.loop(count, func(q *passer) {
		q.known = s.Elem.InRun
		q.pass(s.Elem)
	})
}

// list passes a linked list.
func (p *passer) list(s *plan.Step) {
	more := p.lead(s)
	p.stmt(jen.For(jen.Id(more).Op("==").Lit(1)).Block(p.block(func(q *passer) {
		q.pass(s.Elem)
		q.add(4, jen.Id(more).Op("=").Add(q.uint32()))
	})...))
	p.stmt(p.unless(jen.Id(more).Op("!=").Lit(0)))
}

// lead makes the variable that says whether another element of a list follows.
func (p *passer) lead(s *plan.Step) string {
	if !s.Head {
		more := p.word("more")
		p.flush()
		return more
	}
	p.end()
	more := p.fn.Name("more")
	p.stmt(jen.Id(more).Op(":=").Uint32().Call(jen.Lit(1)))
	return more
}

// call passes a value by its own check-only reader.
func (p *passer) call(t *plan.Type) {
	p.move(jen.Qual(goexpr.Codec, "Passed").Call(
		jen.Parens(jen.Op("*").Add(p.pkg.DeclType(t))).Call(jen.Nil()).Dot("SkipXDR").Call(
			jen.New(jen.Qual(goexpr.XDR, "Checker")), jen.Id("b"), jen.Id("off"))))
}

// arms passes the discriminant of union t, and its arm by calling arm.
func (p *passer) arms(t *plan.Type, arm func(q *passer, a *plan.Arm)) {
	*p.cost++
	kind := p.fn.Name("kind")
	var look []jen.Code
	value := p.pkg.GoType(t.Disc.Step).Call(p.uint32())
	switch {
	case t.Disc.Step.Under().Op == plan.Bool:
		look = append(look, p.unless(p.uint32().Op(">").Lit(1)))
		value = p.uint32().Op("==").Lit(1)
	case t.Closed() && t.HasDefault():
		look = append(look, p.unless(jen.Op("!").Id(kind).Dot("Valid").Call()))
	}
	p.add(4, append([]jen.Code{jen.Id(kind).Op(":=").Add(value)}, look...)...)
	p.flush()
	p.stmt(p.pkg.Arms(t, goexpr.ID(kind), func(a *plan.Arm) []jen.Code {
		return p.block(func(q *passer) { arm(q, a) })
	}, p.fail()))
}
