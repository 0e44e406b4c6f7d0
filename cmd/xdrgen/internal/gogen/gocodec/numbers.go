package gocodec

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// This file writes calls of the runtime for arrays of numbers, which it copies many at a time (ADR
// 0081). Arrays of few numbers and fixed length are part of a run instead.

// numbers returns the suffix of the function names for the array s, or "" if its elements are not
// numbers. A closed enum does not count as a number, because each of its values is checked.
func numbers(s *plan.Step) string {
	switch e := s.Elem.Under(); {
	case s.Op == plan.List:
	case e.Op == plan.Word, e.Op == plan.Enum && e.Of.Open:
		return "Words"
	case e.Op == plan.Hyper:
		return "Hypers"
	}
	return ""
}

// slice is v, an array or slice of step s, as a slice.
func slice(s *plan.Step, v value) goexpr.Expr {
	if s.Op == plan.Loop {
		return func() *jen.Statement { return v.x().Index(jen.Op(":")) }
	}
	return v.x
}

// numbers adds the elements of v to the span, and reports whether they are numbers.
func (p *putter) numbers(s *plan.Step, v value) bool {
	kind := numbers(s)
	if kind != "" {
		p.data(segment{data: slice(s, v), put: "Put" + kind, unit: s.Elem.Min()})
	}
	return kind != ""
}

// numbers reads the elements of v, and reports whether they are numbers. known says that their
// bytes are known to be there.
func (r getter) numbers(s *plan.Step, v value, known bool) bool {
	kind := numbers(s)
	if kind == "" {
		return false
	}
	if !known {
		checker{r.reader}.shortLoop(s, v)
	}
	r.stmt(r.fn.moveTo(r.off, jen.Qual(goexpr.Codec, "Get"+kind).Call(jen.Id(r.buf), jen.Id(r.off), slice(s, v)())))
	return true
}
