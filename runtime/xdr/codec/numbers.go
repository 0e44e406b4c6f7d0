package codec

import (
	"unsafe"

	"github.com/rpcrdma/rpcrdma/runtime/xdr/internal/swap"
)

// The functions of this file copy arrays of numbers from and to b at off and return the next
// offset. The caller has checked that b has as many bytes there. s and b must not overlap.

// Word32 is a number of 32 bits.
type Word32 interface{ ~int32 | ~uint32 | ~float32 }

// Word64 is a number of 64 bits.
type Word64 interface{ ~int64 | ~uint64 | ~float64 }

// PutWords writes numbers of 32 bits.
func PutWords[T Word32](b []byte, off int, s []T) int {
	n := 4 * len(s)
	swap.Words(b[off:off+n:off+n], memory(s))
	return off + n
}

// PutHypers writes numbers of 64 bits.
func PutHypers[T Word64](b []byte, off int, s []T) int {
	n := 8 * len(s)
	swap.Hypers(b[off:off+n:off+n], memory(s))
	return off + n
}

// GetWords reads numbers of 32 bits.
func GetWords[T Word32](b []byte, off int, s []T) int {
	n := 4 * len(s)
	swap.Words(memory(s), b[off:off+n:off+n])
	return off + n
}

// GetHypers reads numbers of 64 bits.
func GetHypers[T Word64](b []byte, off int, s []T) int {
	n := 8 * len(s)
	swap.Hypers(memory(s), b[off:off+n:off+n])
	return off + n
}

// memory returns the bytes of the numbers in s. Any bytes are a number, and any address will do for
// bytes, so that both views of the memory are valid.
func memory[T Word32 | Word64](s []T) []byte {
	var number T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(number)))
}
