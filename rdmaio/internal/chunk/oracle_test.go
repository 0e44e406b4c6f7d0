package chunk_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// origin is the source of one byte of a message.
type origin struct {
	handle uint32 // 0: inline, or pad
	at     uint64
	pad    bool
}

// oracle assembles a message byte by byte, by another algorithm than Plan: first it puts the bytes
// of each chunk at their position, then it fills the gaps with the stream. ok is false if the read
// list is invalid.
func oracle(reads []header.ReadSegment, inlineLen int, long bool) (msg []origin, ok bool) {
	var stream []origin
	placed := make(map[int]origin)
	end := 0
	chunkAt, chunkEnd := -1, 0
	closeChunk := func() bool {
		for ; chunkAt >= 0 && chunkEnd%4 != 0; chunkEnd++ {
			if _, taken := placed[chunkEnd]; taken {
				return false
			}
			placed[chunkEnd] = origin{pad: true}
		}
		end = max(end, chunkEnd)
		return true
	}
	seen := make(map[uint32]bool)
	for i, s := range reads {
		pos := s.Position
		if long && pos == 0 {
			if i > 0 && reads[i-1].Position != 0 {
				return nil, false
			}
			for k := range uint64(s.Length) {
				stream = append(stream, origin{handle: s.Handle, at: s.Offset + k})
			}
			continue
		}
		if i == 0 || reads[i-1].Position != pos {
			if !closeChunk() || seen[pos] || pos%4 != 0 || pos == 0 || int(pos) < chunkAt {
				return nil, false
			}
			if _, taken := placed[int(pos)]; taken { // also if the chunk is empty
				return nil, false
			}
			seen[pos] = true
			chunkAt, chunkEnd = int(pos), int(pos)
		}
		for k := range uint64(s.Length) {
			if _, taken := placed[chunkEnd]; taken {
				return nil, false
			}
			placed[chunkEnd] = origin{handle: s.Handle, at: s.Offset + k}
			chunkEnd++
		}
		end = max(end, chunkEnd)
	}
	// An empty chunk must be within the stream too, and not within another chunk.
	if !closeChunk() {
		return nil, false
	}
	for pos := range seen {
		end = max(end, int(pos))
	}
	if long {
		if len(reads) == 0 || reads[0].Position != 0 || len(stream) < 8 {
			return nil, false
		}
	} else {
		for i := range inlineLen {
			stream = append(stream, origin{at: uint64(i)})
		}
	}
	for at := 0; at < end || len(stream) > 0; at++ {
		if o, taken := placed[at]; taken {
			msg = append(msg, o)
			continue
		}
		if len(stream) == 0 {
			return nil, false // a hole before a chunk
		}
		msg = append(msg, stream[0])
		stream = stream[1:]
	}
	return msg, true
}

// flatten returns the source of each byte of a plan.
func flatten(t *testing.T, p *chunk.Plan) (msg []origin) {
	t.Helper()
	reads := 0
	for _, piece := range p.Pieces {
		if piece.At != len(msg) || piece.Len <= 0 {
			t.Fatalf("piece %+v follows byte %d", piece, len(msg))
		}
		if piece.Source == chunk.FromPeer {
			reads++
			if int(piece.Remote.Length) != piece.Len {
				t.Fatalf("piece %+v reads another length", piece)
			}
		}
		for k := range piece.Len {
			switch piece.Source {
			case chunk.FromInline:
				msg = append(msg, origin{at: uint64(piece.From + k)})
			case chunk.FromPad:
				msg = append(msg, origin{pad: true})
			case chunk.FromPeer:
				msg = append(msg, origin{handle: piece.Remote.Handle, at: piece.Remote.Offset + uint64(k)})
			}
		}
	}
	if len(msg) != p.Size || reads != p.Reads {
		t.Fatalf("pieces have %d bytes and %d reads, plan says %d and %d", len(msg), reads, p.Size, p.Reads)
	}
	return msg
}

