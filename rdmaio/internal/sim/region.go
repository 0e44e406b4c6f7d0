package sim

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// region is registered memory of one end of a connection.
type region struct {
	verbs.MemoryRegion // never called: the engine does not, and the network uses the fields below
	bytes              []byte
	key                uint32
	addr               uint64
	access             verbs.Access
	live               bool
	named              uint32 // XID of the Call that names the key; 0: none
	cancelled          bool   // its Call was cancelled: a late access of the peer is allowed
}

// poison fills all memory before it is used. It must never be sent or read.
const poison = 0xa5

// poisoned returns n bytes of poison.
func poisoned(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = poison
	}
	return b
}

// register registers memory for the peer, with a key that was never used before.
func (e *end) register(b []byte, access verbs.Access) *region {
	e.w.keys += 1 + e.w.rng.Uint32N(1000)
	r := &region{bytes: b, key: e.w.keys, addr: e.w.rng.Uint64() >> 1, access: access, live: true}
	e.regions[r.key] = r
	return r
}

// at returns the n bytes at addr that the peer accesses by key. If the access is not allowed, it
// reports why and returns false.
func (e *end) at(key uint32, addr uint64, n int, access verbs.Access) ([]byte, bool) {
	r := e.regions[key]
	switch {
	case r == nil:
		e.w.fail("%v: key %#x was never registered", e.name, key)
	case !r.live && r.cancelled:
		e.w.note("late access to %#x", key)
	case !r.live:
		e.w.fail("%v: key %#x is used after it was invalidated", e.name, key)
	case r.access&access == 0:
		e.w.fail("%v: key %#x is used for %v, its rights are %v", e.name, key, access, r.access)
	case addr < r.addr || addr-r.addr > uint64(len(r.bytes)) || uint64(n) > uint64(len(r.bytes))-(addr-r.addr):
		e.w.fail("%v: key %#x is used outside of its memory", e.name, key)
	default:
		from := addr - r.addr
		return r.bytes[from : from+uint64(n)], true
	}
	return nil, false
}

// local returns the memory of an element of a request.
func local(s *verbs.SGE) []byte {
	return s.MR.(*region).bytes[s.Offset : s.Offset+s.Length]
}
