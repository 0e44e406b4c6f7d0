package codec

import (
	"bytes"
	"slices"
)

// Equal compares two values by equal, unless one is nil. Two nil pointers are equal.
func Equal[T any](v, w *T, equal func(v, w *T, depth int) bool) bool {
	if v == nil || w == nil {
		return v == w
	}
	return equal(v, w, defaultDepth)
}

// In the following functions, most is the largest length that can be encoded. Longer values are
// not equal to any.

// EqualLen reports whether two lengths are equal.
func EqualLen(a, b int, most uint64) bool { return a == b && uint64(a) <= most }

// EqualBytes reports whether opaque data is equal.
func EqualBytes[T ~[]byte](a, b T, most uint64) bool {
	return EqualLen(len(a), len(b), most) && bytes.Equal(a, b)
}

// EqualSlice reports whether slices are equal whose elements == compares.
func EqualSlice[S ~[]E, E comparable](a, b S, most uint64) bool {
	return EqualLen(len(a), len(b), most) && slices.Equal(a, b)
}
