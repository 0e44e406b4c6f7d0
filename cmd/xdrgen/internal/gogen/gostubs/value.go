package gostubs

import (
	"github.com/dave/jennifer/jen"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// stubValue is the argument or the result of a procedure in Go.
type stubValue struct {
	void  bool
	small bool                  // passed by value: a number, an enum, text or a slice
	boxed bool                  // box is a type of package oncrpc; the stub takes typ
	typ   func() *jen.Statement // as users name it
	box   func() *jen.Statement // the type that has the methods
}

// value returns how a stub passes t.
func (s *stubs) value(t *ir.Type) stubValue {
	if t == nil {
		box := func() *jen.Statement { return jen.Qual(oncrpcPath, "Void") }
		return stubValue{void: true, typ: box, box: box}
	}
	t = plan.Resolved(t)
	if names, ok := oncrpcValues[t.Kind]; ok {
		return stubValue{
			small: true, boxed: true,
			typ: func() *jen.Statement { return jen.Id(names[0]) },
			box: func() *jen.Statement { return jen.Qual(oncrpcPath, names[1]) },
		}
	}
	named := func() *jen.Statement {
		if t.Ref.Import != nil {
			return jen.Qual(t.Ref.Import.Package, s.names.Decl(t.Ref))
		}
		return s.types(s.names.Decl(t.Ref))
	}
	return stubValue{small: small(t.Underlying()), typ: named, box: named}
}

// oncrpcValues are the types without a declaration that a procedure can have: in Go, and in
// package oncrpc.
var oncrpcValues = map[ir.Kind][2]string{
	ir.Bool: {"bool", "Bool"}, ir.Int: {"int32", "Int32"}, ir.Uint: {"uint32", "Uint32"},
	ir.Hyper: {"int64", "Int64"}, ir.Uhyper: {"uint64", "Uint64"},
}

// small reports whether a value of the type is no larger in Go than a slice.
func small(t *ir.Type) bool {
	switch t.Kind {
	case ir.FixedOpaque, ir.FixedArray, ir.Quad, ir.Optional:
		return false
	case ir.Ref:
		return t.Ref.Kind == ir.Enum
	}
	return true
}

// passed is the type of a parameter or result of the client.
func (v stubValue) passed() *jen.Statement {
	if v.small {
		return v.typ()
	}
	return jen.Op("*").Add(v.typ())
}
