package dynamic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// Value is one node of a tree of values. Which fields count follows from the
// type underneath:
//
//	Bool, Int, Uint, Hyper, Uhyper, Float, Double   Word: its bits, sign-extended for Int
//	enum                                            Word as Int, Member
//	Quad, FixedOpaque, Opaque, String               Bytes
//	struct                                          Items: the fields
//	union                                           Items: discriminant and, unless void, arm; Arm
//	FixedArray, Array, ListOf, ListHead             Items: the elements
//	Optional                                        Items: none or one
//
// Decode also leaves the last count or presence word of opaque data, arrays,
// lists and optionals in Word, which tells how far a value at fault came.
type Value struct {
	Name   string   // of the field; empty for an element, and for the root
	Index  int      // of the element; -1 for a field
	Type   *ir.Type // as declared; typedefs are not followed
	Offset int      // of the first byte: in the XDR, or in the JSON text it was read from
	Length int      // bytes of XDR, padding, counts and presence words included
	Word   uint64
	Bytes  []byte // shared with the input of Decode
	Member *ir.Member
	Arm    *ir.Arm
	Items  []*Value
}

// Limits bounds what a value may cost. Zero fields mean the defaults.
type Limits struct {
	Depth  int // nesting of types that hold themselves; 128
	Values int // nodes of the tree; 1048576
}

const (
	defaultDepth  = 128
	defaultValues = 1 << 20
)

func (l Limits) depth() int  { return orDefault(l.Depth, defaultDepth) }
func (l Limits) values() int { return orDefault(l.Values, defaultValues) }

func orDefault(n, d int) int {
	if n == 0 {
		return d
	}
	return n
}

// Code is the class of an [Error].
type Code string

// The codes of faults. The first ones are those of package runtime/xdr.
const (
	Short    Code = "short"    // the input ends inside a value
	Trailing Code = "trailing" // bytes after the value
	Bool     Code = "bool"     // boolean or presence word neither 0 nor 1
	Padding  Code = "padding"  // padding byte not zero
	Bound    Code = "bound"    // length over the declared maximum, or not the fixed one
	Enum     Code = "enum"     // number that is no enumerator
	Union    Code = "union"    // discriminant without an arm
	Depth    Code = "depth"    // nested deeper than the limit
	Memory   Code = "memory"   // more values than the limit
	Empty    Code = "empty"    // list that must have an element has none
	JSON     Code = "json"     // JSON text that is not well-formed or not of the type
)

// rule names what each code is founded on.
func (c Code) rule() string {
	switch c {
	case Short, Padding:
		return "RFC 4506 §3"
	case Trailing:
		return "a message is one value"
	case Bool:
		return "RFC 4506 §4.4"
	case Bound:
		return "RFC 4506 §4.10"
	case Enum:
		return "RFC 4506 §4.3"
	case Union:
		return "RFC 4506 §4.15"
	case Empty:
		return "RFC 4506 §4.19"
	case JSON:
		return "RFC 8259, and the JSON form in xdrgen help json"
	}
	return "a limit of this tool"
}

// Error is the fault that ended a Decode, Encode or ParseJSON.
type Error struct {
	Code    Code
	Path    string // from the root: "body.writes[3].target"; empty for the root itself
	Offset  int    // of the offending bytes in the input
	Length  int    // how many bytes are at fault; 0 where some are missing
	Message string // what was found and what was expected
	Note    string // what else may be the cause; may be empty
}

// Rule names the rule that was broken.
func (e *Error) Rule() string { return e.Code.rule() }

// Error renders the fault in one line.
func (e *Error) Error() string {
	path := e.Path
	if path == "" {
		path = "value"
	}
	s := fmt.Sprintf("%s: offset %d: %s (%s)", path, e.Offset, e.Message, e.Rule())
	if e.Note != "" {
		s += "; " + e.Note
	}
	return s
}

// pathOf returns the path of the last value of a chain that begins at the root.
func pathOf(chain []*Value) string {
	var b strings.Builder
	for _, v := range chain {
		switch {
		case v.Index >= 0:
			b.WriteString("[" + strconv.Itoa(v.Index) + "]")
		case v.Name != "":
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(v.Name)
		}
	}
	return b.String()
}

// enumOf returns the enum that t is, through typedefs, or nil.
func enumOf(t *ir.Type) *ir.Decl {
	if u := t.Underlying(); u.Kind == ir.Ref && u.Ref.Kind == ir.Enum {
		return u.Ref
	}
	return nil
}

// fieldsOf returns the fields of a struct, of a list node without the pointer
// to the next.
func fieldsOf(d *ir.Decl) []*ir.Field {
	if d.List != nil {
		return d.List.Elem
	}
	return d.Fields
}

// index finds enumerators and arms by number, however many there are.
type index struct {
	members map[*ir.Decl]map[int32]*ir.Member
	arms    map[*ir.Decl]map[uint32]*ir.Arm
	nodes   map[*ir.Decl]*ir.Type
}

func newIndex() index {
	return index{map[*ir.Decl]map[int32]*ir.Member{}, map[*ir.Decl]map[uint32]*ir.Arm{}, map[*ir.Decl]*ir.Type{}}
}

// member returns the first enumerator with a number, or nil.
func (x index) member(d *ir.Decl, n int32) *ir.Member {
	m := x.members[d]
	if m == nil {
		m = make(map[int32]*ir.Member, len(d.Members))
		for _, e := range d.Members {
			if m[e.Value] == nil {
				m[e.Value] = e
			}
		}
		x.members[d] = m
	}
	return m[n]
}

// arm returns the arm that a discriminant selects, or nil.
func (x index) arm(d *ir.Decl, word uint32) *ir.Arm {
	m := x.arms[d]
	if m == nil {
		m = map[uint32]*ir.Arm{}
		for _, a := range d.Arms {
			for _, l := range a.Labels {
				n := uint32(l.Value.Abs)
				if l.Value.Neg {
					n = -n
				}
				m[n] = a
			}
		}
		x.arms[d] = m
	}
	if a := m[word]; a != nil {
		return a
	}
	for _, a := range d.Arms {
		if a.Default {
			return a
		}
	}
	return nil
}

// node returns the type of the elements of a linked list.
func (x index) node(d *ir.Decl) *ir.Type {
	t := x.nodes[d]
	if t == nil {
		t = &ir.Type{Kind: ir.Ref, Ref: d, Pos: d.Pos}
		x.nodes[d] = t
	}
	return t
}
