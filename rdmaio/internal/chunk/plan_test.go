package chunk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// limits returns limits that lists of these tests do not exceed, unless they test that.
func limits() *chunk.Limits {
	return &chunk.Limits{Bytes: 1 << 20, Segments: 16, Chunks: 8, Transfer: 1 << 20}
}

// read returns a segment of handle h, at offset 0x1000*h.
func read(pos, h, n uint32) header.ReadSegment {
	return header.ReadSegment{Position: pos, Segment: header.Segment{Handle: h, Length: n, Offset: 0x1000 * uint64(h)}}
}

func inline(at, n, from int) chunk.Piece {
	return chunk.Piece{At: at, Len: n, Source: chunk.FromInline, From: from}
}

func pull(at, n int, h uint32, off uint64) chunk.Piece {
	return chunk.Piece{At: at, Len: n, Source: chunk.FromPeer, Remote: header.Segment{Handle: h, Length: uint32(n), Offset: off}}
}

func pad(at, n int) chunk.Piece { return chunk.Piece{At: at, Len: n, Source: chunk.FromPad} }

// A Call is planned as written by hand, also with a Plan used before.
func TestCallIsPlannedAsByHand(t *testing.T) {
	for _, c := range []struct {
		name   string
		reads  []header.ReadSegment
		inline int
		long   bool
		want   chunk.Plan
	}{
		{
			"no chunk", nil, 40, false,
			chunk.Plan{Size: 40, Pieces: []chunk.Piece{inline(0, 40, 0)}},
		}, {
			"R60: an item at the end, as of NFS WRITE",
			[]header.ReadSegment{read(40, 1, 8)},
			40, false,
			chunk.Plan{Size: 48, BytesRead: 8, Reads: 1, Pieces: []chunk.Piece{inline(0, 40, 0), pull(40, 8, 1, 0x1000)}, Placed: []chunk.Placed{{At: 40, Len: 8}}},
		}, {
			"R57, R68: an item in the middle with roundup",
			[]header.ReadSegment{read(40, 1, 5)},
			60, false,
			chunk.Plan{
				Size: 68, BytesRead: 5, Reads: 1,
				Pieces: []chunk.Piece{inline(0, 40, 0), pull(40, 5, 1, 0x1000), pad(45, 3), inline(48, 20, 40)},
				Placed: []chunk.Placed{{At: 40, Len: 5}},
			},
		}, {
			"R64: two chunks",
			[]header.ReadSegment{read(12, 1, 4), read(20, 2, 4)},
			20, false,
			chunk.Plan{
				Size: 28, BytesRead: 8, Reads: 2,
				Pieces: []chunk.Piece{inline(0, 12, 0), pull(12, 4, 1, 0x1000), inline(16, 4, 12), pull(20, 4, 2, 0x2000), inline(24, 4, 16)},
				Placed: []chunk.Placed{{At: 12, Len: 4}, {At: 20, Len: 4}},
			},
		}, {
			"two chunks with nothing between",
			[]header.ReadSegment{read(12, 1, 4), read(16, 2, 4)},
			12, false,
			chunk.Plan{
				Size: 20, BytesRead: 8, Reads: 2,
				Pieces: []chunk.Piece{inline(0, 12, 0), pull(12, 4, 1, 0x1000), pull(16, 4, 2, 0x2000)},
				Placed: []chunk.Placed{{At: 12, Len: 4}, {At: 16, Len: 4}},
			},
		}, {
			"R54, R63, T44: odd segments of one chunk are joined",
			[]header.ReadSegment{read(8, 1, 1), read(8, 2, 2), read(8, 3, 3), read(8, 4, 5)},
			12, false,
			chunk.Plan{
				Size: 24, BytesRead: 11, Reads: 4,
				Pieces: []chunk.Piece{inline(0, 8, 0), pull(8, 1, 1, 0x1000), pull(9, 2, 2, 0x2000), pull(11, 3, 3, 0x3000), pull(14, 5, 4, 0x4000), pad(19, 1), inline(20, 4, 8)},
				Placed: []chunk.Placed{{At: 8, Len: 11}},
			},
		}, {
			"R55: a segment of no bytes adds nothing",
			[]header.ReadSegment{read(8, 1, 0), read(8, 2, 4)},
			8, false,
			chunk.Plan{Size: 12, BytesRead: 4, Reads: 1, Pieces: []chunk.Piece{inline(0, 8, 0), pull(8, 4, 2, 0x2000)}, Placed: []chunk.Placed{{At: 8, Len: 4}}},
		}, {
			"T40: a chunk of no bytes at the end",
			[]header.ReadSegment{read(40, 1, 0)},
			40, false,
			chunk.Plan{Size: 40, Pieces: []chunk.Piece{inline(0, 40, 0)}, Placed: []chunk.Placed{{At: 40, Len: 0}}},
		}, {
			"R70, T45: roundup within the chunk",
			[]header.ReadSegment{read(40, 1, 8)},
			44, false,
			chunk.Plan{Size: 52, BytesRead: 8, Reads: 1, Pieces: []chunk.Piece{inline(0, 40, 0), pull(40, 8, 1, 0x1000), inline(48, 4, 40)}, Placed: []chunk.Placed{{At: 40, Len: 8}}},
		}, {
			"R91, R92: a long Call of two segments",
			[]header.ReadSegment{read(0, 1, 30), read(0, 2, 10)},
			0, true,
			chunk.Plan{Size: 40, BytesRead: 40, Reads: 2, Pieces: []chunk.Piece{pull(0, 30, 1, 0x1000), pull(30, 10, 2, 0x2000)}},
		}, {
			"R75, T43: a long Call with two chunks inside, which cut its segments",
			[]header.ReadSegment{read(0, 1, 10), read(0, 2, 14), read(8, 3, 4), read(16, 4, 6)},
			0, true,
			chunk.Plan{
				Size: 36, BytesRead: 34, Reads: 6,
				Pieces: []chunk.Piece{
					pull(0, 8, 1, 0x1000), pull(8, 4, 3, 0x3000), pull(12, 2, 1, 0x1008), pull(14, 2, 2, 0x2000),
					pull(16, 6, 4, 0x4000), pad(22, 2), pull(24, 12, 2, 0x2002),
				},
				Placed: []chunk.Placed{{At: 8, Len: 4}, {At: 16, Len: 6}},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p chunk.Plan
			for range 2 {
				if f := p.Call(c.reads, c.inline, c.long, limits()); f != nil {
					t.Fatal(f)
				}
				if diff := cmp.Diff(c.want, p, cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// A segment that is longer than an RDMA Read may be is read by several.
func TestPlanSplitsTransfers(t *testing.T) {
	lim := limits()
	lim.Transfer = 3
	var p chunk.Plan
	if f := p.Call([]header.ReadSegment{read(8, 1, 8)}, 8, false, lim); f != nil {
		t.Fatal(f)
	}
	want := []chunk.Piece{inline(0, 8, 0), pull(8, 3, 1, 0x1000), pull(11, 3, 1, 0x1003), pull(14, 2, 1, 0x1006)}
	if diff := cmp.Diff(want, p.Pieces); diff != "" {
		t.Error(diff)
	}
}

// R62, R65 to R67, R93, R94: invalid read lists are refused with the fault for their rule.
func TestPlanRefuses(t *testing.T) {
	long := func(n int) (list []header.ReadSegment) {
		for range n {
			list = append(list, read(8, 1, 1))
		}
		return list
	}
	for _, c := range []struct {
		name   string
		reads  []header.ReadSegment
		inline int
		long   bool
		want   header.Fault
	}{
		{"T36: not aligned", []header.ReadSegment{read(41, 1, 8)}, 80, false, header.Fault{Code: header.FaultAligned, Found: 41, Want: 4}},
		{"T37, B1: past the stream", []header.ReadSegment{read(44, 1, 8)}, 40, false, header.Fault{Code: header.FaultBeyond, Found: 44, Want: 40}},
		{"T37: past stream and chunks so far", []header.ReadSegment{read(40, 1, 6), read(52, 2, 8)}, 40, false, header.Fault{Code: header.FaultBeyond, Index: 1, Found: 52, Want: 48}},
		{"T38, B2: overlap", []header.ReadSegment{read(8, 1, 12), read(16, 2, 4)}, 40, false, header.Fault{Code: header.FaultOverlap, Index: 1, Found: 16, Want: 20}},
		{"T38: overlap of the roundup", []header.ReadSegment{read(8, 1, 9), read(16, 2, 4)}, 40, false, header.Fault{Code: header.FaultOverlap, Index: 1, Found: 16, Want: 20}},
		{"T39: decreasing", []header.ReadSegment{read(16, 1, 4), read(8, 2, 4)}, 40, false, header.Fault{Code: header.FaultOrder, Index: 1, Found: 8, Want: 16}},
		{"T39: A B A", []header.ReadSegment{read(8, 1, 4), read(16, 2, 4), read(8, 1, 4)}, 40, false, header.Fault{Code: header.FaultOrder, Index: 2, Found: 8, Want: 16}},
		{"T41: position 0 in MSG", []header.ReadSegment{read(0, 1, 40)}, 40, false, header.Fault{Code: header.FaultZero, Want: 4}},
		{"T42: no position 0 in NOMSG", []header.ReadSegment{read(8, 1, 40)}, 0, true, header.Fault{Code: header.FaultNoChunk, Want: 8}},
		{"T33: NOMSG with nothing", nil, 0, true, header.Fault{Code: header.FaultNoChunk, Want: 8}},
		{"NOMSG too short for an RPC message", []header.ReadSegment{read(0, 1, 4)}, 0, true, header.Fault{Code: header.FaultNoChunk, Found: 4, Want: 8}},
		{"T46: sum over the limit", []header.ReadSegment{read(8, 1, 1<<20), read(8, 2, 1)}, 8, false, header.Fault{Code: header.FaultBytes, Index: 1, Found: 1<<20 + 1, Want: 1 << 20}},
		{"T46, B7: a sum that 32 bits would make small", []header.ReadSegment{read(8, 1, 1<<20), read(8, 2, 0xffffffff)}, 8, false, header.Fault{Code: header.FaultBytes, Index: 1, Found: 1<<20 + 0xffffffff, Want: 1 << 20}},
		{"T46, B4, B7: three of nearly 4 GiB", []header.ReadSegment{read(8, 1, 0xffffffff), read(8, 2, 0xffffffff), read(8, 3, 2)}, 8, false, header.Fault{Code: header.FaultBytes, Found: 0xffffffff, Want: 1 << 20}},
		{"T47: wraps 2^64", []header.ReadSegment{{Position: 8, Segment: header.Segment{Handle: 1, Length: 2, Offset: ^uint64(0)}}}, 8, false, header.Fault{Code: header.FaultWrap, Found: ^uint64(0), Want: 2}},
		{"T51: too many segments", long(17), 8, false, header.Fault{Code: header.FaultSegments, Found: 17, Want: 16}},
		{
			"T51: too many chunks",
			[]header.ReadSegment{read(8, 1, 4), read(12, 1, 4), read(16, 1, 4), read(20, 1, 4), read(24, 1, 4), read(28, 1, 4), read(32, 1, 4), read(36, 1, 4), read(40, 1, 4)},
			8, false,
			header.Fault{Code: header.FaultChunks, Index: 8, Found: 9, Want: 8},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p chunk.Plan
			f := p.Call(c.reads, c.inline, c.long, limits())
			if f == nil {
				t.Fatalf("planned: %+v", p)
			}
			c.want.Where = "read list"
			if diff := cmp.Diff(c.want, *f); diff != "" {
				t.Error(diff)
			}
			if len(p.Pieces) > 16 { // bounded by the segments sent
				t.Errorf("%d pieces planned before the refusal", len(p.Pieces))
			}
		})
	}
}

// A segment longer than a transfer takes several Reads, and so does one that a chunk cuts. The
// number of segments alone is limited.
func TestSegmentsTakeSeveralReads(t *testing.T) {
	lim := limits()
	lim.Segments, lim.Transfer = 3, 4
	var p chunk.Plan
	if f := p.Call([]header.ReadSegment{read(8, 1, 13)}, 8, false, lim); f != nil || p.Reads != 4 {
		t.Errorf("13 bytes in transfers of 4: %v, %d Reads, want 4", f, p.Reads)
	}
	lim.Transfer = 1 << 20
	cut := []header.ReadSegment{read(0, 1, 16), read(8, 2, 4), read(16, 3, 4)}
	if f := p.Call(cut, 0, true, lim); f != nil || p.Reads != 5 {
		t.Errorf("3 segments of which one is cut in three: %v, %d Reads, want 5", f, p.Reads)
	}
}
