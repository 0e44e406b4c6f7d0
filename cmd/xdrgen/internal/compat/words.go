package compat

import (
	"fmt"
	"strconv"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// path returns the keyword and name of a declaration: "struct foo".
func path(d *ir.Decl) string { return d.Kind.Word() + " " + d.Name }

// declared returns the path of a declaration, and for a typedef its type.
func declared(d *ir.Decl) string {
	if d.Kind == ir.Typedef {
		return fmt.Sprintf("%s (%s)", path(d), spell(d.Type))
	}
	return path(d)
}

// spell returns a type as it is written in a declaration, and "void" for nil.
func spell(t *ir.Type) string {
	switch {
	case t == nil:
		return "void"
	case t.Kind == ir.ListOf:
		return t.Spell() + " (a list)"
	case t.Kind == ir.Ref && t.Ref.Kind == ir.Enum:
		return "enum " + t.Ref.Name
	}
	return t.Spell()
}

// bound returns the bound of a variable-length type in words.
func bound(t *ir.Type) string {
	if !t.Bounded {
		return "none"
	}
	return strconv.FormatUint(t.Max, 10)
}

// typeSpan returns the position of a type, which may be nil.
func typeSpan(t *ir.Type) source.Span {
	if t == nil {
		return noSpan
	}
	return t.Pos
}
