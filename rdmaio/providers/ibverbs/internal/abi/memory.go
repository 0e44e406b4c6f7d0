package abi

import (
	"encoding/binary"
	"unsafe"
)

// At returns the n bytes at address p, which is not in the Go heap.
func At(p uintptr, n int) []byte {
	// The address of p is converted, not p itself: the memory is not Go's, so the garbage collector
	// needs to know nothing of it.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n)
}

// Addr returns the address of the first byte of b, which is not in the Go heap. b is not empty.
func Addr(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// native is the byte order of the processor, and so of the structures.
var native = binary.NativeEndian

func get16(b []byte, at int) uint16 { return native.Uint16(b[at:]) }
func get32(b []byte, at int) uint32 { return native.Uint32(b[at:]) }
func get64(b []byte, at int) uint64 { return native.Uint64(b[at:]) }

func put16(b []byte, at int, v uint16) { native.PutUint16(b[at:], v) }
func put32(b []byte, at int, v uint32) { native.PutUint32(b[at:], v) }
func put64(b []byte, at int, v uint64) { native.PutUint64(b[at:], v) }

// text returns the bytes of a C string in b.
func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
