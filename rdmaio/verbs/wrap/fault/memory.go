package fault

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// protectionDomain wraps a verbs.ProtectionDomain.
type protectionDomain struct {
	verbs.ProtectionDomain
	dev *device

	mu     sync.Mutex
	allocs map[uintptr]int            // bytes by address, with Plain
	late   map[*memoryRegion]struct{} // regions that a Read keeps valid, with LateReads
}

func (pd *protectionDomain) Alloc(size int) ([]byte, error) {
	pd.dev.maybeRemove()
	if f, fires := pd.dev.inj.occasion(RefuseAlloc); fires {
		return nil, f.error()
	}
	buf, err := pd.ProtectionDomain.Alloc(size)
	if err == nil && pd.dev.inj.has(Plain) {
		pd.mu.Lock()
		pd.allocs[address(buf)] = size
		pd.mu.Unlock()
	}
	return buf, err
}

func (pd *protectionDomain) Free(buf []byte) error {
	err := pd.ProtectionDomain.Free(buf)
	if errors.Is(err, verbs.ErrBusy) && pd.endReads() {
		err = pd.ProtectionDomain.Free(buf)
	}
	if err == nil && pd.dev.inj.has(Plain) {
		pd.mu.Lock()
		delete(pd.allocs, address(buf))
		pd.mu.Unlock()
	}
	return err
}

// endReads invalidates the regions that are valid only because of a Read. It returns false if there
// are no such regions.
func (pd *protectionDomain) endReads() bool {
	pd.mu.Lock()
	late := pd.late
	pd.late = make(map[*memoryRegion]struct{})
	pd.mu.Unlock()
	for mr := range late {
		_ = mr.expire() // at worst the memory stays busy
	}
	return len(late) > 0
}

// address returns the address of a slice's array, even of one without bytes.
func address(buf []byte) uintptr { return reflect.ValueOf(buf).Pointer() }

// register returns an error for a registration that the manners do not allow, after the time that
// it takes.
func (pd *protectionDomain) register(buf []byte) error {
	inj := pd.dev.inj
	if inj.has(SlowRegister) {
		inj.happened(SlowRegister)
		time.Sleep(inj.cfg.RegisterDelay)
	}
	if f, fires := inj.occasion(RefuseRegister); fires {
		return f.error()
	}
	if len(buf) > 0 && inj.has(Plain) && !pd.allocated(buf) {
		inj.happened(Plain)
		return fmt.Errorf("fault: register: %d bytes that are not from this domain's Alloc: %w", len(buf), verbs.ErrNotSupported)
	}
	return nil
}

// allocated reports whether buf is a part of memory that Alloc returned.
func (pd *protectionDomain) allocated(buf []byte) bool {
	at := address(buf)
	pd.mu.Lock()
	defer pd.mu.Unlock()
	for first, size := range pd.allocs {
		if first <= at && at+uintptr(len(buf)) <= first+uintptr(size) {
			return true
		}
	}
	return false
}

func (pd *protectionDomain) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	d := pd.dev
	d.maybeRemove()
	if err := d.takeRegion(); err != nil {
		return nil, err
	}
	mr, added := &memoryRegion{dev: d, pd: pd}, pd.adds(access)
	err := pd.register(buf)
	if err == nil {
		mr.MemoryRegion, err = pd.ProtectionDomain.RegisterMemory(buf, access|added)
	}
	if err != nil {
		d.regions.Add(-1)
		return nil, err
	}
	d.inj.keys.enter(mr, added)
	return mr, nil
}

// plain reports whether an ability is hidden that a caller looks for.
func (d *device) plain() bool {
	if !d.inj.has(Plain) {
		return false
	}
	d.inj.happened(Plain)
	return true
}

// takeRegion counts a region. It returns an error if there are as many as Config.MaxRegions.
func (d *device) takeRegion() error {
	if n, most := d.regions.Add(1), d.inj.cfg.MaxRegions; most > 0 && n > int64(most) {
		d.regions.Add(-1)
		return fmt.Errorf("fault: register: all %d regions of the device exist (Config.MaxRegions): %w", most, verbs.ErrTooLarge)
	}
	return nil
}

// memoryRegion wraps a verbs.MemoryRegion.
type memoryRegion struct {
	verbs.MemoryRegion
	dev   *device
	pd    *protectionDomain
	keyed keyed
	gone  atomic.Bool // deregistered

	reading sync.Mutex
	reads   int  // of the peer, in progress
	late    bool // invalid for the caller, and valid until these are over
}

// adds returns the rights to register in addition to those that the caller asks for.
func (pd *protectionDomain) adds(a verbs.Access) verbs.Access {
	if !pd.dev.inj.has(WindowsOnly) || !pd.dev.Device.Attributes().RemoteInvalidate || !a.Remote() {
		return 0
	}
	return verbs.AccessRemoteInvalidate &^ a
}

