package compat

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"

// maxItems limits how far nested structs are laid out flat; longer ones are
// held to differ unless they are the same declaration.
const maxItems = 4096

// wire compares forms on the wire. Pairs under comparison are assumed equal:
// every comparison is a conjunction, so one difference anywhere ends it.
type wire map[[2]*ir.Decl]bool

// same reports whether two types take the same values and give the same bytes.
func same(a, b *ir.Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return wire{}.types(a, b)
}

// sameDecl is same for two declarations of types.
func sameDecl(a, b *ir.Decl) bool { return same(refTo(a), refTo(b)) }

func refTo(d *ir.Decl) *ir.Type { return &ir.Type{Kind: ir.Ref, Ref: d, Pos: d.Pos} }

// types compares two types, whose declarations are assumed equal from here on.
func (w wire) types(a, b *ir.Type) bool {
	if a.Ref != nil && b.Ref != nil && a.Kind == b.Kind {
		key := [2]*ir.Decl{a.Ref, b.Ref}
		if w[key] {
			return true
		}
		w[key] = true
	}
	x, ok := flat(a)
	y, fits := flat(b)
	return ok && fits && w.items(x, y)
}

func (w wire) items(x, y []*ir.Type) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !w.item(x[i], y[i]) {
			return false
		}
	}
	return true
}

// flat returns the items that a value of t consists of: typedefs followed,
// structs laid out. RFC 4506 §4.14: a struct is its fields and nothing else.
func flat(t *ir.Type) ([]*ir.Type, bool) {
	f := flattener{left: maxItems}
	f.add(t)
	return f.out, f.left > 0
}

// flatFields is flat for fields that follow each other.
func flatFields(fields []*ir.Field) ([]*ir.Type, bool) {
	f := flattener{left: maxItems}
	f.fields(fields)
	return f.out, f.left > 0
}

type flattener struct {
	out  []*ir.Type
	left int // steps
}

func (f *flattener) add(t *ir.Type) {
	if f.left--; f.left <= 0 {
		return
	}
	t = t.Underlying()
	if t.Kind == ir.Ref && t.Ref.Kind == ir.Struct {
		f.fields(t.Ref.Fields)
		return
	}
	f.out = append(f.out, t)
}

func (f *flattener) fields(fields []*ir.Field) {
	for _, x := range fields {
		if f.left <= 0 {
			return
		}
		f.add(x.Type)
	}
}

// item compares two items, neither a struct nor a typedef.
func (w wire) item(a, b *ir.Type) bool {
	if ea, max, ok := counted(a); ok {
		eb, other, ok := counted(b)
		return ok && max == other && w.types(ea, eb)
	}
	switch {
	case isBytes(a):
		return isBytes(b) && a.Max == b.Max
	case isWord(a):
		return isWord(b) && values(a).equal(values(b))
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case ir.FixedOpaque:
		return a.Len == b.Len
	case ir.FixedArray:
		return a.Len == b.Len && w.types(a.Elem, b.Elem)
	case ir.ListOf, ir.ListHead:
		return w.lists(a.Ref, b.Ref)
	case ir.Ref:
		return a.Ref.Kind == b.Ref.Kind && w.unions(a.Ref, b.Ref)
	}
	return true
}

// counted returns the element and the greatest count of what is sent as a
// count and elements. RFC 4506 §4.19: optional data is an array of at most
// one element, and so is a union over bool with one arm void.
func counted(t *ir.Type) (elem *ir.Type, max uint64, ok bool) {
	switch t.Kind {
	case ir.Array:
		return t.Elem, t.Max, true
	case ir.Optional:
		return t.Elem, 1, true
	case ir.Ref:
		if t.Ref.Kind == ir.Union && t.Ref.Disc.Type.Underlying().Kind == ir.Bool {
			arms := armsOf(t.Ref)
			yes, no := arms.at(1), arms.at(0)
			if yes != nil && no != nil && yes.Field != nil && no.Field == nil {
				return yes.Field.Type, 1, true
			}
		}
	}
	return nil, 0, false
}

// isBytes tells opaque and string, which are sent alike (RFC 4506 §4.11).
func isBytes(t *ir.Type) bool { return t.Kind == ir.Opaque || t.Kind == ir.String }

// lists compares two list nodes: their elements.
func (w wire) lists(a, b *ir.Decl) bool {
	if a.List == nil || b.List == nil {
		return a.List == b.List
	}
	key := [2]*ir.Decl{a, b}
	if w[key] && a != b {
		return true
	}
	w[key] = true
	x, ok := flatFields(a.List.Elem)
	y, fits := flatFields(b.List.Elem)
	return ok && fits && w.items(x, y)
}

// unions compares discriminants and, value by value, arms.
func (w wire) unions(a, b *ir.Decl) bool {
	da, db := domain(a), domain(b)
	if !da.equal(db) {
		return false
	}
	x, y := armsOf(a), armsOf(b)
	for _, v := range labels(a, b) {
		if !da.has(v) {
			continue
		}
		if !w.arms(x.at(v), y.at(v)) {
			return false
		}
	}
	return !da.open || w.arms(x.other, y.other)
}

func (w wire) arms(a, b *ir.Arm) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case a.Field == nil || b.Field == nil:
		return a.Field == b.Field
	}
	return w.types(a.Field.Type, b.Field.Type)
}
