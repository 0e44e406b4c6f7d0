package compat

import (
	"fmt"
	"strconv"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// path names a declaration: "struct foo".
func path(d *ir.Decl) string {
	word := "typedef"
	switch d.Kind {
	case ir.Const:
		word = "const"
	case ir.Enum:
		word = "enum"
	case ir.Struct:
		word = "struct"
	case ir.Union:
		word = "union"
	case ir.Program:
		word = "program"
	}
	return word + " " + d.Name
}

// declared names a declaration, and what a typedef stands for.
func declared(d *ir.Decl) string {
	if d.Kind == ir.Typedef {
		return fmt.Sprintf("%s (%s)", path(d), spell(d.Type))
	}
	return path(d)
}

// spell writes a type as a declaration does.
func spell(t *ir.Type) string {
	if t == nil {
		return "void"
	}
	switch t.Kind {
	case ir.FixedOpaque:
		return fmt.Sprintf("opaque[%d]", t.Len)
	case ir.Opaque, ir.String:
		return t.Kind.Word() + t.Bounds()
	case ir.FixedArray:
		return fmt.Sprintf("%s[%d]", spell(t.Elem), t.Len)
	case ir.Array:
		return spell(t.Elem) + t.Bounds()
	case ir.Optional:
		return spell(t.Elem) + " *"
	case ir.ListOf:
		return t.Ref.Name + " * (a list)"
	case ir.ListHead, ir.Ref:
		if t.Ref.Kind == ir.Enum {
			return "enum " + t.Ref.Name
		}
		return t.Ref.Name
	}
	return t.Kind.Word()
}

// bound says what bound a type has.
func bound(t *ir.Type) string {
	if !t.Bounded {
		return "no bound"
	}
	return "the bound " + strconv.FormatUint(t.Max, 10)
}

func decimal(v ir.Value) string {
	s := strconv.FormatUint(v.Abs, 10)
	if v.Neg {
		s = "-" + s
	}
	return s
}

func place(t *ir.Type) source.Span {
	if t == nil {
		return noPlace
	}
	return t.Pos
}
