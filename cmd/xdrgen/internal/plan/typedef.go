package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// transparent holds the typedefs of a built-in type that are only its Go or C name. They become
// that type and are not declared.
var transparent = map[string]ir.Kind{
	"uint32": ir.Uint, "uint32_t": ir.Uint, "u_int": ir.Uint, "u_int32_t": ir.Uint, "u_long": ir.Uint,
	"int32": ir.Int, "int32_t": ir.Int, "uint64": ir.Uhyper, "uint64_t": ir.Uhyper,
	"u_int64_t": ir.Uhyper, "int64": ir.Hyper, "int64_t": ir.Hyper, "bool_t": ir.Bool,
}

// Transparent reports whether d is such a typedef.
func Transparent(d *ir.Decl) bool {
	if d.Kind != ir.Typedef {
		return false
	}
	k, ok := transparent[d.Name]
	return ok && d.Type.Kind == k
}

// Resolved returns the step of the Go type that s is: s without transparent typedefs.
func (s *Step) Resolved() *Step {
	for s.Op == Typedef && s.Of.Transparent {
		s = s.Elem
	}
	return s
}

// Under returns the step of the underlying type: s without typedefs.
func (s *Step) Under() *Step {
	if s.Op != Typedef {
		return s
	}
	if s.under == nil {
		s.under = s.Elem.Under()
	}
	return s.under
}

// Methods returns the type whose methods a value of t has. For an alias, it is the type that the
// alias stands for.
func (t *Type) Methods() *Type {
	for t.Op == Typedef && t.Alias {
		t = t.Body.Resolved().Of
	}
	return t
}

// nameTypedef decides what the name of typedef t is in Go.
func (t *Type) nameTypedef() {
	s := t.Body.Resolved()
	switch s.Op {
	case Bool, Word, Hyper:
		t.Converts = !t.Transparent
	case Enum, Struct, Union, Typedef:
		t.Alias = true
	}
	u := t.Body.Under()
	t.PointerName = u.Op == Optional && u.Elem.holdsRecursive()
}

// holdsRecursive reports whether a Go value of step s has one in it of a type that contains
// itself.
func (s *Step) holdsRecursive() bool {
	return s.facts.recursive.get(0, func() int {
		switch s.Op {
		case Loop, Typedef:
			return truth(s.Elem.holdsRecursive())
		case Struct, Union:
			return truth(s.Of.Recursive)
		}
		return 0
	}) > 0
}

// Resolved returns t without the transparent typedefs around it.
func Resolved(t *ir.Type) *ir.Type {
	for t.Kind == ir.Ref && Transparent(t.Ref) {
		t = t.Ref.Type
	}
	return t
}
