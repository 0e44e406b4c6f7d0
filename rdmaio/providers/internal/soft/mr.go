package soft

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Region implements verbs.MemoryRegion.
type Region struct {
	pd *Domain

	use    atomic.Uint64 // see type use; a change of more than the pins needs mu
	size   atomic.Int64  // size of the memory, for code without a pin
	access atomic.Uint32 // verbs.Access

	providing sync.Mutex // locked during a call of onDemand

	mu    sync.Mutex
	idle  sync.Cond // signaled when an invalid or redirecting region has no pins left
	state verbs.MRState
	bufs  [2][]byte // the memory is one of them, by useSecond; the other may change with mu held
	key   uint32
	base  uint64

	// onDemand returns memory for a registration that was made without memory. It is nil if the
	// registration had memory from the beginning.
	onDemand func() ([]byte, error)
}

// noLocalUse is a bit of Region.access in addition to the bits of verbs.Access: no work request of
// this side may use the region (verbs.OnDemand).
const noLocalUse = 1 << 16

// use is the state of a region that code needs to access its bytes, in one word, so that it
// needs no lock:
//
//	bits 24 to 63   number of the registration
//	bits 3 to 23    number of pins: copies in progress
//	bit 2           the memory is bufs[1], not bufs[0]
//	bit 1           Redirect waits for a moment without pins
//	bit 0           the registration is valid
type use uint64

const (
	useValid        use = 1
	useRedirecting  use = 1 << 1
	useSecond       use = 1 << 2
	usePin          use = 1 << 3
	useRegistration use = 1 << 24
)

func (u use) valid() bool          { return u&useValid != 0 }
func (u use) redirecting() bool    { return u&useRedirecting != 0 }
func (u use) pins() int            { return int(u % useRegistration / usePin) }
func (u use) registration() uint64 { return uint64(u / useRegistration) }

// same reports whether u and o are of one registration, and equally valid.
func (u use) same(o use) bool { return (u^o)&^(useRegistration-1-useValid) == 0 }

func (mr *Region) loadUse() use { return use(mr.use.Load()) }

// expire revokes the registration and waits for its pins. mr is locked.
func (mr *Region) expire(state verbs.MRState) {
	mr.state = state
	mr.use.And(^uint64(useValid))
	mr.waitForPins()
}

var _ verbs.MemoryRegion = (*Region)(nil)

// Bytes implements verbs.MemoryRegion.
func (mr *Region) Bytes() []byte {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.bytes()
}

// bytes returns the region's memory. mr is locked, or the caller has a pin.
func (mr *Region) bytes() []byte {
	if mr.loadUse()&useSecond != 0 {
		return mr.bufs[1]
	}
	return mr.bufs[0]
}

// reachable returns the memory that may be accessed: none of an invalid region without pins.
func (mr *Region) reachable() []byte {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if u := mr.loadUse(); !u.valid() && u.pins() == 0 {
		return nil
	}
	return mr.bytes()
}

// Access implements verbs.MemoryRegion.
func (mr *Region) Access() verbs.Access { return verbs.Access(mr.access.Load()) }

// RKey implements verbs.MemoryRegion.
func (mr *Region) RKey() uint32 {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.key
}

// RemoteAddr implements verbs.MemoryRegion.
func (mr *Region) RemoteAddr() uint64 {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.base
}

// State implements verbs.MemoryRegion.
func (mr *Region) State() verbs.MRState {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.state
}

// Invalidate implements verbs.MemoryRegion.
func (mr *Region) Invalidate() error {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if mr.state == verbs.MRDeregistered {
		return mr.closed("invalidate")
	}
	mr.expire(verbs.MRInvalid)
	return nil
}

