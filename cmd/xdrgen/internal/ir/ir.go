// Package ir is the resolved form of one XDR unit: every name bound, every
// constant computed, every bound checked, wire sizes known. sema builds it,
// gogen and the other back ends read it; after sema returns nobody writes it.
//
// A unit is one or more .x files that share one scope and become one package.
// Names here are the XDR names (RFC 4506, RFC 5531 §12); a back end
// makes its own language's names from them.
package ir

import (
	"strconv"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// Unit is what one run of the compiler works on.
type Unit struct {
	Name    string    // unit name: the folder or package, such as "rpcrdma2"
	Files   []*File   // the unit's own files, in command line order
	Imports []*Import // units it builds on, in order of first include
	Decls   []*Decl   // own declarations, in source order; imported ones are not here
}

// File is one source text of the unit.
type File struct {
	Name    string   // base name, such as "common.x"
	SHA256  string   // of the .x text, hexadecimal
	License []string // the code licence comment, line by line without comment signs; empty where the text has none
}

// Import is another unit whose declarations this one uses.
type Import struct {
	Include string // as written: "rpcrdma2/common.x"
	Unit    string // "rpcrdma2"
	Package string // Go import path; from the sidecar or the -import-root flag
	GoName  string // its package name
	Bind    *Bind  // its sidecar: the names in it follow the same rules
	Decls   []*Decl
}

// DeclKind says what a declaration declares.
type DeclKind int

// The kinds of declaration.
const (
	Const   DeclKind = iota + 1 // const A = 1, or an enumerator's stand-alone twin
	Enum                        // enum with Members
	Struct                      // struct with Fields
	Union                       // union with Disc and Arms
	Typedef                     // name for Type
	Program                     // RFC 5531 §12 program
)

// Decl is one named definition.
type Decl struct {
	Kind   DeclKind
	Name   string
	Pos    source.Span
	Doc    []string // comment directly before it, line by line, without comment signs
	Tail   string   // comment on the same line after it
	Import *Import  // nil for the unit's own
	Anon   bool     // the name was made up for an anonymous type in Parent
	Inner  bool     // declared inside another declaration (anonymous types)

	Value   Value     // Const
	Members []*Member // Enum
	Open    bool      // Enum: numbers that are no enumerators are legal too (sidecar "open")
	Fields  []*Field  // Struct: all of them, void ones left out
	Disc    *Field    // Union: the discriminant (Bool, Int, Uint or Enum underneath)
	Arms    []*Arm    // Union: in source order, the default arm where it stood
	Type    *Type     // Typedef
	Base    *Type     // Typedef: what it and the typedefs under it end in; nil while that is not known
	Program *Prog     // Program

	List      *List  // Struct that is a linked list node; nil otherwise
	NotList   string // Struct that refers to itself but is no list: why, in words
	Recursive bool   // holds itself other than as a linked list: needs a depth limit
	Size      Size
}

// Value is an integer constant. XDR constants run from -2^63 to 2^64-1.
type Value struct {
	Neg  bool
	Abs  uint64
	Text string // as written: "0x0001", "MAXLEN"; for printing
}

// Member is an enumerator.
type Member struct {
	Name  string
	Pos   source.Span
	Doc   []string
	Tail  string
	Value int32
	Text  string // as written, empty where the text gave none
}

// Field is a member of a struct, a union's discriminant, or an argument.
type Field struct {
	Name string
	Pos  source.Span
	Doc  []string
	Tail string
	Type *Type
}

// Arm is one arm of a union: its labels and its one declaration.
type Arm struct {
	Pos     source.Span
	Labels  []Label // empty for a lone default
	Default bool    // "default:" is among its labels
	Field   *Field  // nil for void
}

// Label is a case label of an arm.
type Label struct {
	Pos    source.Span
	Value  Value
	Member *Member // enumerator it names, if any
	Const  *Decl   // constant it names, if any
}

// List is the shape of a linked list node: all fields but the pointer to the
// next node are the element. The wire form of a list is, per element, a word
// 1 and the element, then a word 0 (RFC 4506 §4.19); of a list whose head
// is not optional, the element, then the rest as before.
type List struct {
	Elem []*Field // the fields of an element, in wire order
	Next *Field   // the pointer: always the last field
}

// Kind is the kind of a type.
type Kind int

// The kinds of type. Void has no type: where nothing is, there is a nil.
const (
	Bool        Kind = iota + 1
	Int              // 32 bits
	Uint             // 32 bits
	Hyper            // 64 bits
	Uhyper           // 64 bits
	Float            // 32 bits
	Double           // 64 bits
	Quad             // 128 bits, opaque to us (RFC 4506 §4.8)
	FixedOpaque      // opaque x[Len]
	Opaque           // opaque x<Max>
	String           // string x<Max>
	FixedArray       // Elem x[Len]
	Array            // Elem x<Max>
	Optional         // Elem *x, where Elem is no list node
	ListOf           // linked list: Ref is the node; wire form begins with the presence word
	ListHead         // the node itself, not optional: at least one element
	Ref              // Ref: a named enum, struct (no list node), union or typedef
)

// words are what XDR calls the types that have no parts.
var words = [...]string{
	Bool: "bool", Int: "int", Uint: "unsigned int", Hyper: "hyper", Uhyper: "unsigned hyper",
	Float: "float", Double: "double", Quad: "quadruple", FixedOpaque: "opaque", Opaque: "opaque", String: "string",
}

// Word is what XDR calls a type of the kind, without its length or bound; "" for
// those that are made of others, or named.
func (k Kind) Word() string {
	if int(k) >= len(words) {
		return ""
	}
	return words[k]
}

// Type is the type of a field, or what a typedef names.
type Type struct {
	Kind    Kind
	Pos     source.Span
	Elem    *Type  // FixedArray, Array, Optional
	Ref     *Decl  // Ref, ListOf, ListHead
	Len     uint64 // FixedOpaque, FixedArray
	Bounded bool   // Opaque, String, Array: Max counts; otherwise 2^32-1
	Max     uint64
	LenText string // the bound as written, where it was a name
	CName   string // the C type of fewer than 32 bits that an Int or Uint is written as: "short"; else empty
	Size    Size
}

// Bounds writes the bound of a type that has one, as XDR does: "<>" or "<64>".
func (t *Type) Bounds() string {
	if !t.Bounded {
		return "<>"
	}
	return "<" + strconv.FormatUint(t.Max, 10) + ">"
}

// Size is the extent of a type on the wire, in bytes, padding included.
type Size struct {
	Min       uint64 // saturates at 2^63-1
	Max       uint64 // meaningless where Unbounded
	Unbounded bool   // a list, or recursion; arrays with no bound count as 2^32-1 and saturate to Unbounded
}

// Fixed reports whether every value has the same size.
func (s Size) Fixed() bool { return !s.Unbounded && s.Min == s.Max }

// Prog is an RFC 5531 program.
type Prog struct {
	Number   uint32
	Versions []*Version
}

// Version is one version of a program.
type Version struct {
	Name   string
	Pos    source.Span
	Doc    []string
	Number uint32
	Procs  []*Proc
}

// Proc is one procedure.
type Proc struct {
	Name   string
	Pos    source.Span
	Doc    []string
	Tail   string
	Number uint32
	Args   []*Field // names are made up where the text has none: arg1, arg2, ...; empty for void
	Result *Type    // nil for void
}

// Underlying follows typedefs to the type they end in. The result is never a
// Ref to a typedef.
func (t *Type) Underlying() *Type {
	for t.Kind == Ref && t.Ref.Kind == Typedef {
		if t.Ref.Base != nil {
			return t.Ref.Base
		}
		t = t.Ref.Type
	}
	return t
}
