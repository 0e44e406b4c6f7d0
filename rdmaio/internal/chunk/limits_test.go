package chunk_test

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// R56, R59, R309: each limit allows as much as it says and no more, in read, write and reply
// chunks. A segment without bytes has no last address.
func TestEachLimit(t *testing.T) {
	segments := func(n int, length uint32) (s []header.Segment) {
		for range n {
			s = append(s, header.Segment{Length: length, Offset: 100})
		}
		return s
	}
	lim := chunk.Limits{Bytes: 1 << 20, Segments: 4, Chunks: 2, Transfer: 10, Address: 139}
	for _, tt := range []struct {
		what string
		s    []header.Segment
		code header.Code // 0: none
	}{
		{"as many segments as allowed", segments(4, 1), 0},
		{"one more", segments(5, 1), header.FaultSegments},
		{"up to the last address", segments(1, 40), 0},
		{"one byte more", segments(1, 41), header.FaultAddress},
		{"no bytes, behind the last address", []header.Segment{{Offset: 1 << 40}, {Offset: 100, Length: 8}}, 0},
		{"more transfers than segments", segments(4, 30), 0},
	} {
		check := func(where string, f *header.Fault) {
			t.Helper()
			if got := header.Code(0); f != nil && f.Code != tt.code || f == nil && tt.code != got {
				t.Errorf("%s, %s: %v, want code %d", tt.what, where, f, tt.code)
			}
		}
		check("write chunk", lim.Offered(&header.Lists{Writes: [][]header.Segment{tt.s}}))
		check("reply chunk", lim.Offered(&header.Lists{Reply: tt.s, HasReply: true}))
		var reads []header.ReadSegment
		for _, s := range tt.s {
			reads = append(reads, header.ReadSegment{Position: 4, Segment: s})
		}
		check("read list", new(chunk.Plan).Call(reads, 8, false, &lim))
	}
	two := header.Lists{Writes: [][]header.Segment{segments(1, 1), segments(1, 1)}}
	if f := lim.Offered(&two); f != nil {
		t.Errorf("as many chunks as allowed: %v", f)
	}
	two.AddWrite(0)
	if f := lim.Offered(&two); f == nil || f.Code != header.FaultChunks {
		t.Errorf("one more: %v", f)
	}
}

// R79, T67: no bytes are returned after a segment that is not full, even if other segments come
// between.
func TestHoleAnywhere(t *testing.T) {
	offered := header.Lists{Writes: [][]header.Segment{{{Length: 4}, {Length: 4}, {}, {Length: 4}}}}
	for _, tt := range []struct {
		got  [3]uint32
		hole bool
	}{
		{[3]uint32{4, 4, 4}, false},
		{[3]uint32{4, 3, 0}, false},
		{[3]uint32{4, 3, 1}, true},
		{[3]uint32{3, 0, 1}, true},
		{[3]uint32{3, 4, 4}, true},
		{[3]uint32{0, 0, 1}, true},
	} {
		got := header.Lists{Writes: [][]header.Segment{{{Length: tt.got[0]}, {Length: tt.got[1]}, {}, {Length: tt.got[2]}}}}
		_, _, f := chunk.Returned(nil, &offered, &got)
		if hole := f != nil && f.Code == header.FaultReturnHole; hole != tt.hole {
			t.Error(fmt.Sprint(tt.got), f)
		}
	}
}
