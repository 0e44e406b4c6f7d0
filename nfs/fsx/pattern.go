package fsx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// A write is a write of the Tester.
type write struct {
	step int
	what string // for people
	off  int
	size int
}

// word returns 8 bytes of a step's pattern, at offset 8*index. It is the finalizer of SplitMix64
// over the three numbers.
func word(seed uint64, step int, index uint64) uint64 {
	z := seed*0x9e3779b97f4a7c15 + uint64(step)*0xd1342543de82ef95 + index*0xaf251af3b0f025b5
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// fill fills p with the bytes that a step writes at off.
func fill(p []byte, seed uint64, step, off int) {
	var w [8]byte
	for len(p) > 0 {
		binary.LittleEndian.PutUint64(w[:], word(seed, step, uint64(off/8)))
		n := copy(p, w[off%8:])
		p, off = p[n:], off+n
	}
}

// enough is the number of bytes that identify the write they come from.
const enough = 6

// origin says which write the first bytes of p, at off, come from.
func origin(seed uint64, writes []write, p []byte, off int) string {
	p = p[:min(len(p), enough)]
	switch {
	case len(bytes.Trim(p, "\x00")) == 0:
		return "zeros"
	case len(p) < enough:
		return "too few bytes to say whose"
	}
	own := make([]byte, enough)
	for _, w := range slices.Backward(writes) {
		if w.off <= off && off+enough <= w.off+w.size {
			if fill(own, seed, w.step, off); bytes.Equal(own, p) {
				return fmt.Sprintf("of step %d, %s", w.step, w.what)
			}
		}
	}
	for _, w := range slices.Backward(writes) {
		whole := make([]byte, w.size)
		fill(whole, seed, w.step, w.off)
		if at := bytes.Index(whole, p); at >= 0 {
			return fmt.Sprintf("of step %d, %s, where they were at %d", w.step, w.what, w.off+at)
		}
	}
	return "of no step"
}
