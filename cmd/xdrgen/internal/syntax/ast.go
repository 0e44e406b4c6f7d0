package syntax

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"

// File is one parsed text.
type File struct {
	Source  *source.File
	Defs    []*Def   // in source order, broken ones too
	License []string // lines of the comment that holds the code licence, without comment signs

	// What is for C, also where an #if leaves it out.
	Percent []source.Span // lines that begin with %, continuations included
	CDefs   []*Def        // constants of %#define lines
	Headers []Header      // what #include and %#include lines name, but for .x files
}

// Header is a file that is included for C.
type Header struct {
	Name string // without quotes
	Span source.Span
}

// Ident is a name and its place.
type Ident struct {
	Name string
	Span source.Span
}

// Value is a constant as written: a number, or the name of one.
type Value struct {
	Span source.Span
	Text string // as written
	Name bool   // Text is a name
	Expr bool   // Text is an expression of C
	Odd  bool   // the expression stands where XDR has none; not from a #define
	Str  bool   // Text is a string, which XDR has no constants of
	Neg  bool
	Abs  uint64
}

// DefKind says what a definition defines.
type DefKind int

// The kinds of definition.
const (
	Const DefKind = iota + 1
	Enum
	Struct
	Union
	Typedef
	Program
)

// String returns the word that begins such a definition.
func (k DefKind) String() string {
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
	return "definition"
}

// Def is one definition, or the body of a type written in place.
type Def struct {
	Kind   DefKind
	Span   source.Span
	Name   Ident // empty where a type written in place has no tag
	Doc    []string
	Tail   string
	Broken bool // reported already: what it holds is incomplete
	Macro  bool // from a #define line

	Value    Value      // Const, Program
	Members  []*Member  // Enum
	Fields   []*Decl    // Struct
	Disc     *Decl      // Union
	Arms     []*Arm     // Union
	Decl     *Decl      // Typedef
	Versions []*Version // Program
}

// Member is a member of an enum.
type Member struct {
	Name  Ident
	Value *Value // nil where the text gives none
	Doc   []string
	Tail  string
}

// TypeKind says how a type is written.
type TypeKind int

// The ways to write a type.
const (
	Prim   TypeKind = iota + 1 // words of the language or of C: Name holds them, one blank between
	Named                      // a name, perhaps after struct, union or enum
	Inline                     // written in place: Body
	Void
	Opaque
	String
)

// Type is a type as written.
type Type struct {
	Kind TypeKind
	Span source.Span
	Name string
	Tag  DefKind // Named: the word before the name, 0 where there is none
	Body *Def    // Inline
}

// Shape is what follows a declared name.
type Shape int

// The shapes.
const (
	Plain    Shape = iota
	Fixed          // name[bound]
	Variable       // name<bound> or name<>
)

// Decl is a declaration: a field, an arm, a discriminant, an argument, or what
// a typedef declares.
type Decl struct {
	Span  source.Span
	Type  *Type
	Star  bool
	Name  Ident // empty for void and for most arguments
	Shape Shape
	Bound *Value // nil for name<>
	Doc   []string
	Tail  string
}

// Arm is an arm of a union. The language allows one declaration; the parser
// takes any number, sema counts them.
type Arm struct {
	Span    source.Span
	Labels  []Value
	Default []source.Span // of each "default"
	Decls   []*Decl
}

// Version is a version of a program.
type Version struct {
	Span   source.Span
	Name   Ident
	Number Value
	Procs  []*Proc
	Doc    []string
}

// Proc is a procedure.
type Proc struct {
	Span   source.Span
	Name   Ident
	Number Value
	Result *Decl // Type and Star only
	Args   []*Decl
	Doc    []string
	Tail   string
}
