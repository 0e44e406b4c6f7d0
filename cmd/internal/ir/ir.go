// Package ir declares the resolved form of an XDR unit: names are bound, constants are
// computed, bounds are checked and wire sizes are known. Package sema builds it. Package gogen
// and the other back ends read it and do not change it.
//
// A unit is one or more .x files that share one scope and become one package. Names are those
// of XDR (RFC 4506, RFC 5531 §12). A back end derives the names of its own language.
package ir

import (
	"strconv"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// Unit is the input of one run of the compiler.
type Unit struct {
	Name    string    // unit name: the folder or package, such as "rpcrdma2"
	Files   []*File   // the unit's own files, in command line order
	Imports []*Import // units it builds on, in order of first include; amended ones come first
	Decls   []*Decl   // the unit's own declarations, in source order

	From map[string]string // units that the sidecar chooses, by the names that several declare
}

// File is a source file of a unit.
type File struct {
	Name    string   // base name, such as "common.x"
	SHA256  string   // hash of the text, in hexadecimal
	License []string // lines of the comment with the code licence, without comment signs
}

// Import is another unit whose declarations a unit uses.
type Import struct {
	Include string // as written: "rpcrdma2/common.x"
	Unit    string // "rpcrdma2"
	Package string // Go import path; from the sidecar or the -import-root flag
	GoName  string // Go package name
	Bind    *Bind  // its sidecar, which determines its Go names
	Decls   []*Decl
}

// DeclKind is the kind of a declaration.
type DeclKind int

// The kinds of declaration.
const (
	Const   DeclKind = iota + 1 // const A = 1
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
	Doc    []string // lines of the comment directly before it, without comment signs
	Tail   string   // comment after it on the same line
	Import *Import  // the unit that declares it; nil for the unit itself
	Anon   bool     // the type has no name in the text; Name was made up
	Inner  bool     // declared inside another declaration
	Of     *Decl    // an included declaration that this one copies, with additions; or nil

	Value   Value     // Const
	Members []*Member // Enum
	Open    bool      // Enum: numbers that are not members are legal too (sidecar "open")
	Fields  []*Field  // Struct: all fields but void ones
	Disc    *Field    // Union: the discriminant (underlying type Bool, Int, Uint or Enum)
	Arms    []*Arm    // Union: all arms, in source order
	Type    *Type     // Typedef
	Base    *Type     // Typedef: the type that the chain of typedefs ends in; nil until it is known
	Program *Prog     // Program

	List      *List  // Struct: the shape of a linked list node; nil if it is not one
	NotList   string // Struct that refers to itself: the reason why it is not a linked list node
	Recursive bool   // contains itself other than as a linked list: decoding limits the depth
	Size      Size
}

// Value is an integer constant from -2^63 to 2^64-1.
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
	Text  string // the value as written; empty if the text has none
}

// Field is a member of a struct, a union's discriminant, or an argument.
type Field struct {
	Name string
	Pos  source.Span
	Doc  []string
	Tail string
	Type *Type
}

// Arm is an arm of a union: its labels and its declaration.
type Arm struct {
	Pos     source.Span
	Labels  []Label // empty if "default:" is its only label
	Default bool    // its labels include "default:"
	Field   *Field  // nil for void
}

// Label is a case label of an arm.
type Label struct {
	Pos    source.Span
	Value  Value
	Member *Member // the enumerator that it names, or nil
	Const  *Decl   // the constant that it names, or nil
}

// Word returns the label as the word on the wire that the discriminant has.
func (l Label) Word() uint32 {
	if l.Value.Neg {
		return -uint32(l.Value.Abs)
	}
	return uint32(l.Value.Abs)
}

// List is the shape of a linked list node. All fields but the pointer to the next node are the
// element. On the wire, a list has a word 1 and the element for each element, and then a word 0
// (RFC 4506 §4.19). If the head of the list is not optional, the first element has no word
// before it.
type List struct {
	Elem []*Field // the fields of an element, in wire order
	Next *Field   // the pointer: always the last field

	// Single says that Elem is one field which can stand for the element: it does not lead back to
	// the node by lists, arrays and typedefs alone.
	Single bool

	// Whole is a typedef of the list, with an element at least, that the node's name stands for on
	// the wire. No text declares it, so that it is in no Decls of a unit.
	Whole *Decl
}