// Redirect implements verbs.Redirector. New pins are of the new memory, so the old memory is
// free at the first moment without a pin.
func (mr *Region) Redirect(buf []byte) error {
	if err := mr.pd.checkBuffer(buf, mr.Access()); err != nil {
		return err
	}
	mr.mu.Lock()
	defer mr.mu.Unlock()
	for mr.loadUse().redirecting() { // by another goroutine
		mr.idle.Wait()
	}
	switch {
	case mr.state == verbs.MRDeregistered:
		return mr.closed("redirect")
	case mr.onDemand != nil:
		return fmt.Errorf("%s: redirect: region with memory on demand: %w", mr.pd.dev.provider, verbs.ErrNotSupported)
	case len(buf) != len(mr.bytes()):
		return fmt.Errorf("%s: redirect: %d bytes, the region has %d: %w", mr.pd.dev.provider, len(buf), len(mr.bytes()), verbs.ErrInvalidValue)
	case mr.state != verbs.MRValid: // invalidated by the peer: nothing can access the memory
		return nil
	}
	to := 1
	if mr.loadUse()&useSecond != 0 {
		to = 0
	}
	mr.bufs[to] = buf
	var began use
	for done := false; !done; {
		began = mr.loadUse()
		done = mr.use.CompareAndSwap(uint64(began), uint64(began^useSecond|useRedirecting))
	}
	if began.pins() > 0 {
		mr.mu.Unlock()
		mr.pd.interrupt()
		mr.mu.Lock()
	}
	if mr.loadUse().pins() == 0 {
		mr.use.And(^uint64(useRedirecting))
	}
	for u := mr.loadUse(); u.redirecting() && u.registration() == began.registration(); u = mr.loadUse() {
		mr.idle.Wait()
	}
	// Another Redirect may have run since the wait: then the memory is bufs[1-to].
	if u := mr.loadUse(); u.registration() == began.registration() && (u&useSecond != 0) == (to == 1) {
		mr.bufs[1-to] = nil
	}
	return nil
}

// InvalidateKey invalidates the region of the domain that has the key. It returns false if
// there is no valid one.
func (pd *Domain) InvalidateKey(key uint32) bool {
	mr := pd.dev.Region(key)
	if mr == nil || mr.pd != pd {
		return false
	}
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if mr.state != verbs.MRValid || mr.key != key {
		return false
	}
	mr.expire(verbs.MRInvalid)
	return true
}

// waitForPins waits for the copies in progress, and interrupts those that wait for a peer.
// mr is locked, and unlocked in between.
func (mr *Region) waitForPins() {
	ended := mr.loadUse()
	if ended.pins() == 0 {
		return
	}
	mr.mu.Unlock()
	mr.pd.interrupt()
	mr.mu.Lock()
	// Pins of another registration belong to one that was made after this one was revoked.
	for u := mr.loadUse(); u.pins() > 0 && u.registration() == ended.registration(); u = mr.loadUse() {
		mr.idle.Wait()
	}
}

// Reregister implements verbs.MemoryRegion.
func (mr *Region) Reregister(buf []byte, access verbs.Access) error {
	d := mr.pd.dev
	if err := d.Usable(); err != nil {
		return err
	}
	if mr.State() == verbs.MRDeregistered { // first: Bytes is nil then
		return mr.closed("reregister")
	}
	if err := mr.pd.checkBuffer(buf, access); err != nil {
		return err
	}
	return mr.renew(buf, len(buf), uint32(access), nil)
}

// renew makes an invalid region valid, with a fresh key: with the memory buf, or with memory that
// onDemand returns later.
func (mr *Region) renew(buf []byte, size int, access uint32, onDemand func() ([]byte, error)) error {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	for mr.loadUse().pins() > 0 && mr.state == verbs.MRInvalid { // an Invalidate waits for them too
		mr.idle.Wait()
	}
	switch mr.state {
	case verbs.MRValid:
		return fmt.Errorf("%s: reregister: region is valid; invalidate it first: %w", mr.pd.dev.provider, verbs.ErrBusy)
	case verbs.MRDeregistered:
		return mr.closed("reregister")
	}
	mr.state = verbs.MRValid
	mr.size.Store(int64(size))
	mr.access.Store(access)
	mr.key, mr.base = mr.pd.dev.replaceKey(mr, mr.key)
	mr.bufs, mr.onDemand = [2][]byte{buf}, onDemand
	// Set last: from here on the region can be pinned.
	mr.use.Store(uint64(mr.loadUse()/useRegistration+1)*uint64(useRegistration) | uint64(useValid))
	return nil
}