// FuzzPlan makes read lists from bytes and compares plans of them with the oracle. Positions are
// small, so that chunks often touch.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{40, 0}, false)
	f.Add([]byte{40, 10, 8}, false)
	f.Add([]byte{40, 2, 5, 2, 3, 5, 12}, false)
	f.Add([]byte{0, 0, 16, 2, 4, 4, 5}, true)
	f.Fuzz(func(t *testing.T, b []byte, long bool) {
		if len(b) < 1 {
			return
		}
		inlineLen := 0
		if !long {
			inlineLen = int(b[0])
		}
		var reads []header.ReadSegment
		for i, h := 1, uint32(1); i+1 < len(b) && h < 12; i, h = i+2, h+1 {
			pos := uint32(b[i]) * 4
			if b[i] > 250 {
				pos = uint32(b[i])
			}
			reads = append(reads, read(pos, h, uint32(b[i+1])%32))
		}
		lim := &chunk.Limits{Bytes: 1 << 20, Segments: 64, Chunks: 64, Transfer: 1 << 20}
		var p chunk.Plan
		fault := p.Call(reads, inlineLen, long, lim)
		want, ok := oracle(reads, inlineLen, long)
		if ok != (fault == nil) {
			t.Fatalf("plan: %v; oracle says %v for %+v, %d inline", fault, ok, reads, inlineLen)
		}
		if !ok {
			_ = fault.Error()
			return
		}
		if got := flatten(t, &p); !slices.Equal(want, got) {
			t.Errorf("%+v, %d inline: %s", reads, inlineLen, cmp.Diff(want, got, cmp.AllowUnexported(origin{})))
		}
		// Under tight limits the list is refused or planned within them, without a panic.
		tight := &chunk.Limits{Bytes: 64, Segments: 3, Chunks: 2, Transfer: 7}
		if fault := p.Call(reads, inlineLen, long, tight); fault == nil && p.BytesRead > tight.Bytes {
			t.Errorf("%d bytes to read, limit %d", p.BytesRead, tight.Bytes)
		}
	})
}

// TestPlanRandom compares plans of many random lists with the oracle, without the fuzzer.
func TestPlanRandom(t *testing.T) {
	state := uint64(1)
	next := func(n uint64) uint32 {
		state = state*6364136223846793005 + 1442695040888963407
		return uint32((state >> 33) % n)
	}
	good := 0
	for range 20000 {
		long := next(4) == 0
		inlineLen := int(next(12)) * 4
		pos := uint32(0)
		var reads []header.ReadSegment
		if long {
			inlineLen = 0
			reads = append(reads, read(0, 99, next(40)))
		}
		for h := uint32(1); h <= next(6); h++ {
			if len(reads) == 0 || next(3) > 0 {
				pos += next(6) * 4
			}
			reads = append(reads, read(pos, h, next(12)))
			if next(2) == 0 {
				pos += reads[len(reads)-1].Length
			}
			pos = (pos + 3) &^ 3
		}
		var p chunk.Plan
		fault := p.Call(reads, inlineLen, long, &chunk.Limits{Bytes: 1 << 20, Segments: 64, Chunks: 64, Transfer: 1 << 20})
		want, ok := oracle(reads, inlineLen, long)
		if ok != (fault == nil) {
			t.Fatalf("plan: %v; oracle says %v for %+v, %d inline", fault, ok, reads, inlineLen)
		}
		if ok {
			good++
			if got := flatten(t, &p); !slices.Equal(want, got) {
				t.Fatal(cmp.Diff(want, got, cmp.AllowUnexported(origin{})))
			}
		}
	}
	if good < 2000 || good > 18000 {
		t.Errorf("%d of 20000 lists were good: the test proves too little", good)
	}
}

// R29: refusing a short header that asks for 4 GiB allocates only the fault.
func TestPlanAllocatesByItsBytes(t *testing.T) {
	var p chunk.Plan
	reads := []header.ReadSegment{read(8, 1, 0xffffffff)}
	n := testing.AllocsPerRun(10, func() { p.Call(reads, 8, false, limits()) })
	if n > 1 { // the fault
		t.Errorf("%v allocations to refuse 4 GiB", n)
	}
}