// IsList reports whether d is the typedef Whole of a node.
func (d *Decl) IsList() bool {
	return d.Kind == Typedef && d.Type.Kind == ListHead && d.Type.Ref.List.Whole == d
}

// Kind is the kind of a type.
type Kind int

// The kinds of type. Void is a nil type.
const (
	Bool        Kind = iota + 1
	Int              // 32 bits
	Uint             // 32 bits
	Hyper            // 64 bits
	Uhyper           // 64 bits
	Float            // 32 bits
	Double           // 64 bits
	Quad             // 128 bits, handled as opaque data (RFC 4506 §4.8)
	FixedOpaque      // opaque x[Len]
	Opaque           // opaque x<Max>
	String           // string x<Max>
	FixedArray       // Elem x[Len]
	Array            // Elem x<Max>
	Optional         // Elem *x, where Elem is not a list node
	ListOf           // linked list of the node Ref; on the wire, it begins with the presence word
	ListHead         // linked list of at least one element: the node Ref, not optional
	Ref              // Ref, which is an enum, a struct that is not a list node, a union or a typedef
)

// words are the XDR keywords of the types that do not refer to another type.
var words = [...]string{
	Bool: "bool", Int: "int", Uint: "unsigned int", Hyper: "hyper", Uhyper: "unsigned hyper",
	Float: "float", Double: "double", Quad: "quadruple", FixedOpaque: "opaque", Opaque: "opaque", String: "string",
}

// Word returns the XDR keyword of the kind, without length or bound. It returns "" for the kinds
// that refer to another type.
func (k Kind) Word() string {
	if int(k) >= len(words) {
		return ""
	}
	return words[k]
}

// Type is the type of a field or typedef.
type Type struct {
	Kind    Kind
	Pos     source.Span
	Elem    *Type  // FixedArray, Array, Optional
	Ref     *Decl  // Ref, ListOf, ListHead
	Len     uint64 // FixedOpaque, FixedArray
	Bounded bool   // Opaque, String, Array: the text has a bound, which is Max
	Max     uint64 // Opaque, String, Array: the bound, or 2^32-1
	LenText string // the length or bound as written, if it is a name

	LenConst *Decl  // the constant that is the length or bound, or nil
	CName    string // Int, Uint: the C type of fewer than 32 bits in the text: "short"
	Size     Size
}

// Bounds returns the bound of a variable-length type in XDR notation: "<>" or "<64>".
func (t *Type) Bounds() string {
	if !t.Bounded {
		return "<>"
	}
	return "<" + strconv.FormatUint(t.Max, 10) + ">"
}

// Size is the size of the values of a type on the wire, in bytes, padding included.
type Size struct {
	Min       uint64 // saturates at 2^63-1
	Max       uint64 // not valid if Unbounded
	Unbounded bool   // the type has a list or is recursive, or Max would be 2^63-1 or more
}

// Fixed reports whether every value has the same size.
func (s Size) Fixed() bool { return !s.Unbounded && s.Min == s.Max }

// Prog is a program (RFC 5531 §12).
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
	Args   []*Field // those without a name in the text are arg1, arg2, ...; empty for void
	Result *Type    // nil for void

	// The arguments and the result as one value each, for stubs: a number or bool, or a Ref. Where
	// the text has several arguments, or a type without a name, it is to a declaration made up for
	// it. Nil for void, and if no stubs are wanted.
	Call, Reply *Type

	Once        bool     // executing it a second time does harm (sidecar "once")
	NonBlocking bool     // it never waits at the server (sidecar "nonblocking")
	Limit       []*Field // path in Call to the bound of the reply (sidecar "reply"), or nil
}

// Underlying returns the type that a chain of typedefs ends in. It is never a Ref to a typedef.
func (t *Type) Underlying() *Type {
	for t.Kind == Ref && t.Ref.Kind == Typedef {
		if t.Ref.Base != nil {
			return t.Ref.Base
		}
		t = t.Ref.Type
	}
	return t
}
