package codec

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The functions below are for generated views. A view is of bytes that have been checked, so
// these functions cannot fail. They may panic on bytes that have not been checked, or that
// change while the view is used. Those named Skip take the offset of a value in off, and return the
// offset after the value; skip returns the offset after an element.

// Uint32 returns the word at off.
func Uint32(b []byte, off int) uint32 { return binary.BigEndian.Uint32(b[off : off+4]) }

// Uint64 returns the double word at off.
func Uint64(b []byte, off int) uint64 { return binary.BigEndian.Uint64(b[off : off+8]) }

// ViewOpaque returns the opaque data or string whose count is at off, as a slice of b.
func ViewOpaque(b []byte, off int) []byte {
	end := off + 4 + int(Uint32(b, off))
	return b[off+4 : end : end]
}

// ViewOptional returns the optional data whose presence word is at off. value returns the data
// at an offset.
func ViewOptional[T any](b []byte, off int, value func(off int) T) (o xdr.Optional[T]) {
	if Uint32(b, off) != 0 {
		o = xdr.Some(value(off + 4))
	}
	return o
}

// SkipOpaque skips opaque data or a string.
func SkipOpaque(b []byte, off int) int { return off + 4 + xdr.Padded(int(Uint32(b, off))) }

// SkipOptional skips optional data.
func SkipOptional(b []byte, off int, skip func(off int) int) int {
	if Uint32(b, off) == 0 {
		return off + 4
	}
	return skip(off + 4)
}

// SkipArray skips an array.
func SkipArray(b []byte, off int, skip func(off int) int) int {
	return SkipElements(off+4, int(Uint32(b, off)), skip)
}

// SkipFixed skips an array whose elements have size bytes each.
func SkipFixed(b []byte, off, size int) int { return off + 4 + size*int(Uint32(b, off)) }

// SkipElements skips n elements.
func SkipElements(off, n int, skip func(off int) int) int {
	for range n {
		off = skip(off)
	}
	return off
}

// SkipList skips a linked list whose first presence word is at off.
func SkipList(b []byte, off int, skip func(off int) int) int {
	for Uint32(b, off) != 0 {
		off = skip(off + 4)
	}
	return off + 4
}

// Skip returns the offset that SkipXDR returned.
func Skip(off int, _ *xdr.Error) int { return off }