// closed returns the error of a call for a deregistered region.
func (mr *Region) closed(call string) error {
	return fmt.Errorf("%s: %s: region: %w", mr.pd.dev.provider, call, verbs.ErrClosed)
}

// Deregister implements verbs.MemoryRegion.
func (mr *Region) Deregister() error {
	mr.mu.Lock()
	if mr.state == verbs.MRDeregistered {
		mr.mu.Unlock()
		return nil
	}
	mr.expire(verbs.MRDeregistered)
	mr.bufs, mr.onDemand = [2][]byte{}, nil // requests kept for reuse point to the region
	d := mr.pd.dev
	d.mu.Lock()
	delete(d.regions, mr.key)
	d.mu.Unlock()
	mr.mu.Unlock()

	mr.pd.mu.Lock()
	delete(mr.pd.regions, mr)
	mr.pd.mu.Unlock()
	d.mrs.Add(-1)
	d.ledger.remove(mr)
	return nil
}

// Denial is the reason for which a peer may not use a key. It is empty if the peer may. Any value
// other than the constants means that the region lacks the right.
type Denial string

// The denials other than a missing right.
const (
	NoRegion    Denial = "key names no region"
	Invalidated Denial = "region was invalidated"
	OtherDomain Denial = "region belongs to another protection domain"
	OutOfBounds Denial = "range is not within the region"
)

// Remote checks the range that a peer names and returns it as an element, not pinned. If
// the check fails, reason says why (RFC 5042 §6.2.1, §6.3; RFC 8166 §8.1,
// draft-ietf-nfsv4-rpcrdma-version-two-00 §10.1; R9).
func (pd *Domain) Remote(key uint32, addr uint64, n int, need verbs.Access) (e Element, reason Denial) {
	mr := pd.dev.Region(key)
	if mr == nil {
		return e, NoRegion
	}
	e, lacks, reason := mr.remote(pd, key, addr, n, need)
	if lacks {
		reason = e.provide()
	}
	return e, reason
}

// remote is Remote for the region with the key. lacks reports that the region has no memory yet.
func (mr *Region) remote(pd *Domain, key uint32, addr uint64, n int, need verbs.Access) (e Element, lacks bool, _ Denial) {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if reason := mr.refusal(pd, key, need); reason != "" {
		return e, false, reason
	}
	// An address below base wraps to a large offset.
	off, size := addr-mr.base, uint64(mr.size.Load())
	if off > size || uint64(n) > size-off {
		return e, false, OutOfBounds
	}
	e = Element{Region: mr, registration: mr.loadUse().registration(), Off: int(off), Len: n}
	return e, mr.onDemand != nil && mr.bufs[0] == nil, ""
}

// Invalidatable returns why a peer may not invalidate the region with a key, or "".
func (pd *Domain) Invalidatable(key uint32) (reason Denial) {
	mr := pd.dev.Region(key)
	if mr == nil {
		return NoRegion
	}
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.refusal(pd, key, verbs.AccessRemoteInvalidate)
}

// refusal returns why a peer may not use a key of the region with the right need, or "". It
// does not check the range. mr is locked.
func (mr *Region) refusal(pd *Domain, key uint32, need verbs.Access) Denial {
	switch {
	case mr.state != verbs.MRValid || mr.key != key:
		return Invalidated
	case mr.pd != pd:
		return OtherDomain
	case mr.Access()&need != need:
		return Denial("region has no " + need.String() + " right")
	}
	return ""
}
