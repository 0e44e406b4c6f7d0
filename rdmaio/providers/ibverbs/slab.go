package ibverbs

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

const (
	align    = 64       // of buffers
	keptSlab = 64 << 10 // bytes of the largest slab that a domain without buffers keeps
	mostSlab = 2 << 20  // bytes of the largest slab that is shared by several buffers
)

// slab is mapped memory that is registered as a whole. It is divided into buffers.
type slab struct {
	mem  []byte
	addr uintptr
	mr   lib.MR
	lkey uint32

	free []span // sorted by offset; no two of them touch
	used []span // buffers, sorted by offset; their lengths are as asked for
}

// span is a range of a slab.
type span struct{ off, n int }

func (s span) end() int { return s.off + s.n }

// newSlab returns the accounting for a slab that has size bytes, a multiple of align.
func newSlab(size int) *slab { return &slab{free: []span{{0, size}}} }

// nextSlab returns the size of the slab to add to a domain whose slabs have total bytes, for a
// buffer of size bytes. page is the size of a page.
//
// A connection's first buffer is for its Receives, and stays. The first slab has a quarter more, at
// least a page, for the buffers that come and go. A further slab is as large as all before it, so a
// domain pins at most twice what it needs.
func nextSlab(total, size, page int) int {
	whole := func(n int) int { return (n + page - 1) &^ (page - 1) }
	if total == 0 && size < mostSlab {
		return whole(size) + whole(max(size/4, 1))
	}
	return whole(max(size, min(total, mostSlab)))
}

// take allocates a buffer and returns its offset. It takes the first range that is large enough.
func (s *slab) take(size int) (off int, ok bool) {
	n := (size + align - 1) &^ (align - 1)
	i := slices.IndexFunc(s.free, func(f span) bool { return f.n >= n })
	if i < 0 {
		return 0, false
	}
	f := &s.free[i]
	off = f.off
	if f.off, f.n = f.off+n, f.n-n; f.n == 0 {
		s.free = slices.Delete(s.free, i, i+1)
	}
	at, _ := s.find(off)
	s.used = slices.Insert(s.used, at, span{off, size})
	return off, true
}

// give frees the buffer at an offset, and joins its range with adjacent free ones.
func (s *slab) give(off int) {
	at, _ := s.find(off)
	u := s.used[at]
	s.used = slices.Delete(s.used, at, at+1)
	f := span{off, (u.n + align - 1) &^ (align - 1)}
	i, _ := slices.BinarySearchFunc(s.free, off, func(s span, off int) int { return s.off - off })
	if i < len(s.free) && s.free[i].off == f.end() {
		f.n += s.free[i].n
		s.free = slices.Delete(s.free, i, i+1)
	}
	if i > 0 && s.free[i-1].end() == f.off {
		s.free[i-1].n += f.n
		return
	}
	s.free = slices.Insert(s.free, i, f)
}

// find returns the place in used of the buffer at an offset, and whether there is one.
func (s *slab) find(off int) (int, bool) {
	return slices.BinarySearchFunc(s.used, off, func(u span, off int) int { return u.off - off })
}

// covers reports whether bytes off to off+n are within one buffer.
func (s *slab) covers(off, n int) bool {
	at, exact := s.find(off)
	if !exact {
		at--
	}
	return at >= 0 && n <= s.used[at].end()-off
}

// empty reports whether the slab has no buffers.
func (s *slab) empty() bool { return len(s.used) == 0 }

// contains reports whether an address is in the slab.
func (s *slab) contains(addr uintptr) bool { return addr-s.addr < uintptr(len(s.mem)) }
