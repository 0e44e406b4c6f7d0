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

// Addr returns the address of the first byte of b. b is not empty, and not in the Go heap.
func Addr(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Int returns the int of C at address p.
func Int(p uintptr) int32 { return int32(get32(At(p, 4), 0)) }

// SetInt stores the int of C at address p.
func SetInt(p uintptr, v int32) { put32(At(p, 4), 0, uint32(v)) }

// Pointer returns the element with index i of the array of pointers at address p.
func Pointer(p uintptr, i int) uintptr { return uintptr(get64(At(p+8*uintptr(i), 8), 0)) }

// SetPointer stores the pointer v at address p.
func SetPointer(p, v uintptr) { put64(At(p, 8), 0, uint64(v)) }

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
