package gogen

import (
	"math"
	"slices"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// This file writes code that passes values of an unchecked message, for scans. It
// refuses what a check-only reader refuses, but does not say why: that is asked of
// CheckXDR when it matters, so there is a tenth of the code.

// passer writes the code, with fixed-size items gathered in runs as in getter. The
// bytes are b and the offset is off.
type passer struct {
	g     *gen
	vars  *local
	fail  func() []jen.Code // leaves the function: something is wrong
	code  []jen.Code
	run   []jen.Code // looks at the run through w
	n     int        // bytes of the run
	known bool       // the bytes of the run are known to be there
	w     bool       // w is declared
	loose bool       // off is negative where something was wrong
	cost  *int       // runs, calls and branches of the function
}

func (p *passer) block(f func(q *passer)) []jen.Code {
	q := &passer{g: p.g, vars: p.vars, fail: p.fail, cost: p.cost}
	f(q)
	q.end()
	return q.code
}

func (p *passer) stmt(c ...jen.Code) { p.code = append(p.code, c...) }

// take adds n bytes to the run, which statements look at through w.
func (p *passer) take(n int, look ...jen.Code) {
	if p.n > 0 && p.n+n > largeRun {
		p.flush()
	}
	p.run = append(p.run, look...)
	p.n += n
}

// largeRun is up to how many bytes are passed by one length check.
const largeRun = 1 << 20

// flush writes the run.
func (p *passer) flush() {
	if p.n == 0 {
		return
	}
	*p.cost++
	if !p.known {
		p.stmt(p.unless(lacks("b", "off", jen.Lit(p.n))))
		p.loose = false
	}
	if len(p.run) > 0 {
		p.stmt(slideWindow("b", "off", p.n, &p.w))
		p.stmt(p.run...)
	}
	p.stmt(jen.Id("off").Op("+=").Lit(p.n))
	p.run, p.n, p.known = nil, 0, false
}

// end writes what is left of the run, after which off is known to be right.
func (p *passer) end() {
	p.flush()
	if p.loose {
		p.stmt(p.unless(jen.Id("off").Op("<").Lit(0)))
		p.loose = false
	}
}

// unless fails where the condition holds.
func (p *passer) unless(wrong jen.Code) *jen.Statement { return jen.If(wrong).Block(p.fail()...) }

// word adds a word to the run and returns the variable that holds it.
func (p *passer) word(base string) string {
	v := p.vars.name(base)
	p.take(4, jen.Id(v).Op(":=").Add(p.uint32()))
	return v
}

// uint32 is the word that the run ends before.
func (p *passer) uint32() *jen.Statement {
	return bigEndian().Dot("Uint32").Call(ofWindow(p.n, p.n+4))
}

// pass writes the code that passes a value of type t.
func (p *passer) pass(t *ir.Type) {
	if p.g.pure(t) && t.Size.Min <= largeRun {
		p.take(fixedLen(t))
		return
	}
	switch t.Kind {
	case ir.Bool:
		p.take(4, p.unless(p.uint32().Op(">").Lit(1)))
	case ir.FixedOpaque:
		p.bytes(int(t.Len))
	case ir.Opaque, ir.String:
		p.move(jen.Qual(codecPath, "PassOpaque").Call(jen.Id("b"), jen.Id("off"), bound32(t)))
	case ir.FixedArray:
		if p.g.steps(t) >= 0 {
			for range t.Len {
				p.pass(t.Elem)
			}
			return
		}
		p.end()
		p.loop(jen.Lit(int(t.Len)), func(q *passer) { q.pass(t.Elem) })
	case ir.Array:
		n := p.count(t)
		p.elements(t.Elem, n)
	case ir.Optional:
		more := p.presence()
		p.branch(jen.Id(more).Op("!=").Lit(0), func(q *passer) { q.pass(t.Elem) })
	case ir.ListOf, ir.ListHead:
		p.list(t)
	case ir.Ref:
		p.ref(t)
	}
}

// bound32 is the most that a count of type t may be.
func bound32(t *ir.Type) jen.Code {
	if t.Bounded {
		return literal(min(t.Max, math.MaxUint32))
	}
	return literal(math.MaxUint32)
}

// literal is a number in emitted code. It need not be an int here, where the compiler may have 32 bits.
func literal(n uint64) jen.Code { return jen.Id(strconv.FormatUint(n, 10)) }

// move makes off what a call returns, which is negative where something is wrong.
func (p *passer) move(call jen.Code) {
	p.end()
	*p.cost++
	p.stmt(jen.Id("off").Op("=").Add(call))
	p.loose = true
}

// bytes adds opaque data of fixed length to the run.
func (p *passer) bytes(n int) {
	pad := (n + 3) &^ 3
	if pad == n {
		p.take(n)
		return
	}
	if p.n > 0 && p.n+pad > largeRun {
		p.flush()
	}
	p.take(pad, p.unless(jen.Op("!").Qual(codecPath, "ZeroPad").Call(jen.Id("w"), jen.Lit(p.n), jen.Lit(n))))
}

// presence passes a presence word and returns the variable that holds it.
func (p *passer) presence() string {
	more := p.word("more")
	p.flush()
	p.stmt(p.unless(jen.Id(more).Op(">").Lit(1)))
	return more
}

// branch writes code that runs where the condition holds.
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

// count passes the count of an array and returns the variable that holds it. So
// many elements can be there.
func (p *passer) count(t *ir.Type) string {
	n := p.word("n")
	p.flush()
	wide := func() *jen.Statement { return jen.Uint64().Call(jen.Id(n)) }
	if t.Bounded && t.Max < math.MaxUint32 {
		p.stmt(p.unless(jen.Id(n).Op(">").Add(literal(t.Max))))
	}
	if least := int(t.Elem.Size.Min); least > 0 {
		p.stmt(p.unless(wide().Op("*").Lit(least).Op(">").Uint64().Call(jen.Len(jen.Id("b")).Op("-").Id("off"))))
	} else {
		p.stmt(p.unless(wide().Op(">").Uint64().Call(jen.Qual(codecPath, "MaxElements").Call(jen.New(jen.Qual(xdrPath, "Checker"))))))
	}
	return n
}

// elements passes n elements, which the message is long enough for.
func (p *passer) elements(elem *ir.Type, n string) {
	count := jen.Int().Call(jen.Id(n))
	if p.g.pure(elem) {
		if size := fixedLen(elem); size > 0 {
			p.stmt(jen.Id("off").Op("+=").Add(count).Op("*").Lit(size))
		}
		return
	}
	p.loop(count, func(q *passer) {
		q.known = elem.Size.Fixed() && q.g.steps(elem) >= 0
		q.pass(elem)
	})
}

// list passes a linked list.
func (p *passer) list(t *ir.Type) {
	more := p.lead(t)
	p.stmt(jen.For(jen.Id(more).Op("==").Lit(1)).Block(p.block(func(q *passer) {
		q.node(t.Ref)
		q.take(4, jen.Id(more).Op("=").Add(q.uint32()))
	})...))
	p.stmt(p.unless(jen.Id(more).Op("!=").Lit(0)))
}

// lead makes the variable that says whether another element of a list follows.
func (p *passer) lead(t *ir.Type) string {
	if t.Kind == ir.ListOf {
		more := p.word("more")
		p.flush()
		return more
	}
	p.end()
	more := p.vars.name("more")
	p.stmt(jen.Id(more).Op(":=").Uint32().Call(jen.Lit(1)))
	return more
}

// node passes an element of a list.
func (p *passer) node(node *ir.Decl) {
	if fs := node.List.Elem; len(fs) == 1 {
		p.pass(fs[0].Type)
		return
	}
	p.within(node)
}

func (p *passer) ref(t *ir.Type) {
	switch d := t.Ref; d.Kind {
	case ir.Enum:
		p.take(4, p.unless(jen.Op("!").Add(p.g.declType(d)).Call(p.uint32()).Dot("Valid").Call()))
	case ir.Typedef:
		if isTransparent(d) || isPointer(d) || p.g.typeCheckWeight(d.Type) <= passLimit {
			p.pass(d.Type)
			return
		}
		p.skip(named(d))
	default:
		p.within(d)
	}
}

// within passes a struct or union: item by item where it is small.
func (p *passer) within(d *ir.Decl) {
	switch {
	case p.g.checkWeight(d) > passLimit:
		p.skip(d)
	case d.Kind == ir.Union:
		p.arms(d, func(q *passer, a *ir.Arm) {
			if a.Field != nil {
				q.pass(a.Field.Type)
			}
		})
	default:
		for _, f := range structFields(d) {
			p.pass(f.Type)
		}
	}
}

// skip passes a value by its own check-only reader.
func (p *passer) skip(d *ir.Decl) {
	p.move(jen.Qual(codecPath, "Passed").Call(
		jen.Parens(jen.Op("*").Add(p.g.declType(d))).Call(jen.Nil()).Dot("SkipXDR").Call(
			jen.New(jen.Qual(xdrPath, "Checker")), jen.Id("b"), jen.Id("off"))))
}

// hasDefault reports whether an arm of union d is there for what no other is.
func hasDefault(d *ir.Decl) bool {
	return slices.ContainsFunc(d.Arms, func(a *ir.Arm) bool { return a.Default })
}

// arms passes the discriminant of union d, and does with its arm what arm says.
func (p *passer) arms(d *ir.Decl, arm func(q *passer, a *ir.Arm)) {
	*p.cost++
	u, kind := d.Disc.Type.Underlying(), p.vars.name("kind")
	var look []jen.Code
	value := p.g.goType(d.Disc.Type).Call(p.uint32())
	switch {
	case u.Kind == ir.Bool:
		look = append(look, p.unless(p.uint32().Op(">").Lit(1)))
		value = p.uint32().Op("==").Lit(1)
	case u.Kind == ir.Ref && !u.Ref.Open && hasDefault(d):
		look = append(look, p.unless(jen.Op("!").Id(kind).Dot("Valid").Call()))
	}
	p.take(4, append([]jen.Code{jen.Id(kind).Op(":=").Add(value)}, look...)...)
	p.flush()
	p.stmt(p.g.arms(d, id(kind), func(a *ir.Arm) []jen.Code {
		return p.block(func(q *passer) { arm(q, a) })
	}, p.fail()))
}
