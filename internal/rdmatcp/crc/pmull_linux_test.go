//go:build arm64 && !purego

package crc

import (
	"encoding/binary"
	"testing"
)

func TestPMULLIn(t *testing.T) {
	vector := func(pairs ...uint64) (b []byte) {
		for _, v := range pairs {
			b = binary.NativeEndian.AppendUint64(b, v)
		}
		return b
	}
	for _, c := range []struct {
		name string
		auxv []byte
		want bool
	}{
		{"has it", vector(33, 1, 16, 0x1f, 0, 0), true},
		{"has others", vector(33, 1, 16, 0xef, 0, 0), false},
		{"says nothing", vector(33, 0x10, 0, 0), false},
		{"is empty", nil, false},
		{"is cut", vector(33, 1, 16), false},
	} {
		if got := pmullIn(c.auxv); got != c.want {
			t.Errorf("a vector that %s: %v, want %v", c.name, got, c.want)
		}
	}
}
