package mem

import (
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// memoryRegion implements verbs.MemoryRegion.
type memoryRegion struct {
	pd *protectionDomain

	mu           sync.Mutex
	idle         sync.Cond // signalled when pins falls to 0 on a region that is not valid
	state        verbs.MRState
	pins         int // copies in progress; buf does not change while there is one
	buf          []byte
	access       verbs.Access
	key          uint32
	base         uint64
	registration uint64 // counts them
}

var _ verbs.MemoryRegion = (*memoryRegion)(nil)

// Bytes implements verbs.MemoryRegion.
func (mr *memoryRegion) Bytes() []byte {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.buf
}

// Access implements verbs.MemoryRegion.
func (mr *memoryRegion) Access() verbs.Access {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.access
}

// RKey implements verbs.MemoryRegion.
func (mr *memoryRegion) RKey() uint32 {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.key
}

// RemoteAddr implements verbs.MemoryRegion.
func (mr *memoryRegion) RemoteAddr() uint64 {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.base
}

// State implements verbs.MemoryRegion.
func (mr *memoryRegion) State() verbs.MRState {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.state
}

// Invalidate implements verbs.MemoryRegion.
func (mr *memoryRegion) Invalidate() error {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if mr.state == verbs.MRDeregistered {
		return fmt.Errorf("mem: invalidate: region: %w", verbs.ErrClosed)
	}
	mr.state = verbs.MRInvalid
	mr.drain()
	return nil
}

// invalidateKey ends the region if key still is the one that names it.
func (mr *memoryRegion) invalidateKey(key uint32) bool {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if mr.state != verbs.MRValid || mr.key != key {
		return false
	}
	mr.state = verbs.MRInvalid
	mr.drain()
	return true
}

// drain waits for the copies in progress. Who pins waits for nothing, so it ends.
func (mr *memoryRegion) drain() {
	for mr.pins > 0 {
		mr.idle.Wait()
	}
}

// Reregister implements verbs.MemoryRegion.
func (mr *memoryRegion) Reregister(buf []byte, access verbs.Access) error {
	if err := mr.pd.dev.usable(); err != nil {
		return err
	}
	if err := mr.pd.registrable(buf, access); err != nil {
		return err
	}
	return mr.renew(buf, access)
}

// renew makes an invalid region valid with a fresh key.
func (mr *memoryRegion) renew(buf []byte, access verbs.Access) error {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	switch mr.state {
	case verbs.MRValid:
		return fmt.Errorf("mem: reregister: region is valid; invalidate it first: %w", verbs.ErrBusy)
	case verbs.MRDeregistered:
		return fmt.Errorf("mem: reregister: region: %w", verbs.ErrClosed)
	}
	old := mr.key
	mr.buf, mr.access, mr.key, mr.base, mr.state = buf, access, 0, 0, verbs.MRValid
	mr.registration++
	d := mr.pd.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.regions, old)
	if access.Remote() {
		mr.key, mr.base = d.keys.next()
		d.regions[mr.key] = mr
	}
	return nil
}

// Deregister implements verbs.MemoryRegion.
func (mr *memoryRegion) Deregister() error {
	mr.mu.Lock()
	if mr.state == verbs.MRDeregistered {
		mr.mu.Unlock()
		return nil
	}
	mr.state = verbs.MRDeregistered
	mr.drain()
	d := mr.pd.dev
	d.mu.Lock()
	delete(d.regions, mr.key)
	d.mu.Unlock()
	mr.mu.Unlock()

	mr.pd.mu.Lock()
	delete(mr.pd.regions, mr)
	mr.pd.mu.Unlock()
	d.mrs.Add(-1)
	return nil
}

// pin keeps a local element's bytes in place until unpin; false if the
// registration that it was posted with has ended.
func (e *element) pin() bool {
	mr := e.mr
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if mr.state != verbs.MRValid || mr.registration != e.registration {
		return false
	}
	mr.pins++
	return true
}

// pinRemote does the same for a range that a peer names; the reason says what
// is wrong with it (RFC 5042 §6.2.1, §6.3; R9).
func (mr *memoryRegion) pinRemote(pd *protectionDomain, key uint32, addr uint64, n int, need verbs.Access) (b []byte, reason string) {
	if mr == nil {
		return nil, "key names no region"
	}
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if reason := mr.refusal(pd, key, need); reason != "" {
		return nil, reason
	}
	off, size := addr-mr.base, uint64(len(mr.buf)) // an address before the base wraps to far behind the end
	if off > size || uint64(n) > size-off {
		return nil, "range is not within the region"
	}
	mr.pins++
	return mr.buf[off : off+uint64(n)], ""
}

// invalidatable says why a peer may not invalidate the region, if so.
func (mr *memoryRegion) invalidatable(pd *protectionDomain, key uint32) (reason string) {
	if mr == nil {
		return "key names no region"
	}
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.refusal(pd, key, verbs.AccessRemoteInvalidate)
}

// refusal is what a peer's use of a key has against it, apart from the range.
// mr is locked.
func (mr *memoryRegion) refusal(pd *protectionDomain, key uint32, need verbs.Access) string {
	switch {
	case mr.state != verbs.MRValid || mr.key != key:
		return "region was invalidated"
	case mr.pd != pd:
		return "region belongs to another protection domain"
	case mr.access&need != need:
		return "region has no " + need.String() + " right"
	}
	return ""
}

// unpin ends a copy.
func (mr *memoryRegion) unpin() {
	mr.mu.Lock()
	mr.pins--
	if mr.pins == 0 && mr.state != verbs.MRValid {
		mr.idle.Broadcast()
	}
	mr.mu.Unlock()
}
