package syntax

import "github.com/rpcrdma/rpcrdma/cmd/internal/source"

// File is the syntax tree of one file.
type File struct {
	Source  *source.File
	Defs    []*Def   // in source order, broken ones too
	Loose   []*Loose // members and arms outside definitions, in source order
	Outside bool     // has versions or procedures outside programs, which was reported
	License []string // lines of the comment with the code licence, without comment marks

	// Lines for C, including those that an #if excludes.
	Percent []source.Span // lines that begin with %, with continuation lines
	CDefs   []*Def        // constants of %#define lines
	Headers []Header      // C headers of #include and %#include lines
}

// Loose is a run of members, or of arms, that are in no enum or union. Documents that extend a
// protocol print the lines that they add to its types.
type Loose struct {
	Def   *Def         // an enum or a union without a name
	Above [][][]string // for each member or arm, the words of each comment above it
}

// Header is an included C header.
type Header struct {
	Name string // without quotes
	Span source.Span
}

// Ident is a name and its position.
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
	Odd  bool   // Text is an expression in a place where XDR allows none; false in a #define
	Str  bool   // Text is a string; XDR has no string constants
	Neg  bool
	Abs  uint64
}

// DefKind is the kind of a definition.
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

// String returns the keyword of the definition.
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

// Def is a definition, or the body of an inline type.
type Def struct {
	Kind   DefKind
	Span   source.Span
	Name   Ident // empty for an inline type without a tag
	Doc    []string
	Tail   string
	Broken bool // a fault was reported; the contents are incomplete
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
	Value *Value // nil if the file gives none
	Doc   []string
	Tail  string
}

// TypeKind says how a type is written.
type TypeKind int

// The ways to write a type.
const (
	Prim   TypeKind = iota + 1 // keywords of XDR or C: Name has them, separated by one blank
	Named                      // a name, which may follow struct, union or enum
	Inline                     // a body written in place: Body
	Void
	Opaque
	String
)

// Type is a type as written.
type Type struct {
	Kind TypeKind
	Span source.Span
	Name string
	Tag  DefKind // Named: the keyword before the name, or 0
	Body *Def    // Inline
}

// Shape is the form of a declaration after its name.
type Shape int

// The shapes.
const (
	Plain    Shape = iota
	Fixed          // name[bound]
	Variable       // name<bound> or name<>
)

// Decl is a declaration: of a field, an arm, a discriminant, an argument or a typedef.
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

// Arm is an arm of a union. XDR allows one declaration; the parser accepts any number, and
// sema reports the others.
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
