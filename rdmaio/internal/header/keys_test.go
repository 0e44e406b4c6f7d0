package header_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Keys are found in every list. FirstKey skips segments of no bytes.
func TestKeysAreFoundInEveryList(t *testing.T) {
	seg := func(key, n uint32) header.Segment { return header.Segment{Handle: key, Length: n} }
	read := func(key, n uint32) header.ReadSegment { return header.ReadSegment{Segment: seg(key, n)} }
	for _, c := range []struct {
		name  string
		l     header.Lists
		keys  []uint32
		first uint32
	}{
		{"nothing", header.Lists{}, nil, 0},
		{"read first", header.Lists{Reads: []header.ReadSegment{read(1, 4), read(2, 4)}, Reply: []header.Segment{seg(3, 9)}}, []uint32{1, 2, 3}, 1},
		{"an empty write chunk first", header.Lists{Writes: [][]header.Segment{{}, {seg(4, 0), seg(5, 1)}}}, []uint32{4, 5}, 5},
		{"only a reply chunk", header.Lists{Reads: []header.ReadSegment{read(6, 0)}, Reply: []header.Segment{seg(7, 1)}}, []uint32{6, 7}, 7},
		{"no memory at all", header.Lists{Reply: []header.Segment{seg(8, 0)}}, []uint32{8}, 0},
	} {
		if diff := cmp.Diff(c.keys, c.l.Keys(nil)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if got := c.l.FirstKey(); got != c.first {
			t.Errorf("%s: first is %d, want %d", c.name, got, c.first)
		}
		for _, k := range c.keys {
			if !c.l.HasKey(k) {
				t.Errorf("%s: %d not found", c.name, k)
			}
		}
		if c.l.HasKey(99) {
			t.Errorf("%s: a key that is in no list was found", c.name)
		}
	}
}
