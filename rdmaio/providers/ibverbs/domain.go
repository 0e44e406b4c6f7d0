package ibverbs

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// domain implements verbs.ProtectionDomain.
type domain struct {
	dev  *Device
	soft *soft.Domain // it has the queue pairs
	pd   lib.PD

	mu      sync.Mutex
	closed  bool
	late    int // queue pairs that are closed, and still exist at the device
	slabs   []*slab
	regions map[*region]struct{}
	queues  []*queuePair // not closed
}

// AllocPD implements verbs.Device.
func (d *Device) AllocPD() (verbs.ProtectionDomain, error) {
	sd, err := d.soft.AllocPD()
	if err != nil {
		return nil, err
	}
	pd, err := d.lib.AllocPD(d.ctx)
	if err != nil {
		return nil, d.fail("allocate a protection domain", errors.Join(err, sd.Close()))
	}
	return &domain{dev: d, soft: sd, pd: pd, regions: make(map[*region]struct{})}, nil
}

// usable returns an error if the domain is closed. The caller holds pd.mu.
func (pd *domain) usable(what string) error {
	if pd.closed {
		return fmt.Errorf("ibverbs: %s: protection domain: %w", what, verbs.ErrClosed)
	}
	return nil
}

// Alloc implements verbs.ProtectionDomain.
func (pd *domain) Alloc(size int) ([]byte, error) {
	d := pd.dev
	if size < 1 {
		return nil, fmt.Errorf("ibverbs: alloc of %d bytes: %w", size, verbs.ErrInvalidValue)
	}
	if uint64(size) > d.attrs.MaxMRSize {
		return nil, d.sizeError(fmt.Sprintf("alloc of %d bytes", size), size)
	}
	if err := d.usable(); err != nil {
		return nil, err
	}
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if err := pd.usable("alloc"); err != nil {
		return nil, err
	}
	for _, s := range pd.slabs {
		if off, ok := s.take(size); ok {
			clear(s.mem[off : off+size])
			return pd.allocated(s, off, size), nil
		}
	}
	s, err := pd.addSlab(size)
	if err != nil {
		return nil, err
	}
	off, _ := s.take(size)
	return pd.allocated(s, off, size), nil
}

func (pd *domain) allocated(s *slab, off, size int) []byte {
	pd.dev.allocatedBytes.Add(int64(size))
	return s.mem[off : off+size : off+size]
}

// addSlab maps and registers a slab that has space for a buffer of size bytes. The caller holds
// pd.mu.
func (pd *domain) addSlab(size int) (*slab, error) {
	d, total := pd.dev, 0
	for _, s := range pd.slabs {
		total += len(s.mem)
	}
	n := nextSlab(total, size, d.page)
	if limit := d.limits.MaxMRSize &^ (align - 1); uint64(n) > limit {
		n = int(limit) // size is not above it
	}
	mem, err := mapMemory(n)
	if err != nil {
		return nil, fmt.Errorf("ibverbs: alloc of %d bytes: map %d bytes: %w", size, n, err)
	}
	s := newSlab(n)
	s.mem, s.addr = mem, address(mem)
	if s.mr, err = d.lib.RegMR(pd.pd, s.addr, n, d.slabAccess()); err != nil {
		err = d.memoryError(fmt.Sprintf("register %d bytes", n), n, err)
		return nil, errors.Join(err, unmapMemory(mem))
	}
	s.lkey = abi.MR(uintptr(s.mr)).LKey
	pd.slabs = append(pd.slabs, s)
	return s, nil
}

// slabAccess returns the rights with which slabs are registered: none for the peer.
func (d *hardware) slabAccess() abi.Access {
	if d.windows {
		return abi.LocalWrite | abi.MWBind
	}
	return abi.LocalWrite
}

// Free implements verbs.ProtectionDomain.
func (pd *domain) Free(buf []byte) error {
	if cap(buf) == 0 {
		return fmt.Errorf("ibverbs: free of an empty slice: %w", verbs.ErrInvalidValue)
	}
	start := address(buf[:1])
	pd.mu.Lock()
	defer pd.mu.Unlock()
	s := pd.slabOf(start)
	if s == nil {
		return fmt.Errorf("ibverbs: free of %d bytes that are not from this domain's Alloc: %w", len(buf), verbs.ErrForeignObject)
	}
	at, ok := s.find(int(start - s.addr))
	if !ok {
		return fmt.Errorf("ibverbs: free of %d bytes that do not begin where a buffer of Alloc does, or freed already: %w", len(buf), verbs.ErrForeignObject)
	}
	u := s.used[at]
	for r := range pd.regions {
		if first, n := r.reachable(); n > 0 && first < start+uintptr(u.n) && start < first+uintptr(n) {
			return fmt.Errorf("ibverbs: free of %d bytes: a valid region of %d bytes covers some of them, invalidate it first: %w", u.n, n, verbs.ErrBusy)
		}
	}
	s.give(u.off)
	pd.dev.allocatedBytes.Add(-int64(u.n))
	if s.empty() && (len(pd.slabs) > 1 || len(s.mem) > keptSlab) {
		return pd.dropSlab(s)
	}
	return nil
}

