package xdr

import "encoding/binary"

// This file is what generated views stand on. A view is bytes that were
// checked, so nothing here can fail; bytes that were not, or that change
// while the view is used, can make it panic.

// Uint32 is the word at off. For generated code.
func Uint32(b []byte, off int) uint32 { return binary.BigEndian.Uint32(b[off : off+4]) }

// Uint64 is the double word at off. For generated code.
func Uint64(b []byte, off int) uint64 { return binary.BigEndian.Uint64(b[off : off+8]) }

// ViewOpaque is the opaque data or string whose count stands at off, a slice of
// b. For generated code.
func ViewOpaque(b []byte, off int) []byte {
	end := off + 4 + int(Uint32(b, off))
	return b[off+4 : end : end]
}

// ViewOptional is optional data of which the presence word stands at off. For
// generated code.
func ViewOptional[T any](b []byte, off int, value func(off int) T) (o Optional[T]) {
	if Uint32(b, off) != 0 {
		o = Some(value(off + 4))
	}
	return o
}

// SkipOpaque is the offset after opaque data or a string. For generated code.
func SkipOpaque(b []byte, off int) int { return off + 4 + Padded(int(Uint32(b, off))) }

// SkipOptional is the offset after optional data; skip steps over what is
// present. For generated code.
func SkipOptional(b []byte, off int, skip func(off int) int) int {
	if Uint32(b, off) == 0 {
		return off + 4
	}
	return skip(off + 4)
}

// SkipArray is the offset after an array; skip steps over an element. For
// generated code.
func SkipArray(b []byte, off int, skip func(off int) int) int {
	return SkipElements(off+4, int(Uint32(b, off)), skip)
}

// SkipFixed is the offset after an array of elements of size bytes. For generated
// code.
func SkipFixed(b []byte, off, size int) int { return off + 4 + size*int(Uint32(b, off)) }

// SkipElements is the offset after n elements. For generated code.
func SkipElements(off, n int, skip func(off int) int) int {
	for range n {
		off = skip(off)
	}
	return off
}

// SkipList is the offset after a linked list whose first presence word stands
// at off; skip steps over an element. For generated code.
func SkipList(b []byte, off int, skip func(off int) int) int {
	for Uint32(b, off) != 0 {
		off = skip(off + 4)
	}
	return off + 4
}

// Skip is the offset after a value of a generated type. For generated code.
func Skip(off int, _ *Error) int { return off }
