package ir

import "github.com/rpcrdma/rpcrdma/cmd/internal/source"

// Attributes says that a struct holds values of several types, one after the other in an opaque
// field, and in the field before it a bitmap of their numbers. The constants of the numbers and the
// types of the values have the same names, but for case (RFC 8881 §5: fattr4).
type Attributes struct {
	Pos    source.Span
	Struct string // XDR name of the struct
	Prefix string // that the names of the constants begin with
	GoName string // of the Go struct with a field for each value

	Decl  *Decl       // the struct; resolved by sema, as all that follows
	Items []Attribute // by their numbers
}

// Attribute is a value that Attributes may hold.
type Attribute struct {
	Number uint32
	Const  *Decl
	Type   *Decl
}
