package sim

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// region is registered memory of one end of a connection.
type region struct {
	verbs.MemoryRegion // nothing calls it: the engine does not, and the network knows what it is
	bytes              []byte
	key                uint32
	addr               uint64
	access             verbs.Access
	live               bool
	gaveUp             bool // the Call that it was for has been cancelled: the peer may come too late
}

// poison is in all memory before it is used; it must never be seen anywhere else.
const poison = 0xa5

func poisoned(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = poison
	}
	return b
}

// register makes memory known to the peer, under a key that no other region has or had.
func (e *end) register(b []byte, access verbs.Access) *region {
	e.w.keys += 1 + e.w.rng.Uint32N(1000)
	r := &region{bytes: b, key: e.w.keys, addr: e.w.rng.Uint64() >> 1, access: access, live: true}
	e.regions[r.key] = r
	return r
}

// at finds what a peer wants to touch, or says why it must not.
func (e *end) at(key uint32, addr uint64, n int, access verbs.Access) ([]byte, bool) {
	r := e.regions[key]
	switch {
	case r == nil:
		e.w.fail("%v: key %#x was never given out", e.name, key)
	case !r.live && r.gaveUp:
		e.w.note("late access to %#x", key)
	case !r.live:
		e.w.fail("%v: key %#x is used after its end", e.name, key)
	case r.access&access == 0:
		e.w.fail("%v: key %#x is used for %v, and is for %v", e.name, key, access, r.access)
	case addr < r.addr || addr-r.addr > uint64(len(r.bytes)) || uint64(n) > uint64(len(r.bytes))-(addr-r.addr):
		e.w.fail("%v: key %#x is used outside of its memory", e.name, key)
	default:
		from := addr - r.addr
		return r.bytes[from : from+uint64(n)], true
	}
	return nil, false
}

// local is the memory of an element of our own.
func local(s *verbs.SGE) []byte {
	return s.MR.(*region).bytes[s.Offset : s.Offset+s.Length]
}
