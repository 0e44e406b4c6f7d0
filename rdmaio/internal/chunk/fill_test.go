package chunk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

func seg(h, n uint32, off uint64) header.Segment {
	return header.Segment{Handle: h, Length: n, Offset: off}
}

func lens(c []header.Segment) (n []uint32) {
	for _, s := range c {
		n = append(n, s.Length)
	}
	return n
}

// R78, R80, R85: segments are filled in order, without gaps. Unused segments have length 0.
func TestSegmentsAreFilledInOrder(t *testing.T) {
	offered := func() []header.Segment { return []header.Segment{seg(1, 10, 100), seg(2, 0, 200), seg(3, 20, 300)} }
	for _, c := range []struct {
		name string
		n    int
		most uint32
		want []chunk.Transfer
		lens []uint32
	}{
		{"nothing", 0, 1 << 20, nil, []uint32{0, 0, 0}},
		{"part of the first", 7, 1 << 20, []chunk.Transfer{{From: 0, Remote: seg(1, 7, 100)}}, []uint32{7, 0, 0}},
		{"just the first", 10, 1 << 20, []chunk.Transfer{{From: 0, Remote: seg(1, 10, 100)}}, []uint32{10, 0, 0}},
		{"one byte of the last", 11, 1 << 20, []chunk.Transfer{{From: 0, Remote: seg(1, 10, 100)}, {From: 10, Remote: seg(3, 1, 300)}}, []uint32{10, 0, 1}},
		{"all", 30, 1 << 20, []chunk.Transfer{{From: 0, Remote: seg(1, 10, 100)}, {From: 10, Remote: seg(3, 20, 300)}}, []uint32{10, 0, 20}},
		{"in small writes", 14, 4, []chunk.Transfer{
			{From: 0, Remote: seg(1, 4, 100)}, {From: 4, Remote: seg(1, 4, 104)}, {From: 8, Remote: seg(1, 2, 108)}, {From: 10, Remote: seg(3, 4, 300)},
		}, []uint32{10, 0, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := offered()
			if diff := cmp.Diff(c.want, chunk.Fill(nil, list, c.n, c.most)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.lens, lens(list)); diff != "" {
				t.Error(diff)
			}
			got := &header.Lists{Writes: [][]header.Segment{list}}
			used, _, f := chunk.Returned(nil, &header.Lists{Writes: [][]header.Segment{offered()}}, got)
			if f != nil || used[0] != uint64(c.n) {
				t.Errorf("Returned refuses the chunk that Fill filled: %v %v", used, f)
			}
		})
	}
}

