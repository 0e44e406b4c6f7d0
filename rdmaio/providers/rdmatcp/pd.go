package rdmatcp

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// protectionDomain implements verbs.ProtectionDomain.
type protectionDomain struct {
	dev *Device

	mu      sync.Mutex
	closed  bool
	qps     map[*queuePair]struct{}
	regions map[*memoryRegion]struct{}
	allocs  map[*byte]int // by first byte; value is the size
}

// Alloc implements verbs.ProtectionDomain. The memory is Go heap.
func (pd *protectionDomain) Alloc(size int) ([]byte, error) {
	if size < 1 {
		return nil, fmt.Errorf("rdmatcp: alloc of %d bytes: %w", size, verbs.ErrInvalidValue)
	}
	if uint64(size) > pd.dev.attrs.MaxMRSize {
		return nil, fmt.Errorf("rdmatcp: alloc of %d bytes, limit is %d: %w", size, pd.dev.attrs.MaxMRSize, verbs.ErrTooLarge)
	}
	if err := pd.dev.usable(); err != nil {
		return nil, err
	}
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.closed {
		return nil, fmt.Errorf("rdmatcp: alloc: protection domain: %w", verbs.ErrClosed)
	}
	buf := make([]byte, size)
	pd.allocs[&buf[0]] = size
	pd.dev.allocated.Add(int64(size))
	return buf, nil
}

// Free implements verbs.ProtectionDomain.
func (pd *protectionDomain) Free(buf []byte) error {
	if cap(buf) == 0 {
		return fmt.Errorf("rdmatcp: free of an empty slice: %w", verbs.ErrInvalidValue)
	}
	first := &buf[:1][0]
	pd.mu.Lock()
	defer pd.mu.Unlock()
	size, ok := pd.allocs[first]
	if !ok {
		return fmt.Errorf("rdmatcp: free of %d bytes that are not from this domain's Alloc, or freed already: %w", len(buf), verbs.ErrForeignObject)
	}
	start := address(buf)
	for mr := range pd.regions {
		if other := mr.Bytes(); address(other) < start+uintptr(size) && start < address(other)+uintptr(len(other)) {
			return fmt.Errorf("rdmatcp: free of %d bytes of which %d are registered: %w", size, len(other), verbs.ErrBusy)
		}
	}
	delete(pd.allocs, first)
	pd.dev.allocated.Add(-int64(size))
	return nil
}

// address gives a slice's place, to compare with others; the heap does not move.
func address(b []byte) uintptr { return reflect.ValueOf(b).Pointer() }

// RegisterMemory implements verbs.ProtectionDomain.
func (pd *protectionDomain) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	if err := pd.dev.usable(); err != nil {
		return nil, err
	}
	if err := pd.registrable(buf, access); err != nil {
		return nil, err
	}
	mr := &memoryRegion{pd: pd, state: verbs.MRInvalid}
	mr.idle.L = &mr.mu
	pd.mu.Lock()
	if pd.closed {
		pd.mu.Unlock()
		return nil, fmt.Errorf("rdmatcp: register: protection domain: %w", verbs.ErrClosed)
	}
	pd.regions[mr] = struct{}{}
	pd.mu.Unlock()
	pd.dev.mrs.Add(1)
	return mr, mr.renew(buf, access)
}

// registrable says what is wrong with a registration.
func (pd *protectionDomain) registrable(buf []byte, access verbs.Access) error {
	switch {
	case len(buf) == 0:
		return fmt.Errorf("rdmatcp: register: empty buffer: %w", verbs.ErrInvalidValue)
	case uint64(len(buf)) > pd.dev.attrs.MaxMRSize:
		return fmt.Errorf("rdmatcp: register: %d bytes, limit is %d: %w", len(buf), pd.dev.attrs.MaxMRSize, verbs.ErrTooLarge)
	case !access.Valid():
		return fmt.Errorf("rdmatcp: register: access %v is no valid set of rights: %w", access, verbs.ErrInvalidValue)
	}
	return nil
}

// Close implements verbs.ProtectionDomain.
func (pd *protectionDomain) Close() error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.closed {
		return nil
	}
	if len(pd.qps)+len(pd.regions)+len(pd.allocs) > 0 {
		return fmt.Errorf("rdmatcp: close protection domain: %d queue pairs, %d regions, %d allocations left: %w",
			len(pd.qps), len(pd.regions), len(pd.allocs), verbs.ErrBusy)
	}
	pd.closed = true
	pd.dev.pds.Add(-1)
	return nil
}

// hurry interrupts what holds memory of this domain while it waits for a peer.
func (pd *protectionDomain) hurry() {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	for q := range pd.qps {
		if w := q.wire.Load(); w != nil {
			w.hurry()
		}
	}
}
