package plan

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// Plan is the plan of a unit.
type Plan struct {
	Types []*Type // of the unit's own declarations, in source order; not of constants and programs

	unit     *ir.Unit
	of       map[*ir.Decl]*Type
	sites    map[*ir.Field]*Site
	excesses map[excessOf]excess
	bares    map[*Type]int
}

// Op is the kind of a step, or of a type.
type Op int

// The kinds of step. A Type has Enum, Struct, Union or Typedef.
const (
	Word     Op = iota + 1 // a number of 32 bits
	Hyper                  // a number of 64 bits
	Bool                   // a word, 0 or 1
	Enum                   // a word, an enumerator of Of
	Bytes                  // Len bytes of opaque data, and their padding
	Opaque                 // a count, as many bytes of opaque data or text, and their padding
	Loop                   // Len times Elem
	Array                  // a count, and as many times Elem
	Optional               // a presence word, and Elem if it is 1
	List                   // a linked list: presence words, each 1 followed by Elem, the last 0
	Struct                 // the fields of Of, one after the other
	Union                  // the discriminant of Of, and the arm that it selects
	Typedef                // Elem, under the name Of
)

// Number is the kind of the number in a Word or Hyper.
type Number int

// The kinds of number.
const (
	Unsigned Number = iota + 1
	Signed
	Float
)

// Step is the plan of a type at the place where it is used.
type Step struct {
	Op      Op
	Size    ir.Size // of the values on the wire
	Number  Number  // Word, Hyper
	Text    bool    // Opaque: a string
	Len     int     // Bytes, Loop
	Bounded bool    // Opaque, Array: the text has a bound
	Max     uint64  // Opaque, Array: the bound, or 2^32-1
	Head    bool    // List: it has an element, which no presence word precedes
	Elem    *Step   // Loop, Array, Optional, List, Typedef
	Of      *Type   // Enum, Struct, Union, Typedef; the node of a List
	Site    *Site   // Opaque, Array: the placement site that it is; nil for none

	// Flags of steps with a named type. They say that emitters call the methods of Of, and do
	// not write out its parts.
	Call      bool // encoders, decoders and sizes
	CheckCall bool // check-only readers
	PassCall  bool // scans of unchecked messages
	SkipCall  bool // views of checked bytes

	// InRun says that a value has few words and a fixed size, so that its words are part of
	// the run around it.
	InRun bool
	// Unchecked says that all values have one size, and that any bytes are valid.
	Unchecked bool
	// Pointer says of an Optional that its Go value is a pointer. It must be where a type
	// contains itself. Other optional data is value plus presence.
	Pointer bool

	under *Step // Typedef: known to Under
	facts facts
}

// Type is the plan of a declaration.
type Type struct {
	Decl   *ir.Decl
	Op     Op       // Enum, Struct, Union, Typedef
	Body   *Step    // Typedef: the type under the name
	Fields []*Field // Struct: the fields of the Go struct; of a list node, without the next pointer
	Disc   *Field   // Union: the discriminant
	Arms   []*Arm   // Union: the arms, in source order
	Size   ir.Size  // of a value on the wire; of a list node, of an element

	Node      bool // a list node
	Recursive bool // contains itself other than as a linked list
	Open      bool // Enum: other numbers are legal too
	Repeated  bool // a message may hold many
	Compact   bool // its code is kept small: a call of a procedure has a few values at most
	Reducible bool // has a placement site in it
	Inline    bool // encoders, decoders and sizes write it out where it is used
	Zero      bool // Struct, Union: it is emptied by assigning the zero value
	ByField   bool // Struct: views skip it field by field
	View      bool // has a view: fields or arms that can be read from the wire

	Transparent bool // Typedef: only the Go or C name of a built-in type
	Alias       bool // Typedef: another name for a Go type that has methods
	PointerName bool // Typedef: its Go type is a struct with a pointer (ADR 0154)
	Converts    bool // Typedef: a separate number type, which values are converted to

	// RunArm says of a Union that the encoder of some arm begins with a run, which the
	// discriminant can be part of.
	RunArm bool

	elem  *Step // Struct: the elements of this node's lists
	uses  uses
	facts facts
}

// uses are the places that use a type.
type uses struct {
	count int     // in the unit
	by    []*Type // the types that hold it, of the imports too
}

// Field is a field of a struct, an arm or a discriminant of a union.
type Field struct {
	*ir.Field
	Step *Step
}

// Arm is an arm of a union.
type Arm struct {
	*ir.Arm
	Field   *Field // nil for void
	Pointer bool   // its Go field is a pointer to the value (ADR 0002)
	Dead    bool   // the default arm of a union over a bool that has both other arms
}

// Site is a placement site: an item that an upper-layer binding makes eligible for direct data
// placement (RFC 8166 §6.1).
type Site struct {
	Owner *ir.Decl
	Field *ir.Field
}

// Of returns the plan for a declaration in the unit or its imports.
func (p *Plan) Of(d *ir.Decl) *Type { return p.of[d] }

// Site returns the placement site of a field, or nil.
func (p *Plan) Site(f *ir.Field) *Site { return p.sites[f] }

// Min returns the smallest size of a value on the wire: the size, if all values have one.
func (s *Step) Min() int { return int(s.Size.Min) }

// Seq reports whether a value is a sequence of elements.
func (s *Step) Seq() bool { return s.Op == Loop || s.Op == Array || s.Op == List }

// Selectors reports whether the Go code for a value uses selectors only, which work on a pointer
// as well.
func (s *Step) Selectors() bool {
	s = s.Resolved()
	return s.Op == Struct || s.Op == Union || s.Op == Optional && !s.Pointer
}

// Whole returns the step for t in t's own methods, which write all of t out.
func (t *Type) Whole() *Step {
	return &Step{Op: t.Op, Of: t, Elem: t.Body, Size: t.Size, InRun: t.Op == Enum}
}

// Closed reports whether the discriminant of a union takes enumerators only.
func (t *Type) Closed() bool {
	u := t.Disc.Step.Under()
	return u.Op == Enum && !u.Of.Open
}

// Wide reports whether t is a union with so many arms that its codec calls their methods.
func (t *Type) Wide() bool { return t.Op == Union && len(t.Arms) > wideUnion }

// HasDefault reports whether a union has a default arm.
func (t *Type) HasDefault() bool {
	for _, a := range t.Arms {
		if a.Default {
			return true
		}
	}
	return false
}

// Empty reports whether elements of a list have no bytes on the wire but the presence words.
func (s *Step) Empty() bool { return s.Size.Fixed() && s.Size.Min == 0 }

// NodeElem reports whether a value is an element of a list whose nodes have several fields.
func (s *Step) NodeElem() bool { return s.Op == Struct && s.Of.Node }