// R79 to R81, R87: returned chunks are compared with those offered.
func TestReturnedChunksAreCompared(t *testing.T) {
	offered := &header.Lists{
		Writes:   [][]header.Segment{{seg(1, 10, 100), seg(2, 10, 200)}, {seg(3, 10, 300)}, {}},
		HasReply: true, Reply: []header.Segment{seg(4, 100, 400)},
	}
	lists := func(change func(l *header.Lists)) *header.Lists {
		l := &header.Lists{
			Writes:   [][]header.Segment{{seg(1, 10, 100), seg(2, 3, 200)}, {seg(3, 0, 300)}, {}},
			HasReply: true, Reply: []header.Segment{seg(4, 50, 400)},
		}
		change(l)
		return l
	}
	for _, c := range []struct {
		name string
		got  *header.Lists
		used []uint64
		long uint64
		want *header.Fault
	}{
		{"R80, R85", lists(func(*header.Lists) {}), []uint64{13, 0, 0}, 50, nil},
		{"R330: a chunk is returned without segments", lists(func(l *header.Lists) { l.Writes[0] = nil }), []uint64{0, 0, 0}, 50, nil},
		{"no reply chunk back", lists(func(l *header.Lists) { l.HasReply, l.Reply = false, nil }), []uint64{13, 0, 0}, 0, nil},
		{"T66: a chunk is missing", lists(func(l *header.Lists) { l.Writes = l.Writes[:2] }), nil, 0, &header.Fault{Code: header.FaultReturnCount, Where: "write list", Found: 2, Want: 3}},
		{"T66: a chunk too many", lists(func(l *header.Lists) { l.AddWrite(0) }), nil, 0, &header.Fault{Code: header.FaultReturnCount, Where: "write list", Found: 4, Want: 3}},
		{"T66: another segment count", lists(func(l *header.Lists) { l.Writes[0] = l.Writes[0][:1] }), nil, 0, &header.Fault{Code: header.FaultReturnCount, Where: "write chunk", Found: 1, Want: 2}},
		{"segments for an empty chunk", lists(func(l *header.Lists) { l.Writes[2] = []header.Segment{seg(9, 1, 9)} }), nil, 0, &header.Fault{Code: header.FaultReturnCount, Where: "write chunk", Index: 2, Found: 1, Want: 0}},
		{"T66: another handle", lists(func(l *header.Lists) { l.Writes[1][0].Handle = 9 }), nil, 0, &header.Fault{Code: header.FaultReturnRange, Where: "write chunk", Index: 1, Found: 9, Want: 3}},
		{"T66: another offset", lists(func(l *header.Lists) { l.Reply[0].Offset = 9 }), nil, 0, &header.Fault{Code: header.FaultReturnRange, Where: "reply chunk", Found: 9, Want: 400}},
		{"T65, B17: more than offered", lists(func(l *header.Lists) { l.Writes[0][1].Length = 11 }), nil, 0, &header.Fault{Code: header.FaultReturnMore, Where: "write chunk", Found: 11, Want: 10}},
		{"T68: a hole", lists(func(l *header.Lists) { l.Writes[0][0].Length = 9 }), nil, 0, &header.Fault{Code: header.FaultReturnHole, Where: "write chunk", Found: 3, Want: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			used, long, f := chunk.Returned(nil, offered, c.got)
			if diff := cmp.Diff(c.want, f); diff != "" {
				t.Error(diff)
			}
			if f == nil {
				if diff := cmp.Diff(c.used, used, cmpopts.EquateEmpty()); diff != "" || long != c.long {
					t.Errorf("%s; reply chunk %d, want %d", diff, long, c.long)
				}
			}
		})
	}
	// A reply chunk that was not offered.
	if _, _, f := chunk.Returned(nil, &header.Lists{}, &header.Lists{HasReply: true}); f == nil || f.Code != header.FaultReturnCount {
		t.Errorf("a reply chunk that was not offered: %v", f)
	}
}

// R59, R309: offers over a limit are refused.
func TestOffersOverALimitAreRefused(t *testing.T) {
	lim := &chunk.Limits{Bytes: 1 << 20, Segments: 2, Chunks: 2, Transfer: 100}
	for _, c := range []struct {
		name string
		l    header.Lists
		want header.Code
	}{
		{"nothing", header.Lists{}, 0},
		{"as much as allowed", header.Lists{Writes: [][]header.Segment{{seg(1, 100, 0), seg(1, 100, 0)}, {seg(1, 100, 0)}}, Reply: []header.Segment{seg(1, 100, 0)}}, 0},
		{"a segment of two transfers", header.Lists{Writes: [][]header.Segment{{seg(1, 100, 0), seg(1, 101, 0)}, {seg(1, 100, 0)}}, Reply: []header.Segment{seg(1, 100, 0)}}, 0},
		{"T27: three chunks of nothing", header.Lists{Writes: [][]header.Segment{{}, {}, {}}}, header.FaultChunks},
		{"three segments", header.Lists{Writes: [][]header.Segment{{{}, {}, {}}}}, header.FaultSegments},
		{"T47: a segment past 2^64", header.Lists{Reply: []header.Segment{seg(1, 2, ^uint64(0))}}, header.FaultWrap},
	} {
		f := lim.Offered(&c.l)
		if (f == nil) != (c.want == 0) || f != nil && f.Code != c.want {
			t.Errorf("%s: %v, want code %d", c.name, f, c.want)
		}
	}
}

// Segments have at most the given length, and cover the region in order.
func TestSegmentsCoverTheRegion(t *testing.T) {
	got := chunk.Layout(nil, 7, 1000, 25, 10)
	want := []header.Segment{seg(7, 10, 1000), seg(7, 10, 1010), seg(7, 5, 1020)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := chunk.Layout(nil, 7, 1000, 0, 10); len(got) != 0 {
		t.Errorf("no bytes, %d segments", len(got))
	}
}
