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

	use    atomic.Uint64 // see use; written with mu held, but for the pins
	size   atomic.Int64  // of buf, for who has no pin
	access atomic.Uint32 // verbs.Access

	mu    sync.Mutex
	idle  sync.Cond // signalled when the pins fall to 0 on a region that is not valid, or moves
	state verbs.MRState
	bufs  [2][]byte // use says which of them it is; each is written with mu held, while nothing looks at it
	key   uint32
	base  uint64
}

// use is what everyone who touches the bytes looks at, in one word, so that
// they need no lock: from the top the number of the registration, 21 bits that count
// the pins, which are copies in progress, a bit that says which of bufs is meant, one that is set while Redirect waits
// for a moment without pins, and one that is set while it is valid.
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

// same reports whether that is the registration o, still valid if o was.
func (u use) same(o use) bool { return (u^o)&^(useRegistration-1-useValid) == 0 }

func (mr *Region) loadUse() use { return use(mr.use.Load()) }

// expire ends the registration. mr is locked.
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

// bytes is the memory that the region stands for now. A caller without the lock has a pin.
func (mr *Region) bytes() []byte {
	if mr.loadUse()&useSecond != 0 {
		return mr.bufs[1]
	}
	return mr.bufs[0]
}

// reachable returns the memory that an access may touch: none of an invalid region, once its copies have ended.
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
		return fmt.Errorf("%s: invalidate: region: %w", mr.pd.dev.provider, verbs.ErrClosed)
	}
	mr.expire(verbs.MRInvalid)
	return nil
}

// Redirect implements verbs.Redirector. Pins that begin from now on are of the new memory, so that the old one is free
// at the first moment without a pin.
func (mr *Region) Redirect(buf []byte) error {
	if err := mr.pd.checkBuffer(buf, mr.Access()); err != nil {
		return err
	}
	mr.mu.Lock()
	defer mr.mu.Unlock()
	for mr.loadUse().redirecting() { // another goroutine is at it
		mr.idle.Wait()
	}
	switch {
	case mr.state == verbs.MRDeregistered:
		return fmt.Errorf("%s: redirect: region: %w", mr.pd.dev.provider, verbs.ErrClosed)
	case len(buf) != len(mr.bytes()):
		return fmt.Errorf("%s: redirect: %d bytes, the region has %d: %w", mr.pd.dev.provider, len(buf), len(mr.bytes()), verbs.ErrInvalidValue)
	case mr.state != verbs.MRValid: // the peer ended it: nothing reaches the memory
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
	if mr.loadUse().registration() == began.registration() {
		mr.bufs[1-to] = nil
	}
	return nil
}

// InvalidateKey ends a region of the domain that key names; false if there is
// none, or no longer.
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

// waitForPins waits for the copies in progress. One that waits for the peer is
// interrupted, so it ends. mr is locked, and unlocked for a moment.
func (mr *Region) waitForPins() {
	ended := mr.loadUse()
	if ended.pins() == 0 {
		return
	}
	mr.mu.Unlock()
	mr.pd.interrupt()
	mr.mu.Lock()
	for u := mr.loadUse(); u.pins() > 0 && u.registration() == ended.registration(); u = mr.loadUse() { // else they are the next one's
		mr.idle.Wait()
	}
}

// Reregister implements verbs.MemoryRegion.
func (mr *Region) Reregister(buf []byte, access verbs.Access) error {
	d := mr.pd.dev
	if err := d.Usable(); err != nil {
		return err
	}
	if err := mr.pd.checkBuffer(buf, access); err != nil {
		return err
	}
	return mr.renew(buf, access)
}

// renew makes an invalid region valid with a fresh key.
func (mr *Region) renew(buf []byte, access verbs.Access) error {
	mr.mu.Lock()
	defer mr.mu.Unlock()
	for mr.loadUse().pins() > 0 && mr.state == verbs.MRInvalid { // another goroutine's Invalidate is waiting for them too
		mr.idle.Wait()
	}
	switch mr.state {
	case verbs.MRValid:
		return fmt.Errorf("%s: reregister: region is valid; invalidate it first: %w", mr.pd.dev.provider, verbs.ErrBusy)
	case verbs.MRDeregistered:
		return fmt.Errorf("%s: reregister: region: %w", mr.pd.dev.provider, verbs.ErrClosed)
	}
	mr.state = verbs.MRValid
	mr.size.Store(int64(len(buf)))
	mr.access.Store(uint32(access))
	mr.key, mr.base = mr.pd.dev.replaceKey(mr, mr.key)
	mr.bufs = [2][]byte{buf}
	mr.use.Store(uint64(mr.loadUse()/useRegistration+1)*uint64(useRegistration) | uint64(useValid)) // last: now it may be pinned
	return nil
}

// Deregister implements verbs.MemoryRegion.
func (mr *Region) Deregister() error {
	mr.mu.Lock()
	if mr.state == verbs.MRDeregistered {
		mr.mu.Unlock()
		return nil
	}
	mr.expire(verbs.MRDeregistered)
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

// Remote gives the range that a peer names as an element, still to be pinned;
// the reason says what is wrong with it (RFC 5042 §6.2.1, §6.3; R9).
func (pd *Domain) Remote(key uint32, addr uint64, n int, need verbs.Access) (e Element, reason string) {
	mr := pd.dev.Region(key)
	if mr == nil {
		return e, "key names no region"
	}
	mr.mu.Lock()
	defer mr.mu.Unlock()
	if reason := mr.refusal(pd, key, need); reason != "" {
		return e, reason
	}
	off, size := addr-mr.base, uint64(len(mr.bytes())) // an address before the base wraps to far behind the end
	if off > size || uint64(n) > size-off {
		return e, "range is not within the region"
	}
	return Element{Region: mr, registration: mr.loadUse().registration(), Off: int(off), Len: n}, ""
}

// Invalidatable says why a peer may not invalidate the region that key names, if so.
func (pd *Domain) Invalidatable(key uint32) (reason string) {
	mr := pd.dev.Region(key)
	if mr == nil {
		return "key names no region"
	}
	mr.mu.Lock()
	defer mr.mu.Unlock()
	return mr.refusal(pd, key, verbs.AccessRemoteInvalidate)
}

// refusal is what a peer's use of a key has against it, apart from the range.
// mr is locked.
func (mr *Region) refusal(pd *Domain, key uint32, need verbs.Access) string {
	switch {
	case mr.state != verbs.MRValid || mr.key != key:
		return "region was invalidated"
	case mr.pd != pd:
		return "region belongs to another protection domain"
	case mr.Access()&need != need:
		return "region has no " + need.String() + " right"
	}
	return ""
}
