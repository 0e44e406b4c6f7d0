package dynamic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// Value is a node in a tree of values. The underlying type determines the fields in use:
//
//	Bool, Int, Uint, Hyper, Uhyper, Float, Double   Word: its bits, sign-extended for Int
//	enum                                            Word as Int, Member
//	Quad, FixedOpaque, Opaque, String               Bytes
//	struct                                          Items: the fields
//	union                                           Items: discriminant and, unless void, arm; Arm
//	FixedArray, Array, ListOf, ListHead             Items: the elements
//	Optional                                        Items: none or one
//
// Decode also sets Word to the last count or presence word of opaque data, arrays, lists and
// optional data. It shows how far Decode got in a faulty value.
type Value struct {
	Name   string   // name of the field; empty for an element and for the root
	Index  int      // index of the element; -1 for a field
	Type   *ir.Type // as declared; typedefs are not followed
	Offset int      // of the first byte in the XDR, or in the JSON text if it was parsed from JSON
	Length int      // bytes of XDR, with padding, counts and presence words
	Word   uint64
	Bytes  []byte // shared with the input of Decode
	Member *ir.Member
	Arm    *ir.Arm
	Items  []*Value

	// Set by Codes.Annotate:
	Number  *Number // meaning of a number
	Inner   *Value  // value in opaque data, as far as it was decoded
	Fault   *Error  // fault in the opaque data, or nil
	Default bool    // the opaque data are empty and stand for the default value
}

// Limits bounds the cost of a tree.
type Limits struct {
	// Depth is the greatest depth of recursive types. If zero, the default is 128.
	Depth int
	// Values is the greatest number of values in the tree. If zero, the default is 1048576.
	Values int
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

// Code is the kind of an [Error].
type Code string

// The codes of faults. All but JSON are also codes of package runtime/xdr.
const (
	Short    Code = "short"    // the input ends within a value
	Trailing Code = "trailing" // there are bytes after the value
	Bool     Code = "bool"     // a boolean or presence word is neither 0 nor 1
	Padding  Code = "padding"  // a padding byte is not zero
	Bound    Code = "bound"    // a length is above the bound, or not the fixed length
	Enum     Code = "enum"     // a number is not an enumerator
	Union    Code = "union"    // a discriminant has no arm
	Depth    Code = "depth"    // the depth is above the limit
	Memory   Code = "memory"   // the number of values is above the limit
	Empty    Code = "empty"    // a list that must have an element is empty
	JSON     Code = "json"     // the JSON text is not valid, or does not fit the type
)

// rule returns the rule that a fault breaks.
func (c Code) rule() string {
	switch c {
	case Short, Padding:
		return "RFC 4506 §3"
	case Trailing:
		return "the data is one value"
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
	return "a limit of this command"
}

// Error is a fault found by Decode, Encode or ParseJSON.
type Error struct {
	Code    Code
	Path    string // from the root: "body.writes[3].target"; empty for the root itself
	Offset  int    // of the faulty bytes in the input
	Length  int    // number of faulty bytes; 0 if bytes are missing
	Message string // "found ..., expected ..."
	Note    string // another possible cause, or empty
}

// Rule returns the rule that the input breaks.
func (e *Error) Rule() string { return e.Code.rule() }

// Error returns the fault on one line.
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

// pathOf returns the path to the last value of a chain, which begins at the root.
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

// enumOf returns the enum that t is, following typedefs, or nil if t is not an enum.
func enumOf(t *ir.Type) *ir.Decl {
	if u := t.Underlying(); u.Kind == ir.Ref && u.Ref.Kind == ir.Enum {
		return u.Ref
	}
	return nil
}

// fieldsOf returns the fields of a struct. For a list node, it leaves out the pointer to the
// next node.
func fieldsOf(d *ir.Decl) []*ir.Field {
	if d.List != nil {
		return d.List.Elem
	}
	return d.Fields
}

// index finds enumerators, arms and list nodes without searching.
type index struct {
	members map[*ir.Decl]map[int32]*ir.Member
	names   map[*ir.Decl]map[string]*ir.Member
	arms    map[*ir.Decl]ir.Arms
	nodes   map[*ir.Decl]*ir.Type
}

func newIndex() index {
	return index{
		members: map[*ir.Decl]map[int32]*ir.Member{},
		names:   map[*ir.Decl]map[string]*ir.Member{},
		arms:    map[*ir.Decl]ir.Arms{},
		nodes:   map[*ir.Decl]*ir.Type{},
	}
}

// member returns the first enumerator with a number, or nil if d does not have one.
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

// named returns the enumerator with a name, or nil if d does not have it.
func (x index) named(d *ir.Decl, name string) *ir.Member {
	m := x.names[d]
	if m == nil {
		m = make(map[string]*ir.Member, len(d.Members))
		for _, e := range d.Members {
			m[e.Name] = e
		}
		x.names[d] = m
	}
	return m[name]
}

// arm returns the arm that a discriminant selects, or nil if it does not select one.
func (x index) arm(d *ir.Decl, disc *Value) *ir.Arm {
	arms, ok := x.arms[d]
	if !ok {
		arms = ir.ArmsOf(d)
		x.arms[d] = arms
	}
	return arms.At(int64(disc.Word))
}

// node returns the element type of a linked list.
func (x index) node(d *ir.Decl) *ir.Type {
	t := x.nodes[d]
	if t == nil {
		t = &ir.Type{Kind: ir.Ref, Ref: d, Pos: d.Pos}
		x.nodes[d] = t
	}
	return t
}
