package tcp_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/tcp"
)

// stream writes what it receives: bytes, and gaps as [n].
type stream struct{ strings.Builder }

func (s *stream) Bytes(_ int64, b []byte) { s.Write(b) }
func (s *stream) Gap(_ int64, n uint32)   { fmt.Fprintf(s, "[%d]", n) }

// one is a segment of "0123456789abcdefghij", whose first byte has the number 0xfffffffa.
type one struct{ from, to, missing int }

const (
	text  = "0123456789abcdefghij"
	start = 0xfffffffa
)

// Segments are put in order. Numbers pass 2^32.
func TestSegmentsAreOrdered(t *testing.T) {
	for name, c := range map[string]struct {
		segments []one
		want     string
	}{
		"in order":         {[]one{{0, 5, 0}, {5, 20, 0}}, text},
		"out of order":     {[]one{{0, 2, 0}, {10, 20, 0}, {4, 10, 0}, {2, 4, 0}}, text},
		"sent again":       {[]one{{0, 5, 0}, {0, 5, 0}, {5, 20, 0}, {3, 10, 0}}, text},
		"overlap":          {[]one{{0, 5, 0}, {3, 12, 0}, {1, 20, 0}}, text},
		"overlap of later": {[]one{{0, 2, 0}, {5, 9, 0}, {5, 15, 0}, {4, 7, 0}, {12, 20, 0}, {2, 5, 0}}, text},
		"keepalive":        {[]one{{0, 5, 0}, {4, 5, 0}, {5, 5, 0}, {5, 20, 0}}, text},
		"missing":          {[]one{{0, 5, 0}, {8, 20, 0}}, "01234[3]89abcdefghij"},
		"cut":              {[]one{{0, 5, 2}, {7, 20, 0}}, "01234[2]789abcdefghij"},
		"cut, sent again":  {[]one{{0, 5, 2}, {4, 9, 0}, {9, 20, 0}}, "01234[2]789abcdefghij"},
		"cut and held":     {[]one{{0, 2, 0}, {5, 8, 2}, {2, 5, 0}, {10, 20, 0}}, "01234567[2]abcdefghij"},
		"two missing":      {[]one{{0, 2, 0}, {4, 6, 0}, {8, 20, 0}}, "01[2]45[2]89abcdefghij"},
		"too far":          {[]one{{0, 5, 0}, {1<<30 + 9, 1<<30 + 12, 0}, {5, 20, 0}}, text},
	} {
		var h tcp.Half
		var got stream
		h.Start(start - 1)
		for _, s := range c.segments {
			data := strings.Repeat("x", max(0, s.to-s.from))
			if s.to <= len(text) {
				data = text[s.from:s.to]
			}
			h.Segment(0, start+uint32(s.from), []byte(data), s.missing, &got)
		}
		h.End(0, &got)
		if got.String() != c.want || h.Held() != 0 {
			t.Errorf("%s: %q, want %q; %d bytes held", name, got.String(), c.want, h.Held())
		}
	}
}

// A stream is the same for each order of its segments, with some sent twice, cut otherwise.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		long := make([]byte, 2000)
		for i := range long {
			long[i] = byte(r.Uint32())
		}
		var segments []one
		for at := 0; at < len(long); {
			n := min(1+r.IntN(60), len(long)-at)
			segments = append(segments, one{at, at + n, 0})
			if r.IntN(4) == 0 {
				segments = append(segments, one{max(0, at-r.IntN(50)), min(at+n+r.IntN(50), len(long)), 0})
			}
			at += n
		}
		r.Shuffle(len(segments), func(i, j int) { segments[i], segments[j] = segments[j], segments[i] })
		var h tcp.Half
		var got stream
		seq := r.Uint32()
		h.Start(seq - 1)
		for _, s := range segments {
			h.Segment(0, seq+uint32(s.from), long[s.from:s.to], 0, &got)
		}
		if got.String() != string(long) || h.Held() != 0 {
			t.Fatalf("seed %d: %d bytes, %d held", seed, got.Len(), h.Held())
		}
	}
}

// A missing segment that the peer has acknowledged is not waited for longer than some segments, and
// one that is on its way is.
func TestAcknowledgedBytesAreNotWaitedFor(t *testing.T) {
	for _, acked := range []bool{false, true} {
		var h tcp.Half
		var got stream
		h.Start(99)
		if acked {
			h.Ack(1000)
		}
		for i := range uint32(40) {
			h.Segment(0, 110+i, []byte("x"), 0, &got)
		}
		if passed := strings.HasPrefix(got.String(), "[10]x"); passed != acked {
			t.Errorf("acknowledged %v: %q", acked, got.String())
		}
	}
}

// Held segments have a limit in bytes and in number.
func TestHeldBytesAreBounded(t *testing.T) {
	for _, size := range []int{1, 60000} { // the one limit, and the other
		var h tcp.Half
		var got stream
		h.Start(0)
		for i := range 3000 / min(size, 10) {
			h.Segment(0, uint32(10+i*2*size), make([]byte, size), 0, &got)
			if h.Held() > tcp.MaxHeld+size {
				t.Fatalf("%d bytes are held", h.Held())
			}
		}
		if got.Len() == 0 {
			t.Errorf("segments of %d bytes wait until the end", size)
		}
	}
}
