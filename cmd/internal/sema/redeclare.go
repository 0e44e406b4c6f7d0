package sema

import (
	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
)

// checkRedeclared reports names that an imported unit declares too. A typedef of the same type is
// accepted, and the unit's own is used, since many files begin with "typedef unsigned int
// uint32;". Of an enum that is declared again, only its name is reported.
func checkRedeclared(f *findings, u *unit) {
	again := map[*ir.Decl]bool{} // types that were reported; their members are not
	for _, members := range []bool{false, true} {
		for _, s := range u.scope.syms {
			if (s.member != nil) != members || again[s.decl] {
				continue
			}
			for _, i := range u.imports {
				other := i.scope.names[s.name]
				switch added := s.decl.Of != nil && s.member != nil && u.home(s.span) == u; {
				case other == nil || s.decl.Anon || sameTypedef(s, other):
					continue
				case added && other.decl.Original() != s.decl.Original():
				case s.decl.Of != nil || u.amended.named[s.decl.Name]:
					continue
				}
				again[s.decl] = !members
				f.report(declaredByUnit(u, s, other, i.name))
				break
			}
		}
	}
}

// declaredByUnit is the finding for a name that unit declares too. Documents that extend a protocol
// declare its enums and unions again, with more members and arms.
func declaredByUnit(u *unit, s, other *symbol, unit string) diag.Diagnostic {
	d := diag.New(diag.DuplicateName, s.span, "%s is already declared by unit %s", s.name, unit).With(other.span, "declared here")
	kind := s.decl.Kind
	if s.member != nil || other.member != nil || kind != other.decl.Kind || kind == ir.Const || kind == ir.Typedef {
		return d
	}
	line := "replace"
	if s.def != nil && other.def != nil && s.def.Kind != syntax.Struct && len(repeated(s.def, other.def)) == 0 {
		line = "amend"
	}
	return d.Helpf("rename one of the two; or, if this unit extends the protocol, add to the sidecar %s the line \"%s %s\"", u.sidecar(s.span.File), line, s.name)
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