// State returns the state that the caller knows.
func (mr *memoryRegion) State() verbs.MRState {
	s := mr.MemoryRegion.State()
	t := &mr.dev.inj.keys
	t.mu.Lock()
	unreported := mr.keyed.unreported
	t.mu.Unlock()
	switch {
	case unreported && s == verbs.MRInvalid:
		return verbs.MRValid
	case s == verbs.MRValid && mr.isLate():
		return verbs.MRInvalid
	}
	return s
}

func (mr *memoryRegion) Invalidate() error {
	mr.dev.maybeRemove()
	if mr.State() == verbs.MRValid {
		if f, fires := mr.dev.inj.occasion(FailInvalidate); fires {
			return f.error()
		}
	}
	return mr.invalidate()
}

// invalidate is Invalidate without faults.
func (mr *memoryRegion) invalidate() error {
	mr.dev.inj.keys.end(mr)
	if mr.outlives() {
		return nil
	}
	return mr.MemoryRegion.Invalidate()
}

// outlives reports whether a Read in progress keeps the region valid after Invalidate.
func (mr *memoryRegion) outlives() bool {
	mr.reading.Lock()
	defer mr.reading.Unlock()
	if mr.reads > 0 && !mr.late && mr.MemoryRegion.State() == verbs.MRValid {
		mr.late = true
		mr.dev.inj.happened(LateReads)
		mr.pd.mu.Lock()
		mr.pd.late[mr] = struct{}{}
		mr.pd.mu.Unlock()
	}
	return mr.late
}

// isLate reports whether only Reads in progress keep the region valid.
func (mr *memoryRegion) isLate() bool {
	mr.reading.Lock()
	defer mr.reading.Unlock()
	return mr.late
}

// readBegins counts a Read of the peer, if the peer may only read the region.
func (mr *memoryRegion) readBegins() bool {
	if mr.MemoryRegion.Access()&verbs.AccessRemoteWrite != 0 {
		return false
	}
	mr.reading.Lock()
	defer mr.reading.Unlock()
	mr.reads++
	return true
}

// readEnded finishes the peer's Read. It invalidates the region if that has waited for the Read.
func (mr *memoryRegion) readEnded() {
	mr.reading.Lock()
	mr.reads--
	over := mr.reads == 0 && mr.late
	mr.reading.Unlock()
	if over {
		_ = mr.expire() // if it fails, deregistration has made the region invalid
	}
}

// expire makes the region invalid if only Reads in progress have kept it valid.
func (mr *memoryRegion) expire() error {
	mr.reading.Lock()
	late := mr.late
	mr.late = false
	mr.reading.Unlock()
	if !late {
		return nil
	}
	mr.pd.mu.Lock()
	delete(mr.pd.late, mr)
	mr.pd.mu.Unlock()
	return mr.MemoryRegion.Invalidate()
}

func (mr *memoryRegion) Reregister(buf []byte, access verbs.Access) error {
	return mr.renew(buf, access, func(access verbs.Access) error { return mr.MemoryRegion.Reregister(buf, access) })
}

// renew registers the region again, by a function, if the faults and manners allow it.
func (mr *memoryRegion) renew(buf []byte, access verbs.Access, register func(verbs.Access) error) error {
	mr.dev.maybeRemove()
	if err := mr.expire(); err != nil {
		return err
	}
	switch mr.State() {
	case verbs.MRInvalid:
		if err := mr.pd.register(buf); err != nil {
			return err
		}
	case verbs.MRValid:
		return fmt.Errorf("fault: reregister: region is valid; invalidate it first: %w", verbs.ErrBusy)
	}
	added := mr.pd.adds(access)
	if err := register(access | added); err != nil {
		return err
	}
	mr.dev.inj.keys.enter(mr, added)
	return nil
}

// ReregisterOnDemand implements verbs.OnDemand.
func (mr *memoryRegion) ReregisterOnDemand(size int, access verbs.Access, memory func() ([]byte, error)) error {
	r, ok := mr.MemoryRegion.(verbs.OnDemand)
	if !ok || mr.dev.plain() {
		return fmt.Errorf("fault: register on demand: %w", verbs.ErrNotSupported)
	}
	if memory == nil {
		return r.ReregisterOnDemand(size, access, nil) // an error
	}
	return mr.renew(nil, access, func(access verbs.Access) error {
		return r.ReregisterOnDemand(size, access, func() ([]byte, error) {
			mr.dev.providing.Add(1)
			defer mr.dev.providing.Add(-1)
			return memory()
		})
	})
}

// Redirect implements verbs.Redirector.
func (mr *memoryRegion) Redirect(buf []byte) error {
	mr.dev.maybeRemove()
	r, ok := mr.MemoryRegion.(verbs.Redirector)
	if !ok || mr.dev.plain() {
		return fmt.Errorf("fault: redirect: %w", verbs.ErrNotSupported)
	}
	return r.Redirect(buf)
}

func (mr *memoryRegion) Deregister() error {
	mr.dev.maybeRemove()
	err := mr.MemoryRegion.Deregister()
	if err == nil && !mr.gone.Swap(true) {
		mr.dev.regions.Add(-1)
		mr.dev.inj.keys.remove(mr)
	}
	return err
}
