package compat

import "github.com/rpcrdma/rpcrdma/cmd/internal/ir"

// wire compares the encodings of types. Types refer to each other, so the same pairs of
// declarations recur: wire compares each pair once.
type wire struct {
	// known has the result for the pairs that were compared. A pair under comparison is
	// assumed to be equal.
	known   map[[2]*ir.Decl]bool
	assumed [][2]*ir.Decl // pairs assumed equal by the current comparison, in order
}

func newWire() *wire { return &wire{known: map[[2]*ir.Decl]bool{}} }

// same reports whether two types have the same values and encode them as the same bytes.
func (w *wire) same(a, b *ir.Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return w.settle(w.types(a, b))
}

// sameDecl is same for two declarations of types.
func (w *wire) sameDecl(a, b *ir.Decl) bool { return w.same(refTo(a), refTo(b)) }

// sameFields reports whether two lists of fields have the same encoding, however they are
// grouped.
func (w *wire) sameFields(a, b []*ir.Field) bool {
	x, ok := flatFields(a)
	y, fits := flatFields(b)
	return ok && fits && w.settle(w.items(x, y))
}

// settle ends a comparison and returns its result. A comparison is a conjunction: if it is
// true, so are all its assumptions. If it is false, the pairs that contain the difference are
// known to differ, and settle forgets the other assumptions.
func (w *wire) settle(equal bool) bool {
	if !equal {
		for _, key := range w.assumed {
			if w.known[key] {
				delete(w.known, key)
			}
		}
	}
	w.assumed = w.assumed[:0]
	return equal
}

func refTo(d *ir.Decl) *ir.Type { return &ir.Type{Kind: ir.Ref, Ref: d, Pos: d.Pos} }

// node returns the declaration that t refers to, or nil if it refers to none or is optional.
func node(t *ir.Type) *ir.Decl {
	if t.Kind == ir.ListOf {
		return nil
	}
	return t.Ref
}

// types reports whether two types have the same encoding. It assumes meanwhile that their
// declarations have.
func (w *wire) types(a, b *ir.Type) bool {
	x, y := node(a), node(b)
	if x == nil || y == nil {
		return w.flat(a, b)
	}
	key := [2]*ir.Decl{x, y}
	if equal, ok := w.known[key]; ok {
		return equal
	}
	w.known[key] = true
	w.assumed = append(w.assumed, key)
	if !w.flat(a, b) {
		w.known[key] = false
	}
	return w.known[key]
}

// flat reports whether the items of two types have the same encoding.
func (w *wire) flat(a, b *ir.Type) bool {
	x, ok := flat(a)
	y, fits := flat(b)
	return ok && fits && w.items(x, y)
}

func (w *wire) items(x, y []item) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].n != y[i].n || !w.item(x[i].t, y[i].t) {
			return false
		}
	}
	return true
}

// item reports whether two types, neither structs nor typedefs, have the same encoding.
func (w *wire) item(a, b *ir.Type) bool {
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
	case ir.Ref:
		return a.Ref.Kind == b.Ref.Kind && w.unions(a.Ref, b.Ref)
	}
	return true
}

// counted returns the element type and the largest count of a type that is encoded as a count
// and elements, and whether t is one. RFC 4506 §4.19: optional data is an array of at most one
// element, and so is a union over bool whose FALSE arm is void. A linked list is optional data:
// a node, at whose end is the rest of the list.
func counted(t *ir.Type) (elem *ir.Type, max uint64, ok bool) {
	switch t.Kind {
	case ir.Array:
		return t.Elem, t.Max, true
	case ir.Optional:
		return t.Elem, 1, true
	case ir.ListOf:
		return &ir.Type{Kind: ir.ListHead, Ref: t.Ref, Pos: t.Pos}, 1, true
	case ir.Ref:
		if t.Ref.Kind == ir.Union && t.Ref.Disc.Type.Underlying().Kind == ir.Bool {
			arms := ir.ArmsOf(t.Ref)
			yes, no := arms.At(1), arms.At(0)
			if yes != nil && no != nil && yes.Field != nil && no.Field == nil {
				return yes.Field.Type, 1, true
			}
		}
	}
	return nil, 0, false
}

// isBytes reports whether a type is variable-length opaque or string, which have the same
// encoding (RFC 4506 §4.11).
func isBytes(t *ir.Type) bool { return t.Kind == ir.Opaque || t.Kind == ir.String }

// unions reports whether two unions have the same encoding: the same values of the
// discriminant, and for each of them arms with the same encoding.
func (w *wire) unions(a, b *ir.Decl) bool {
	da, db := domain(a), domain(b)
	if !da.equal(db) {
		return false
	}
	x, y := ir.ArmsOf(a), ir.ArmsOf(b)
	for _, v := range labels(a, b) {
		if !da.has(v) {
			continue
		}
		if !w.arms(x.At(v), y.At(v)) {
			return false
		}
	}
	return !da.open || w.arms(x.Other, y.Other)
}

func (w *wire) arms(a, b *ir.Arm) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case a.Field == nil || b.Field == nil:
		return a.Field == b.Field
	}
	return w.types(a.Field.Type, b.Field.Type)
}
