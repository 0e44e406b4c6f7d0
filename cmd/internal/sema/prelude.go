package sema

import (
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// primitive returns the type that keywords of XDR (RFC 4506 §4) or names of C types stand for. The
// C types are those that real files use without declaring them. They have rpcgen's wire forms:
// char, short and long take 4 bytes.
func primitive(words string) (kind ir.Kind, plain string, ok bool) {
	switch words {
	case "int":
		return ir.Int, "", true
	case "unsigned int":
		return ir.Uint, "", true
	case "hyper":
		return ir.Hyper, "", true
	case "unsigned hyper":
		return ir.Uhyper, "", true
	case "float":
		return ir.Float, "", true
	case "double":
		return ir.Double, "", true
	case "quadruple":
		return ir.Quad, "", true
	case "bool":
		return ir.Bool, "", true
	case "bool_t", "boolean_t":
		return ir.Bool, "bool", true
	case "unsigned", "u_int", "uint", "uint_t", "uint32", "uint32_t", "u_int32", "u_int32_t",
		"unsigned long", "unsigned long int", "u_long", "ulong", "ulong_t",
		"unsigned short", "unsigned short int", "u_short", "ushort", "ushort_t", "uint16", "uint16_t", "u_int16_t",
		"unsigned char", "u_char", "uchar", "uchar_t", "uint8", "uint8_t", "u_int8_t", "uid_t", "gid_t", "mode_t":
		return ir.Uint, "unsigned int", true
	case "long", "long int", "short", "short int", "char", "int32", "int32_t", "int16", "int16_t", "int8", "int8_t", "enum_t", "pid_t":
		return ir.Int, "int", true
	case "long long", "long long int", "int64", "int64_t", "longlong_t", "quad_t":
		return ir.Hyper, "hyper", true
	case "unsigned long long", "unsigned long long int", "uint64", "uint64_t", "u_int64", "u_int64_t", "u_longlong_t", "u_quad_t":
		return ir.Uhyper, "unsigned hyper", true
	}
	return 0, "", false
}

// narrow returns the name if it is a C type of fewer than 32 bits, else "". A value of such a type
// takes 4 bytes on the wire, and generated Go keeps all of them. C truncates the value, and on
// some machines char is signed.
func narrow(words string) string {
	for _, w := range []string{"char", "short", "int8", "int16"} {
		if strings.Contains(words, w) {
			return words
		}
	}
	return ""
}

// builtinConst returns the constants that the language declares (RFC 4506
// §4.4).
func builtinConst(name string) (ir.Value, bool) {
	switch name {
	case "TRUE":
		return ir.Value{Abs: 1, Text: name}, true
	case "FALSE":
		return ir.Value{Text: name}, true
	}
	return ir.Value{}, false
}
