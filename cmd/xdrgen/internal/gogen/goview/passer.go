package goview

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
)

// passer writes code that passes values of an unchecked message (pass.go). Like an encoder, it
// joins words to a run. The bytes are b and the offset is off.
type passer struct {
	pkg   *goexpr.Package
	fn    *goexpr.Function
	fail  func() []jen.Code // leaves the function: the input is invalid
	code  []jen.Code
	run   []jen.Code // statements that read the run from w
	n     int        // bytes of the run
	known bool       // the bytes of the run are known to be there
	w     bool       // w is declared
	loose bool       // off is negative if the input is invalid
	cost  *int       // runs, calls and branches of the function
}

func (p *passer) block(f func(q *passer)) []jen.Code {
	q := &passer{pkg: p.pkg, fn: p.fn, fail: p.fail, cost: p.cost}
	f(q)
	q.end()
	return q.code
}

func (p *passer) stmt(c ...jen.Code) { p.code = append(p.code, c...) }

// add adds n bytes to the run, with statements that read them from w.
func (p *passer) add(n int, look ...jen.Code) {
	if p.n > 0 && p.n+n > largeRun {
		p.flush()
	}
	p.run = append(p.run, look...)
	p.n += n
}

// largeRun is the largest number of bytes that one length check covers.
const largeRun = 1 << 20

// flush writes the run.
func (p *passer) flush() {
	if p.n == 0 {
		return
	}
	*p.cost++
	if !p.known {
		p.stmt(p.unless(goexpr.Lacks("b", "off", jen.Lit(p.n))))
		p.loose = false
	}
	if len(p.run) > 0 {
		p.stmt(goexpr.SlideWindow("b", "off", p.n, &p.w))
		p.stmt(p.run...)
	}
	p.stmt(jen.Id("off").Op("+=").Lit(p.n))
	p.run, p.n, p.known = nil, 0, false
}

// end writes the rest of the run, after which off is known to be right.
func (p *passer) end() {
	p.flush()
	if p.loose {
		p.stmt(p.unless(jen.Id("off").Op("<").Lit(0)))
		p.loose = false
	}
}

// unless fails if the condition holds.
func (p *passer) unless(wrong jen.Code) *jen.Statement { return jen.If(wrong).Block(p.fail()...) }

// word adds a word to the run and returns the variable that holds it.
func (p *passer) word(base string) string {
	v := p.fn.Name(base)
	p.add(4, jen.Id(v).Op(":=").Add(p.uint32()))
	return v
}

// uint32 is the word that the run ends before.
func (p *passer) uint32() *jen.Statement {
	return goexpr.BigEndian().Dot("Uint32").Call(goexpr.OfWindow(p.n, p.n+4))
}

// move assigns the result of a call to off. It is negative if the input is invalid.
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
		p.add(n)
		return
	}
	if p.n > 0 && p.n+pad > largeRun {
		p.flush()
	}
	p.add(pad, p.unless(jen.Op("!").Qual(goexpr.Codec, "ZeroPad").Call(jen.Id("w"), jen.Lit(p.n), jen.Lit(n))))
}
