package gohelper

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/goexpr"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// operand is a Go value that emitted code compares or changes.
type operand struct {
	x    goexpr.Expr // for selectors and indices: the value, or a pointer to a struct
	ptr  goexpr.Expr // the pointer that x is or dereferences; nil without a pointer
	root bool        // x is that pointer
}

// pointee is the value of step s that p points to.
func pointee(s *plan.Step, p goexpr.Expr) operand {
	if s.Selectors() {
		return operand{x: p, ptr: p, root: true}
	}
	return operand{x: func() *jen.Statement { return jen.Parens(jen.Op("*").Add(p())) }, ptr: p}
}

// receiver is the value of type t that the parameter p of a helper points to.
func receiver(t *plan.Type, p string) operand {
	if t.PointerName {
		return operand{x: goexpr.ID(p).Dot(goexpr.PointerField)}
	}
	return pointee(t.Whole(), goexpr.ID(p))
}

// whole is the value itself.
func (o operand) whole() *jen.Statement {
	if o.root {
		return jen.Op("*").Add(o.ptr())
	}
	return o.x()
}

// addr is a pointer to the value.
func (o operand) addr() *jen.Statement {
	if o.ptr != nil {
		return o.ptr()
	}
	return jen.Op("&").Add(o.x())
}

func (o operand) dot(name string) operand { return operand{x: o.x.Dot(name)} }

func (o operand) index(i string) operand { return operand{x: o.x.Index(i)} }

// field is field f of the struct or union o.
func (o operand) field(p *goexpr.Package, f *plan.Field) operand {
	return o.dot(p.Names.Field(f.Field))
}

// arm is arm a of the union o.
func (o operand) arm(p *goexpr.Package, a *plan.Arm) operand {
	arm := o.field(p, a.Field)
	if a.Pointer {
		return pointee(a.Field.Step, arm.x)
	}
	return arm
}

// helped returns the type whose helpers emitters call for a value of step s, or nil if they write
// the value out. Where decoders count a level of a type that contains itself, so do helpers.
func helped(s *plan.Step) *plan.Type {
	switch s.Op {
	case plan.Struct, plan.Union:
		return s.Of
	case plan.Typedef:
		t := s.Of.Methods()
		if t.Recursive && !s.Call || t.PointerName {
			return nil
		}
		switch s.Under().Op {
		case plan.Loop, plan.Array, plan.Optional, plan.List, plan.Struct, plan.Union:
			return t
		}
	}
	return nil
}

// under is the step below the typedefs of s that are written out.
func under(s *plan.Step) *plan.Step {
	for s = s.Elem; s.Op == plan.Typedef && helped(s) == nil; s = s.Elem {
	}
	return s
}
