package sim

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// memory is the memory of an end: registered, lent and reserved. All of it must come back.
type memory struct {
	w        *world
	name     string // of the end
	regions  map[uint32]*region
	reads    map[*engine.Request][]*region // read chunks of a reply, until it is released
	given    map[*engine.Request][][]byte  // a handler's memory, until its Request is released
	borrowed int                           // send buffers that the engine borrowed
	loans    int                           // not returned
	reserved int                           // bytes, by Config.Reserve
	skips    int                           // times that there was no memory
}

func newMemory(w *world, name string) memory {
	return memory{
		w: w, name: name, regions: make(map[uint32]*region),
		reads: make(map[*engine.Request][]*region), given: make(map[*engine.Request][][]byte),
	}
}

// register registers memory for the peer, with a key that was never used before.
func (m *memory) register(b []byte, access verbs.Access) *region {
	m.w.keys += 1 + m.w.rng.Uint32N(1000)
	r := &region{bytes: b, key: m.w.keys, addr: m.w.rng.Uint64() >> 1, access: access, live: true}
	m.regions[r.key] = r
	return r
}

// at returns the n bytes at addr that the peer accesses by key. If the access is not allowed, it
// reports why and returns false.
func (m *memory) at(key uint32, addr uint64, n int, access verbs.Access) ([]byte, bool) {
	r := m.regions[key]
	switch {
	case r == nil:
		m.w.fail("%v: key %#x was never registered", m.name, key)
	case !r.live && r.cancelled:
		m.w.note("late access to %#x", key)
	case !r.live:
		m.w.fail("%v: key %#x is used after it was invalidated", m.name, key)
	case r.access&access == 0:
		m.w.fail("%v: key %#x is used for %v, its rights are %v", m.name, key, access, r.access)
	case addr < r.addr || addr-r.addr > r.length() || uint64(n) > r.length()-(addr-r.addr):
		m.w.fail("%v: key %#x is used outside of its memory", m.name, key)
	case r.provide != nil && !r.fill():
		m.w.note("no memory for %#x", key)
	default:
		from := addr - r.addr
		return r.bytes[from : from+uint64(n)], true
	}
	return nil, false
}

// give returns a copy of b that is filled with poison when q is released.
func (m *memory) give(q *engine.Request, b []byte) []byte {
	b = bytes.Clone(b)
	m.given[q] = append(m.given[q], b)
	return b
}

// released takes back the memory of a Request: it invalidates the keys of the reply, and fills the
// handler's memory with poison.
func (m *memory) released(q *engine.Request) {
	for _, r := range m.reads[q] {
		r.live = false
	}
	for _, b := range m.given[q] {
		copy(b, poisoned(len(b)))
	}
	delete(m.reads, q)
	delete(m.given, q)
}

// reserve is engine.Config.Reserve of an end.
func (m *memory) reserve(n int) bool {
	if n > 0 && m.w.chance(NoMemory) {
		m.skips++
		return false
	}
	m.reserved += n
	return true
}

// verdict checks that all memory came back, but for loans.
func (m *memory) verdict() {
	if n := len(m.given); n > 0 {
		m.w.fail("%s has not released the memory of %d replies", m.name, n)
	}
	if m.borrowed != 0 {
		m.w.fail("%s has not returned %d send buffers", m.name, m.borrowed)
	}
	for _, r := range m.regions {
		if r.live {
			m.w.fail("%s: key %#x is live at the end", m.name, r.key)
		}
	}
	if m.reserved != 0 {
		m.w.fail("%s has not given back %d bytes of continued messages", m.name, m.reserved)
	}
}

// loansReturned checks that the engine has returned all loans.
func (m *memory) loansReturned() {
	if m.loans != 0 {
		m.w.fail("%s has not returned %d loans", m.name, m.loans)
	}
}
