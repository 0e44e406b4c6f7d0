package compat

import (
	"math/bits"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// maxItems limits the items of a flattened type. Longer types count as different unless they
// are versions of one declaration.
const maxItems = 4096

// item is n values of one type in a row. The type is not a struct and not a typedef.
type item struct {
	t *ir.Type
	n uint64
}

// flat returns the items that a value of t consists of, in a form that does not depend on how
// the type is written. It follows typedefs, replaces structs by their fields
// (RFC 4506 §4.14) and fixed-length arrays by their elements (§4.12), and splits fixed-length
// opaque data (§4.9) into words. It reports false if there are more than maxItems steps.
func flat(t *ir.Type) ([]item, bool) {
	f := flattener{left: maxItems}
	f.add(t)
	return f.out, f.left > 0
}

// flatFields is flat for a list of fields.
func flatFields(fields []*ir.Field) ([]item, bool) {
	f := flattener{left: maxItems}
	f.fields(fields)
	return f.out, f.left > 0
}

// flattener is the state of one flat.
type flattener struct {
	out  []item
	left int // steps that remain
}

// quad is a word of opaque data: four bytes.
var quad = &ir.Type{Kind: ir.FixedOpaque, Len: 4}

func (f *flattener) add(t *ir.Type) {
	if f.left--; f.left <= 0 {
		return
	}
	t = t.Underlying()
	switch {
	case t.Kind == ir.ListHead, t.Kind == ir.Ref && t.Ref.Kind == ir.Struct:
		f.fields(t.Ref.Fields)
	case t.Kind == ir.FixedArray:
		f.array(t)
	case t.Kind == ir.FixedOpaque:
		f.emit(quad, t.Len/4)
		if rest := t.Len % 4; rest > 0 {
			f.emit(&ir.Type{Kind: ir.FixedOpaque, Len: rest, Pos: t.Pos}, 1)
		}
	default:
		f.emit(t, 1)
	}
}

func (f *flattener) fields(fields []*ir.Field) {
	for _, x := range fields {
		if f.left <= 0 {
			return
		}
		f.add(x.Type)
	}
}

// array adds the elements of a fixed-length array, or the array itself if they are too many.
func (f *flattener) array(t *ir.Type) {
	if t.Len == 0 {
		return
	}
	elem := flattener{left: f.left}
	elem.add(t.Elem)
	f.left = elem.left
	if len(elem.out) == 1 && countable(elem.out[0].t) {
		if high, n := bits.Mul64(elem.out[0].n, t.Len); high == 0 {
			f.emit(elem.out[0].t, n)
			return
		}
	}
	if n := uint64(len(elem.out)); n > 0 && t.Len > uint64(max(f.left, 0))/n {
		f.emit(t, 1)
		return
	}
	for range t.Len {
		for _, x := range elem.out {
			f.left--
			f.emit(x.t, x.n)
		}
	}
}

// emit adds n values of a type.
func (f *flattener) emit(t *ir.Type, n uint64) {
	if n == 0 {
		return
	}
	if last := len(f.out) - 1; last >= 0 && countable(t) && f.out[last].t.Kind == t.Kind && countable(f.out[last].t) {
		if sum, carry := bits.Add64(f.out[last].n, n, 0); carry == 0 {
			f.out[last].n = sum
			return
		}
	}
	f.out = append(f.out, item{t, n})
}

// countable reports whether all types of t's kind are equal, so that several in a row can be
// one item.
func countable(t *ir.Type) bool {
	return t.Kind >= ir.Bool && t.Kind <= ir.Quad || t.Kind == ir.FixedOpaque && t.Len == 4
}
