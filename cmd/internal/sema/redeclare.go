package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// checkRedeclared reports names that an imported unit declares too. A typedef of the same type is
// accepted, and the unit's own is used, since many files begin with "typedef unsigned int
// uint32;".
func (c *compiler) checkRedeclared(u *unit) {
	for _, s := range u.syms {
		for _, i := range u.imports {
			other := i.scope[s.name]
			if other == nil || s.decl.Anon || sameTypedef(s, other) {
				continue
			}
			c.report(diag.New(diag.DuplicateName, s.span, "%s is already declared by unit %s", s.name, i.name).With(other.span, "declared here"))
			break
		}
	}
}

func sameTypedef(a, b *symbol) bool {
	return a.member == nil && b.member == nil && a.decl.Kind == ir.Typedef && b.decl.Kind == ir.Typedef &&
		sameType(a.decl.Type, b.decl.Type)
}

// sameType compares what two typedefs mean.
func sameType(a, b *ir.Type) bool {
	a, b = underlying(a), underlying(b)
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Ref == b.Ref && a.Len == b.Len && a.Bounded == b.Bounded && a.Max == b.Max &&
		((a.Elem == nil) == (b.Elem == nil)) && (a.Elem == nil || sameType(a.Elem, b.Elem))
}
