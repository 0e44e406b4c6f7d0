package gogen

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// operand is a Go value that emitted code compares or changes.
type operand struct {
	x    expr // for selectors and indices: the value, or a pointer to a struct
	ptr  expr // the pointer that x is or dereferences; nil if there is none
	root bool // x is that pointer
}

// pointee is the value of step s that p points to.
func pointee(s *plan.Step, p expr) operand {
	if s.Selectors() {
		return operand{x: p, ptr: p, root: true}
	}
	return operand{x: func() *jen.Statement { return jen.Parens(jen.Op("*").Add(p())) }, ptr: p}
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

func (o operand) dot(name string) operand { return operand{x: o.x.dot(name)} }

func (o operand) index(i string) operand { return operand{x: o.x.index(i)} }

// field is field f of the struct or union o.
func (g *gen) fieldOf(o operand, f *plan.Field) operand { return o.dot(g.names.Field(f.Field)) }

// armOf is arm a of the union o.
func (g *gen) armOf(o operand, a *plan.Arm) operand {
	arm := g.fieldOf(o, a.Field)
	if a.Pointer {
		return pointee(a.Field.Step, arm.x)
	}
	return arm
}

// helper is a kind of function that generated code has for types: the prefix of its name.
type helper string

const (
	cloneHelper  helper = "xdrClone"
	equalHelper  helper = "xdrEqual"
	extentHelper helper = "xdrExtent"
)

// helperOf is a helper for a type.
type helperOf struct {
	helper helper
	typ    *plan.Type
}

// helper returns the name of the function h for type t. The package has one for each of its own
// types, and for each imported type that it needs one for: it does not depend on the methods that
// the other package was made with.
func (g *gen) helper(h helper, t *plan.Type) string {
	key := helperOf{h, t}
	name, ok := g.helpers[key]
	if !ok {
		name = string(h)
		if imp := t.Decl.Import; imp != nil {
			name += gonames.Camel(imp.GoName)
			g.borrowed = append(g.borrowed, key)
		}
		name = g.names.Fresh(name + g.names.Decl(t.Decl))
		g.helpers[key] = name
	}
	return name
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

// writeHelper writes the function h for type t.
func (g *gen) writeHelper(h helper, t *plan.Type) {
	switch h {
	case cloneHelper:
		g.cloneFunc(t)
	case equalHelper:
		g.equalFunc(t)
	case extentHelper:
		g.extentFunc(t)
	}
}

// borrow writes the helpers for imported types.
func (g *gen) borrow() {
	for len(g.borrowed) > 0 {
		h := g.borrowed[0]
		g.borrowed = g.borrowed[1:]
		g.writeHelper(h.helper, h.typ)
	}
}
