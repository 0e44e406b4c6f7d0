package compat

import "github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"

// wire compares types by the encoding of their values. Types refer to each other, so the same pairs
// of declarations recur: wire compares each pair once.
type wire struct {
	// known has the outcome for the pairs that were compared. The pairs under comparison are
	// assumed to be equal.
	known   map[[2]*ir.Decl]bool
	assumed [][2]*ir.Decl // by the comparison under way, in order
}

func newWire() *wire { return &wire{known: map[[2]*ir.Decl]bool{}} }

// same reports whether two types take the same values and give the same bytes.
func (w *wire) same(a, b *ir.Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return w.settle(w.types(a, b))
}

// sameDecl is same for two declarations of types.
func (w *wire) sameDecl(a, b *ir.Decl) bool { return w.same(refTo(a), refTo(b)) }

// sameFields reports whether two sequences of fields take the same values and give the same
// bytes, however they are grouped.
func (w *wire) sameFields(a, b []*ir.Field) bool {
	x, ok := flatFields(a)
	y, fits := flatFields(b)
	return ok && fits && w.settle(w.items(x, y))
}

// settle ends a comparison with its outcome, and returns it. Every comparison is a
// conjunction: if it holds, all its assumptions do. If it fails, the pairs that contain the
// difference are known to differ, and for the others nothing is known.
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

// node returns the declaration of which a type is a value, nil for types that
// have none and for optional ones.
func node(t *ir.Type) *ir.Decl {
	if t.Kind == ir.ListOf {
		return nil
	}
	return t.Ref
}

// types compares two types, whose declarations are assumed to be equal meanwhile.
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

// flat compares the items of two types.
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

// item compares two items, neither a struct nor a typedef.
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

// counted returns the element and the greatest count of what is sent as a
// count and elements. RFC 4506 §4.19: optional data is an array of at most
// one element, and so is a union over bool with one arm void. A linked list is
// optional data: a node, at whose end the rest is.
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

// unions compares discriminants and, value by value, arms.
func (w *wire) unions(a, b *ir.Decl) bool {
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

func (w *wire) arms(a, b *ir.Arm) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case a.Field == nil || b.Field == nil:
		return a.Field == b.Field
	}
	return w.types(a.Field.Type, b.Field.Type)
}
