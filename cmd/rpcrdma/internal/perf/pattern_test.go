package perf

import (
	"bytes"
	"testing"
)

// Both ends have the same data at each seed, whatever either was asked for before, and no more than
// that needs.
func TestBothEndsHaveTheSameData(t *testing.T) {
	small := Pattern(5, 128)
	if n := len(*pattern.Load()); n > 2*seeds {
		t.Errorf("%d bytes are kept for 128", n)
	}
	large := Pattern(5, 1<<20)
	if !bytes.Equal(small, large[:128]) || !bytes.Equal(small, Pattern(5+seeds, 128)) {
		t.Error("the same place has other data")
	}
	if bytes.Equal(small, Pattern(6, 128)) {
		t.Error("another place has the same data")
	}
	for _, seed := range []uint32{0, seeds - 1, 1<<32 - 1} {
		if n := len(Pattern(seed, MaxData)); n != MaxData {
			t.Errorf("seed %d: %d bytes", seed, n)
		}
	}
}
