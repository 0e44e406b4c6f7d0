package rdmatcp

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

// RemoteAddr implements verbs.MemoryRegion. Offsets on the wire have 32 bits,
// so all regions start at 0.
func (mr *memoryRegion) RemoteAddr() uint64 { return 0 }

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
		return fmt.Errorf("rdmatcp: invalidate: region: %w", verbs.ErrClosed)
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

// drain waits for the copies in progress. One that waits for the peer is
// interrupted (see protectionDomain.hurry), so it ends. mr is locked, and
// unlocked for a moment.
func (mr *memoryRegion) drain() {
	if mr.pins == 0 {
		return
	}
	mr.mu.Unlock()
	mr.pd.hurry()
	mr.mu.Lock()
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
		return fmt.Errorf("rdmatcp: reregister: region is valid; invalidate it first: %w", verbs.ErrBusy)
	case verbs.MRDeregistered:
		return fmt.Errorf("rdmatcp: reregister: region: %w", verbs.ErrClosed)
	}
	for mr.pins > 0 { // another goroutine's Invalidate is waiting for them too
		mr.idle.Wait()
	}
	old := mr.key
	mr.buf, mr.access, mr.key, mr.state = buf, access, 0, verbs.MRValid
	mr.registration++
	d := mr.pd.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.regions, old)
	if access.Remote() {
		mr.key = d.keys.next()
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

// remote gives the range that a peer names as an element, to be pinned for each
// of its segments; the reason says what is wrong with it (RFC 5042 §6.2.1, §6.3;
// R9). No byte of it may have been touched before.
func (mr *memoryRegion) remote(pd *protectionDomain, key, off, n uint32, need verbs.Access) (e element, reason string) {
	if mr == nil {
		return e, "key names no region"
	}
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if reason := mr.refusal(pd, key, need); reason != "" {
		return e, reason
	}
	if uint64(off)+uint64(n) > uint64(len(mr.buf)) {
		return e, "range is not within the region"
	}
	return element{mr: mr, registration: mr.registration, off: int(off), n: int(n)}, ""
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

// bytes gives the memory of a pinned element.
func (e *element) bytes() []byte { return e.mr.buf[e.off : e.off+e.n] }

// overlaps reports whether two valid elements share a byte.
func (e *element) overlaps(o *element) bool {
	if !e.pin() {
		return false
	}
	defer e.mr.unpin()
	if !o.pin() {
		return false
	}
	defer o.mr.unpin()
	a, b := address(e.bytes()), address(o.bytes())
	return a < b+uintptr(o.n) && b < a+uintptr(e.n)
}

// pinAll pins every region of a list, or none.
func pinAll(sgl []element) bool {
	for i := range sgl {
		if !sgl[i].pin() {
			unpinAll(sgl[:i])
			return false
		}
	}
	return true
}

func unpinAll(sgl []element) {
	for i := range sgl {
		sgl[i].mr.unpin()
	}
}

// pieces appends the slices that bytes off to off+n of a pinned list are in.
func pieces(to [][]byte, sgl []element, off, n int) [][]byte {
	for i := range sgl {
		b := sgl[i].bytes()
		if off >= len(b) {
			off -= len(b)
			continue
		}
		b = b[off:]
		off = 0
		if len(b) > n {
			b = b[:n]
		}
		if len(b) > 0 {
			to = append(to, b)
		}
		if n -= len(b); n == 0 {
			break
		}
	}
	return to
}
