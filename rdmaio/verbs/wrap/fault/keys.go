package fault

import (
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// keyTable finds a region by its key, on all devices of an Injector, for the manners that need to
// know a key's region.
type keyTable struct {
	mu      sync.Mutex
	regions uint32                   // numbers given out
	shown   map[uint32]*memoryRegion // by the key that callers know
	own     map[uint32]*memoryRegion // by the provider's key

	// past has the last keys of regions that were registered again: a completion that was not
	// polled yet may report them.
	past [1024]keyPair
	next int // the oldest of past
}

// keyPair is a key in both forms.
type keyPair struct{ shown, own uint32 }

// keyed is the part of a memoryRegion that the keyTable guards.
type keyed struct {
	number     uint32 // of the region; 0 before its first key
	count      uint8  // registrations
	shown, own uint32 // of the last registration
	ended      bool   // invalidated by the caller
	unreported bool   // invalidated by the peer, which the caller does not know

	added verbs.Access // rights that the caller has not asked for, with WindowsOnly
}

// enter records the keys of a new registration, and the rights that the caller has not asked for.
func (t *keyTable) enter(mr *memoryRegion, added verbs.Access) {
	own := mr.MemoryRegion.RKey()
	guessable := own != 0 && mr.dev.inj.has(GuessableKeys)
	if guessable {
		mr.dev.inj.happened(GuessableKeys)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown == nil {
		t.shown, t.own = make(map[uint32]*memoryRegion), make(map[uint32]*memoryRegion)
	}
	t.removeLocked(mr)
	mr.keyed.shown, mr.keyed.own, mr.keyed.ended, mr.keyed.added = own, own, false, added
	if own == 0 {
		return
	}
	if guessable {
		if mr.keyed.number == 0 {
			t.regions++
			mr.keyed.number = t.regions
		}
		mr.keyed.count++
		mr.keyed.shown = mr.keyed.number<<8 | uint32(mr.keyed.count)
	}
	t.shown[mr.keyed.shown], t.own[own] = mr, mr
}

// remove forgets the keys of a region.
func (t *keyTable) remove(mr *memoryRegion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeLocked(mr)
}

func (t *keyTable) removeLocked(mr *memoryRegion) {
	if t.shown[mr.keyed.shown] == mr {
		delete(t.shown, mr.keyed.shown)
		delete(t.own, mr.keyed.own)
		t.past[t.next] = keyPair{mr.keyed.shown, mr.keyed.own}
		t.next = (t.next + 1) % len(t.past)
	}
}

// find returns the region with a key that callers know, and the provider's key. An unknown key is
// returned as it is.
func (t *keyTable) find(shown uint32) (mr *memoryRegion, own uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mr = t.shown[shown]; mr == nil {
		return nil, shown
	}
	return mr, mr.keyed.own
}

// invalidated returns the key that callers know for the provider's key in a completion. With silent
// it returns 0, and the region seems valid until its owner invalidates it.
func (t *keyTable) invalidated(own uint32, silent bool) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	mr := t.own[own]
	switch {
	case silent && mr == nil:
		return 0
	case silent:
		mr.keyed.unreported = !mr.keyed.ended
		return 0
	case mr != nil:
		return mr.keyed.shown
	}
	for _, p := range t.past {
		if p.own == own {
			return p.shown
		}
	}
	return own
}

// end records that the caller invalidates a region.
func (t *keyTable) end(mr *memoryRegion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mr.keyed.ended, mr.keyed.unreported = true, false
}

// endAll does the same for several regions. It skips those that this package has not wrapped.
func (t *keyTable) endAll(regions []verbs.MemoryRegion) {
	for _, mr := range regions {
		if w, ok := mr.(*memoryRegion); ok {
			t.end(w)
		}
	}
}

// added reports whether the peer may invalidate the region with the provider's key because of
// WindowsOnly.
func (t *keyTable) added(own uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	mr := t.own[own]
	return mr != nil && mr.keyed.added != 0
}

// RKey returns the key of the last registration.
func (mr *memoryRegion) RKey() uint32 {
	t := &mr.dev.inj.keys
	t.mu.Lock()
	defer t.mu.Unlock()
	return mr.keyed.shown
}

// Access returns the rights that the caller has asked for.
func (mr *memoryRegion) Access() verbs.Access {
	a := mr.MemoryRegion.Access()
	t := &mr.dev.inj.keys
	t.mu.Lock()
	defer t.mu.Unlock()
	return a &^ mr.keyed.added
}