// dropSlab deregisters and unmaps a slab. The caller holds pd.mu.
func (pd *domain) dropSlab(s *slab) error {
	if err := pd.dev.lib.DeregMR(s.mr); err != nil && !pd.dev.gone() {
		return pd.dev.fail(fmt.Sprintf("deregister %d bytes", len(s.mem)), err)
	}
	pd.slabs = slices.DeleteFunc(pd.slabs, func(o *slab) bool { return o == s })
	return unmapMemory(s.mem)
}

// slabOf returns the slab that has an address, or nil. The caller holds pd.mu.
func (pd *domain) slabOf(addr uintptr) *slab {
	for _, s := range pd.slabs {
		if s.contains(addr) {
			return s
		}
	}
	return nil
}

// locate returns the slab of a buffer to register. The caller holds pd.mu.
func (pd *domain) locate(buf []byte) (*slab, error) {
	at := address(buf)
	if s := pd.slabOf(at); s != nil && s.covers(int(at-s.addr), len(buf)) {
		return s, nil
	}
	return nil, fmt.Errorf("ibverbs: register: %d bytes that are not from this domain's Alloc: %w", len(buf), verbs.ErrNotSupported)
}

// RegisterMemory implements verbs.ProtectionDomain.
func (pd *domain) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	r := &region{pd: pd, state: verbs.MRInvalid}
	pd.mu.Lock()
	err := pd.usable("register")
	if err == nil {
		pd.regions[r] = struct{}{}
	}
	pd.mu.Unlock()
	if err != nil {
		return nil, err
	}
	pd.dev.regions.Add(1)
	if err := r.Reregister(buf, access); err != nil {
		pd.forget(r)
		return nil, err
	}
	return r, nil
}

// forget removes a region from the domain.
func (pd *domain) forget(r *region) {
	pd.mu.Lock()
	delete(pd.regions, r)
	pd.mu.Unlock()
	pd.dev.regions.Add(-1)
}

// binder returns the queue pair that can bind windows for the domain, or nil.
func (pd *domain) binder() *queuePair {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if len(pd.queues) != 1 {
		return nil
	}
	return pd.queues[0]
}

// queuePairs returns the queue pairs of the domain.
func (pd *domain) queuePairs() []*queuePair {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	return slices.Clone(pd.queues)
}

func (pd *domain) addQueue(q *queuePair) {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.queues = append(pd.queues, q)
}

func (pd *domain) dropQueue(q *queuePair) {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.queues = slices.DeleteFunc(pd.queues, func(o *queuePair) bool { return o == q })
}

// Close implements verbs.ProtectionDomain.
func (pd *domain) Close() error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.closed {
		return nil
	}
	buffers := 0
	for _, s := range pd.slabs {
		buffers += len(s.used)
	}
	if len(pd.queues)+len(pd.regions)+buffers > 0 {
		return fmt.Errorf("ibverbs: close protection domain: %d queue pairs, %d regions, %d allocations left: %w",
			len(pd.queues), len(pd.regions), buffers, verbs.ErrBusy)
	}
	pd.closed = true
	var errs []error
	for _, s := range slices.Clone(pd.slabs) {
		errs = append(errs, pd.dropSlab(s))
	}
	return errors.Join(append(errs, pd.dealloc(), pd.soft.Close())...)
}

// dealloc deallocates a closed domain, unless it has to wait for a queue pair. pd.mu must be held.
func (pd *domain) dealloc() error {
	if !pd.closed || pd.late > 0 {
		return nil
	}
	if err := pd.dev.lib.DeallocPD(pd.pd); err != nil && !pd.dev.gone() {
		return pd.dev.fail("deallocate a protection domain", err)
	}
	return nil
}

// keep makes the domain exist at the device until release, although it may be closed.
func (pd *domain) keep() {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.late++
}

func (pd *domain) release() error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.late--
	return pd.dealloc()
}

// address returns the address of a slice's first byte.
func address(b []byte) uintptr { return reflect.ValueOf(b).Pointer() }
