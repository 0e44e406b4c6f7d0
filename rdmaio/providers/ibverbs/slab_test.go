package ibverbs

import (
	"math/rand/v2"
	"testing"
)

// Buffers of a slab never overlap, whatever the order in which they are freed, and the whole slab
// is one free range in the end.
func TestBuffersOfSlabDoNotOverlap(t *testing.T) {
	const size = 8 << 10
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		s := newSlab(size)
		var owner [size]int
		bufs := map[int]span{} // by number
		for i := 1; i <= 300; i++ {
			if rng.IntN(3) > 0 {
				n := 1 + rng.IntN(700)
				off, ok := s.take(n)
				if !ok {
					continue
				}
				if off%align != 0 || off+n > size {
					t.Fatalf("%d bytes at %d", n, off)
				}
				for b := off; b < off+n; b++ {
					if owner[b] != 0 {
						t.Fatalf("byte %d belongs to buffers %d and %d", b, owner[b], i)
					}
					owner[b] = i
				}
				bufs[i] = span{off, n}
				if !s.covers(off, n) || !s.covers(off+n-1, 1) || s.covers(off, n+1) || s.covers(off+n, 1) && owner[min(off+n, size-1)] == 0 {
					t.Fatalf("covers does not agree with a buffer of %d bytes at %d", n, off)
				}
				continue
			}
			for k, u := range bufs {
				s.give(u.off)
				clear(owner[u.off:u.end()])
				delete(bufs, k)
				break
			}
		}
		for _, u := range bufs {
			s.give(u.off)
		}
		if !s.empty() || len(s.free) != 1 || s.free[0] != (span{0, size}) {
			t.Fatalf("free ranges at the end: %v", s.free)
		}
	}
}

// A domain's first slab has the first buffer and a quarter more. Further slabs double what there
// is, up to 2 MiB each, so that a domain pins at most twice what it needs. A larger buffer has its
// own slab.
func TestSlabsDouble(t *testing.T) {
	const page = 4096
	for _, c := range []struct{ total, size, want int }{
		{0, 1, 2 * page},
		{0, page, 2 * page},
		{0, 4*page + 1, 6 * page},
		{0, 128 << 10, 160 << 10},
		{0, 2<<20 - 1, 2<<20 + 512<<10},
		{0, 2 << 20, 2 << 20},
		{0, 2<<20 + 1, 2<<20 + page},
		{160 << 10, 1, 160 << 10},
		{160 << 10, 160<<10 + 1, 164 << 10},
		{1 << 20, 100, 1 << 20},
		{8 << 20, 100, 2 << 20},
		{8 << 20, 3<<20 + 1, 3<<20 + page},
	} {
		if got := nextSlab(c.total, c.size, page); got != c.want {
			t.Errorf("slab for %d bytes after %d: %d, want %d", c.size, c.total, got, c.want)
		}
	}
}

// The first address after a slab is not the slab's: another one may begin there.
func TestSlabEndsBeforeTheNextAddress(t *testing.T) {
	s := newSlab(4096)
	s.addr, s.mem = 1<<20, make([]byte, 4096)
	for addr, want := range map[uintptr]bool{1<<20 - 1: false, 1 << 20: true, 1<<20 + 4095: true, 1<<20 + 4096: false} {
		if got := s.contains(addr); got != want {
			t.Errorf("the slab contains %#x: %v, want %v", addr, got, want)
		}
	}
}
