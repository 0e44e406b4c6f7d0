package soft

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Domain implements verbs.ProtectionDomain, except for CreateQP.
type Domain struct {
	dev *Device

	mu      sync.Mutex
	closed  bool
	queues  map[*QueuePair]Owner
	regions map[*Region]struct{}
	allocs  map[*byte]int // sizes of Alloc's buffers, by first byte
	heap    heap          // the memory of these buffers
}

// AllocPD creates a protection domain.
func (d *Device) AllocPD() (*Domain, error) {
	if err := d.Usable(); err != nil {
		return nil, err
	}
	pd := &Domain{dev: d, queues: make(map[*QueuePair]Owner), regions: make(map[*Region]struct{}), allocs: make(map[*byte]int)}
	d.pds.Add(1)
	d.ledger.add(pd)
	return pd, nil
}

// Alloc implements verbs.ProtectionDomain. The memory is Go heap, except in builds with the
// tag memguard: see ladder.go.
func (pd *Domain) Alloc(size int) ([]byte, error) {
	d := pd.dev
	if size < 1 {
		return nil, fmt.Errorf("%s: alloc of %d bytes: %w", d.provider, size, verbs.ErrInvalidValue)
	}
	if uint64(size) > d.attrs.MaxMRSize {
		return nil, fmt.Errorf("%s: alloc of %d bytes, limit is %d: %w", d.provider, size, d.attrs.MaxMRSize, verbs.ErrTooLarge)
	}
	if err := d.Usable(); err != nil {
		return nil, err
	}
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.closed {
		return nil, fmt.Errorf("%s: alloc: protection domain: %w", d.provider, verbs.ErrClosed)
	}
	buf, err := pd.heap.alloc(size)
	if err != nil {
		return nil, fmt.Errorf("%s: alloc: %w", d.provider, err)
	}
	pd.allocs[&buf[0]] = size
	d.allocated.Add(int64(size))
	d.ledger.add(&buf[0])
	return buf, nil
}

// Free implements verbs.ProtectionDomain.
func (pd *Domain) Free(buf []byte) error {
	d := pd.dev
	if cap(buf) == 0 {
		return fmt.Errorf("%s: free of an empty slice: %w", d.provider, verbs.ErrInvalidValue)
	}
	first := &buf[:1][0]
	pd.mu.Lock()
	defer pd.mu.Unlock()
	size, ok := pd.allocs[first]
	if !ok {
		return fmt.Errorf("%s: free of %d bytes that are not from this domain's Alloc, or freed already: %w", d.provider, len(buf), verbs.ErrForeignObject)
	}
	start := address(buf)
	for mr := range pd.regions {
		if other := mr.reachable(); address(other) < start+uintptr(size) && start < address(other)+uintptr(len(other)) {
			return fmt.Errorf("%s: free of %d bytes: a valid region of %d bytes covers some of them, invalidate it first: %w", d.provider, size, len(other), verbs.ErrBusy)
		}
	}
	delete(pd.allocs, first)
	d.ledger.remove(first)
	pd.heap.free(buf[:1])
	d.allocated.Add(-int64(size))
	return nil
}

// address returns the address of a slice, for comparisons: the Go heap does not move.
func address(b []byte) uintptr { return reflect.ValueOf(b).Pointer() }

// RegisterMemory implements verbs.ProtectionDomain.
func (pd *Domain) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	d := pd.dev
	if err := d.Usable(); err != nil {
		return nil, err
	}
	if err := pd.checkBuffer(buf, access); err != nil {
		return nil, err
	}
	mr := &Region{pd: pd, state: verbs.MRInvalid}
	mr.idle.L = &mr.mu
	pd.mu.Lock()
	if pd.closed {
		pd.mu.Unlock()
		return nil, fmt.Errorf("%s: register: protection domain: %w", d.provider, verbs.ErrClosed)
	}
	pd.regions[mr] = struct{}{}
	pd.mu.Unlock()
	d.mrs.Add(1)
	d.ledger.add(mr)
	return mr, mr.renew(buf, len(buf), uint32(access), nil)
}

// checkBuffer checks the arguments of a registration.
func (pd *Domain) checkBuffer(buf []byte, access verbs.Access) error {
	d := pd.dev
	switch {
	case len(buf) == 0:
		return fmt.Errorf("%s: register: empty buffer: %w", d.provider, verbs.ErrInvalidValue)
	case uint64(len(buf)) > d.attrs.MaxMRSize:
		return fmt.Errorf("%s: register: %d bytes, limit is %d: %w", d.provider, len(buf), d.attrs.MaxMRSize, verbs.ErrTooLarge)
	case !access.Valid():
		return fmt.Errorf("%s: register: access %v is no valid set of rights: %w", d.provider, access, verbs.ErrInvalidValue)
	case !d.attrs.HeapMemory && !pd.allocated(buf):
		return fmt.Errorf("%s: register: %d bytes that are not from this domain's Alloc: %w", d.provider, len(buf), verbs.ErrNotSupported)
	}
	return nil
}

// allocated reports whether buf is a buffer of Alloc, or a part of one.
func (pd *Domain) allocated(buf []byte) bool {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	at := address(buf)
	for first, size := range pd.allocs {
		if start := reflect.ValueOf(first).Pointer(); start <= at && at+uintptr(len(buf)) <= start+uintptr(size) {
			return true
		}
	}
	return false
}

// Close implements verbs.ProtectionDomain.
func (pd *Domain) Close() error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.closed {
		return nil
	}
	if len(pd.queues)+len(pd.regions)+len(pd.allocs) > 0 {
		return fmt.Errorf("%s: close protection domain: %d queue pairs, %d regions, %d allocations left: %w",
			pd.dev.provider, len(pd.queues), len(pd.regions), len(pd.allocs), verbs.ErrBusy)
	}
	pd.closed = true
	pd.heap.close()
	pd.dev.pds.Add(-1)
	pd.dev.ledger.remove(pd)
	return nil
}

// interrupt interrupts the queue pairs of the domain, which may hold pins while they wait
// for a peer.
func (pd *Domain) interrupt() {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	for _, o := range pd.queues {
		o.Interrupt()
	}
}
