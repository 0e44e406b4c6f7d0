package compat

import (
	"math/bits"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
)

// maxItems limits how far a type is laid out flat; longer ones are held to
// differ unless they are the same declaration.
const maxItems = 4096

// item is one type n times in a row. It is no struct and no typedef.
type item struct {
	t *ir.Type
	n uint64
}

// flat returns the items that a value of t consists of, the same for all ways
// to write them: typedefs are followed, structs (RFC 4506 §4.14: its fields and
// nothing else) and arrays of fixed length (§4.12: its elements and nothing
// else) are laid out, opaque data of fixed length (§4.9) goes by four bytes.
func flat(t *ir.Type) ([]item, bool) {
	f := flattener{left: maxItems}
	f.add(t)
	return f.out, f.left > 0
}

// flatFields is flat for fields that follow each other.
func flatFields(fields []*ir.Field) ([]item, bool) {
	f := flattener{left: maxItems}
	f.fields(fields)
	return f.out, f.left > 0
}

type flattener struct {
	out  []item
	left int // steps
}

// quad is a word of opaque data.
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

// array adds the elements of an array of fixed length; the array itself where
// there are too many of them.
func (f *flattener) array(t *ir.Type) {
	if t.Len == 0 {
		return
	}
	elem := flattener{left: f.left}
	elem.add(t.Elem)
	f.left = elem.left
	if len(elem.out) == 1 && runs(elem.out[0].t) {
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

// emit adds a type n times.
func (f *flattener) emit(t *ir.Type, n uint64) {
	if n == 0 {
		return
	}
	if last := len(f.out) - 1; last >= 0 && runs(t) && f.out[last].t.Kind == t.Kind && runs(f.out[last].t) {
		if sum, carry := bits.Add64(f.out[last].n, n, 0); carry == 0 {
			f.out[last].n = sum
			return
		}
	}
	f.out = append(f.out, item{t, n})
}

// runs reports whether a type is the same wherever its kind is, so that its
// items are counted.
func runs(t *ir.Type) bool {
	return t.Kind >= ir.Bool && t.Kind <= ir.Quad || t.Kind == ir.FixedOpaque && t.Len == 4
}
