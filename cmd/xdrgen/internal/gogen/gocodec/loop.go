package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// each is a loop over the elements of an array or slice. The slice is in a local variable, and a
// struct element is accessed through a pointer, so that the compiler loads and checks both once for
// each element and not for each field.
type each struct {
	seq  string // the local variable with the slice
	src  value
	i    string // the index
	ptr  string // the pointer to the element; empty if it is indexed
	elem value  // the element in the body
	bare bool   // the body uses no element
	view bool   // of an array: seq is a slice over all of it
}

// each prepares a loop over the elements of v, a value of step s.
func newEach(fn *function, s *plan.Step, v value) *each {
	l := &each{src: v, i: fn.Name("i"), seq: fn.Name("s"), view: s.Op == plan.Loop}
	if s.Elem.Selectors() {
		l.ptr = fn.Name("p")
		l.elem = v.elem(goexpr.ID(l.ptr), goexpr.ID(l.i))
		return l
	}
	l.elem = v.elem(goexpr.ID(l.seq).Index(l.i), goexpr.ID(l.i))
	return l
}

// loop writes the loop around its body.
func (l *each) loop(body []jen.Code) []jen.Code {
	if len(body) == 0 {
		return nil // elements without bytes
	}
	if l.bare {
		return []jen.Code{jen.For().Range().Add(l.src.x()).Block(body...)}
	}
	if l.ptr != "" {
		body = append([]jen.Code{jen.Id(l.ptr).Op(":=").Op("&").Id(l.seq).Index(jen.Id(l.i))}, body...)
	}
	seq := l.src.x()
	if l.view {
		seq.Index(jen.Op(":"))
	}
	return []jen.Code{
		jen.Id(l.seq).Op(":=").Add(seq),
		jen.For(jen.Id(l.i).Op(":=").Range().Id(l.seq)).Block(body...),
	}
}

// counter is the variable of a loop, which is declared only if the body uses it.
type counter struct {
	name string
	used bool
}

func (c *counter) x() *jen.Statement {
	c.used = true
	return jen.Id(c.name)
}

// loop writes a loop of n rounds.
func (c *counter) loop(n jen.Code, body []jen.Code) jen.Code {
	if c.used {
		return jen.For(jen.Id(c.name).Op(":=").Range().Add(n)).Block(body...)
	}
	return jen.For(jen.Range().Add(n)).Block(body...)
}
