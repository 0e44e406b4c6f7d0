package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// calls writes the calls that read or write the parts of a compact type (ADR 0059). Each call takes
// one line; the error is looked at after the last one:
//
//	off, fault := codec.At(nil, "T:A").In(v.A.GetXDR(d, b, off))
//	off, fault = codec.At(fault, "T:B").In(codec.GetWord(b, off, &v.B))
//	return codec.At(fault, "T:C").End(v.C.GetXDR(d, b, off))
type calls struct {
	fn   *function
	off  string // the variable with the offset
	fail func(err jen.Code) jen.Code
	top  bool     // not in a nested block
	call jen.Code // of the last part, while it is not written; else nil
	at   value    // the last part
	long bool     // a part before the last may have failed; fault is its error
}

// checkedWord reports whether s is of fixed size, but not a number or whole words: a rule can
// refuse it. In a compact type it is a part and never in a run.
func checkedWord(s *plan.Step) bool {
	switch s.Op {
	case plan.Bool:
		return true
	case plan.Enum:
		return !s.Of.Open
	case plan.Bytes:
		return s.Len%4 != 0
	}
	return false
}

// fewWords is the number of items in a run of a compact type up to which each is a part.
const fewWords = 3

// smallItem is an item of a run that can be a part instead.
type smallItem struct {
	size int
	at   value
	call func() jen.Code
	code []func(w window) jen.Code // of the item in a run
}

// part returns the line for the last part, and makes call the last.
func (c *calls) part(call jen.Code, v value) []jen.Code {
	code := c.link()
	c.call, c.at = call, v
	return code
}

// link returns the line for the last part. Its error is not looked at.
func (c *calls) link() []jen.Code {
	if c.call == nil {
		return nil
	}
	op := "="
	if c.top && !c.fn.usesFault && !c.fn.hasFault {
		op = ":="
		c.fn.hasFault = true
	}
	line := jen.List(jen.Id(c.off), c.fault()).Op(op).Add(c.located("In"))
	c.call, c.long = nil, true
	return []jen.Code{line}
}

// fault is the variable with the first error.
func (c *calls) fault() *jen.Statement {
	c.fn.usesFault = !c.fn.hasFault
	return jen.Id("fault")
}

// located is the call for the last part, in a call that adds its path to the error.
func (c *calls) located(method string) *jen.Statement {
	before := jen.Nil()
	if c.long {
		before = c.fault()
	}
	return c.at.locate("At", before).Dot(method).Call(c.call)
}

// settle returns the line for the last part, and a look at the errors of all parts.
func (c *calls) settle() []jen.Code {
	call, long := c.call, c.long
	if call != nil && !long {
		c.call = nil
		c.fn.usesErr = true
		return []jen.Code{attempt(jen.List(jen.Id(c.off), jen.Err()), call, "err", c.fail(c.at.wrap(goexpr.ID("err"))))}
	}
	c.call, c.long = nil, false
	switch {
	case call != nil:
		return []jen.Code{attempt(jen.List(jen.Id(c.off), c.fault()),
			c.at.locate("At", c.fault()).Dot("In").Call(call), "fault", c.fail(c.fault()))}
	case long:
		return []jen.Code{jen.If(c.fault().Op("!=").Nil()).Block(c.fail(c.fault()))}
	}
	return nil
}

// end returns the last part as the last line of a decoder, or nothing if there is no part.
func (c *calls) end() []jen.Code {
	if c.call == nil {
		return nil
	}
	line := jen.Return(c.located("End"))
	c.call, c.long = nil, false
	return []jen.Code{line}
}
