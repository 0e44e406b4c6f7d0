package ir

import "strconv"

// Word returns the keyword of a declaration: "struct".
func (k DeclKind) Word() string {
	switch k {
	case Const:
		return "const"
	case Enum:
		return "enum"
	case Struct:
		return "struct"
	case Union:
		return "union"
	case Typedef:
		return "typedef"
	case Program:
		return "program"
	}
	return ""
}

// Spell returns the type as XDR writes it: "opaque<8>", "entry*".
func (t *Type) Spell() string {
	switch t.Kind {
	case FixedOpaque:
		return t.Kind.Word() + t.length()
	case Opaque, String:
		return t.Kind.Word() + t.Bounds()
	case FixedArray:
		return t.Elem.Spell() + t.length()
	case Array:
		return t.Elem.Spell() + t.Bounds()
	case Optional:
		return t.Elem.Spell() + "*"
	case ListOf:
		return t.Ref.Name + "*"
	case ListHead, Ref:
		return t.Ref.Name
	}
	return t.Kind.Word()
}

// length returns the length of a fixed-length type as XDR writes it: "[4]".
func (t *Type) length() string { return "[" + strconv.FormatUint(t.Len, 10) + "]" }

// Decimal returns the value in decimal.
func (v Value) Decimal() string {
	s := strconv.FormatUint(v.Abs, 10)
	if v.Neg {
		s = "-" + s
	}
	return s
}

// Int64 returns the value as an int64, into which the values of cases and enumerators fit.
func (v Value) Int64() int64 {
	if v.Neg {
		return -int64(v.Abs)
	}
	return int64(v.Abs)
}
