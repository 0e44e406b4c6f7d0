package swap

import (
	"encoding/binary"
	"math/bits"
)

// The functions of this file copy the numbers of src to dst, in the other byte order. The slices
// have one length, a multiple of a number's size, and any alignment. They may be the same memory,
// but must not overlap otherwise. A copy changes no byte outside dst.

// Words copies numbers of 4 bytes.
func Words(dst, src []byte) {
	if len(dst) != len(src) || len(src)%4 != 0 {
		panic("swap.Words: the lengths differ or are no multiple of 4")
	}
	if bigEndian() {
		copy(dst, src)
		return
	}
	n := 0
	if wide && len(src) >= wideMin {
		n = len(src) &^ (block - 1)
		wideWords(dst[:n], src[:n])
	}
	words(dst[n:], src[n:])
}

// Hypers copies numbers of 8 bytes.
func Hypers(dst, src []byte) {
	if len(dst) != len(src) || len(src)%8 != 0 {
		panic("swap.Hypers: the lengths differ or are no multiple of 8")
	}
	if bigEndian() {
		copy(dst, src)
		return
	}
	n := 0
	if wide && len(src) >= wideMin {
		n = len(src) &^ (block - 1)
		wideHypers(dst[:n], src[:n])
	}
	hypers(dst[n:], src[n:])
}

const (
	block   = 32 // the vector instructions take a multiple of as many bytes
	wideMin = 64 // for fewer bytes they are not faster
)

// bigEndian reports whether the machine is big-endian. The compiler computes it.
func bigEndian() bool { return binary.NativeEndian.Uint16([]byte{0, 1}) == 1 }

// words is Words on a little-endian machine, in Go. The bounds are checked once in eight numbers.
func words(dst, src []byte) {
	for len(src) >= 32 && len(dst) >= 32 {
		d, s := dst[:32:32], src[:32:32]
		a, b := binary.BigEndian.Uint64(s[0:8]), binary.BigEndian.Uint64(s[8:16])
		binary.LittleEndian.PutUint64(d[0:8], bits.RotateLeft64(a, 32))
		binary.LittleEndian.PutUint64(d[8:16], bits.RotateLeft64(b, 32))
		a, b = binary.BigEndian.Uint64(s[16:24]), binary.BigEndian.Uint64(s[24:32])
		binary.LittleEndian.PutUint64(d[16:24], bits.RotateLeft64(a, 32))
		binary.LittleEndian.PutUint64(d[24:32], bits.RotateLeft64(b, 32))
		dst, src = dst[32:], src[32:]
	}
	for len(src) >= 4 && len(dst) >= 4 {
		binary.LittleEndian.PutUint32(dst, binary.BigEndian.Uint32(src))
		dst, src = dst[4:], src[4:]
	}
}

// hypers is Hypers on a little-endian machine, in Go. The bounds are checked once in four numbers.
func hypers(dst, src []byte) {
	for len(src) >= 32 && len(dst) >= 32 {
		d, s := dst[:32:32], src[:32:32]
		a, b := binary.BigEndian.Uint64(s[0:8]), binary.BigEndian.Uint64(s[8:16])
		binary.LittleEndian.PutUint64(d[0:8], a)
		binary.LittleEndian.PutUint64(d[8:16], b)
		a, b = binary.BigEndian.Uint64(s[16:24]), binary.BigEndian.Uint64(s[24:32])
		binary.LittleEndian.PutUint64(d[16:24], a)
		binary.LittleEndian.PutUint64(d[24:32], b)
		dst, src = dst[32:], src[32:]
	}
	for len(src) >= 8 && len(dst) >= 8 {
		binary.LittleEndian.PutUint64(dst, binary.BigEndian.Uint64(src))
		dst, src = dst[8:], src[8:]
	}
}
