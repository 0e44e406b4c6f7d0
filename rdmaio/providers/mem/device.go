package mem

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Device implements verbs.Device.
type Device struct {
	net   *Network
	attrs verbs.DeviceAttributes

	pds, cqs, mrs, listening atomic.Int64
	allocated                atomic.Int64

	mu      sync.RWMutex
	keys    keyGen
	regions map[uint32]*memoryRegion // by key; those without a remote right have none
	qps     map[*queuePair]struct{}
	lns     map[*listener]struct{}
	removed bool
	closed  bool
}

var _ verbs.Device = (*Device)(nil)

// attributes fills in the defaults below a caller's limits.
func attributes(name string, lower *verbs.DeviceAttributes) (verbs.DeviceAttributes, error) {
	a := verbs.DeviceAttributes{
		Name:                  name,
		MaxSendWR:             1 << 14,
		MaxRecvWR:             1 << 14,
		MaxSendSGE:            32,
		MaxRecvSGE:            32,
		MaxReadSGE:            32,
		MaxCQE:                1 << 18,
		MaxMRSize:             1 << 40,
		MaxMessageSize:        1 << 30,
		MaxInitiatorDepth:     128,
		MaxResponderResources: 128,
		MaxPrivateData:        196, // what InfiniBand leaves for a reply; iWARP takes more
		HeapMemory:            true,
		RemoteInvalidate:      true,
	}
	if lower == nil {
		return a, nil
	}
	for _, f := range []struct {
		to   *int
		from int
		zero bool // the limit may be none
	}{
		{&a.MaxSendWR, lower.MaxSendWR, false},
		{&a.MaxRecvWR, lower.MaxRecvWR, false},
		{&a.MaxSendSGE, lower.MaxSendSGE, false},
		{&a.MaxRecvSGE, lower.MaxRecvSGE, false},
		{&a.MaxReadSGE, lower.MaxReadSGE, false},
		{&a.MaxCQE, lower.MaxCQE, false},
		{&a.MaxInitiatorDepth, lower.MaxInitiatorDepth, true},
		{&a.MaxResponderResources, lower.MaxResponderResources, true},
		{&a.MaxPrivateData, lower.MaxPrivateData, true},
	} {
		switch {
		case f.from > *f.to, f.from < 0 && !f.zero:
			return a, fmt.Errorf("mem: device %s: limit %d is not within 1 to %d: %w", name, f.from, *f.to, verbs.ErrInvalidValue)
		case f.from < 0:
			*f.to = 0
		case f.from > 0:
			*f.to = f.from
		}
	}
	if lower.MaxMRSize > 0 {
		a.MaxMRSize = min(a.MaxMRSize, lower.MaxMRSize)
	}
	if lower.MaxMessageSize > 0 {
		a.MaxMessageSize = min(a.MaxMessageSize, lower.MaxMessageSize)
	}
	return a, nil
}

// Attributes implements verbs.Device.
func (d *Device) Attributes() verbs.DeviceAttributes { return d.attrs }

// AllocPD implements verbs.Device.
func (d *Device) AllocPD() (verbs.ProtectionDomain, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	d.pds.Add(1)
	return &protectionDomain{dev: d, regions: make(map[*memoryRegion]struct{}), allocs: make(map[*byte]int)}, nil
}

// CreateCQ implements verbs.Device.
func (d *Device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if entries < 1 {
		return nil, fmt.Errorf("mem: completion queue of %d entries: %w", entries, verbs.ErrInvalidValue)
	}
	if entries > d.attrs.MaxCQE {
		return nil, fmt.Errorf("mem: completion queue of %d entries, limit is %d: %w", entries, d.attrs.MaxCQE, verbs.ErrTooLarge)
	}
	d.cqs.Add(1)
	return &completionQueue{dev: d, notify: notify, ring: make([]cqe, entries)}, nil
}

// Listen implements verbs.Device. The address is any name but the empty one.
func (d *Device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if addr == "" {
		return nil, fmt.Errorf("mem: empty listen address: %w", verbs.ErrInvalidValue)
	}
	l := &listener{dev: d, addr: addr, queue: make(chan *connRequest, d.net.backlog), done: make(chan struct{})}
	if err := d.net.listen(ctx, l); err != nil {
		return nil, err
	}
	d.listening.Add(1)
	d.mu.Lock()
	d.lns[l] = struct{}{}
	d.mu.Unlock()
	return l, nil
}

// Resources implements verbs.Device.
func (d *Device) Resources() verbs.Resources {
	d.mu.RLock()
	defer d.mu.RUnlock()
	r := verbs.Resources{
		PDs: int(d.pds.Load()), CQs: int(d.cqs.Load()), MRs: int(d.mrs.Load()), QPs: len(d.qps),
		Listeners: int(d.listening.Load()), AllocatedBytes: uint64(d.allocated.Load()),
	}
	for q := range d.qps {
		r.PostedRecvs += int(q.rqUsed.Load())
		r.PostedSends += int(q.sqUsed.Load())
	}
	return r
}

// Close implements verbs.Device.
func (d *Device) Close() error {
	if r := d.Resources(); r != (verbs.Resources{}) {
		return fmt.Errorf("mem: close device %s: %+v left: %w", d.attrs.Name, r, verbs.ErrBusy)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

// Remove takes the device away as unplugging would: its connections break with
// verbs.ErrDeviceRemoved (at the peer: verbs.ErrPeerDisconnected), its
// listeners close, and it makes no new objects. What exists can and must still
// be closed.
func (d *Device) Remove() {
	d.mu.Lock()
	d.removed = true
	lns := slices.Collect(maps.Keys(d.lns))
	qps := slices.SortedFunc(maps.Keys(d.qps), func(a, b *queuePair) int { return cmp.Compare(a.num, b.num) })
	d.mu.Unlock()
	for _, l := range lns {
		l.shut()
	}
	for _, q := range qps {
		l := q.lock()
		l.end(q, verbs.ErrDeviceRemoved, verbs.ErrPeerDisconnected)
		l.unlock()
	}
}

// usable refuses new objects on a device that is gone.
func (d *Device) usable() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	switch {
	case d.removed:
		return fmt.Errorf("mem: device %s: %w", d.attrs.Name, verbs.ErrDeviceRemoved)
	case d.closed:
		return fmt.Errorf("mem: device %s: %w", d.attrs.Name, verbs.ErrClosed)
	}
	return nil
}

// region finds a region by key.
func (d *Device) region(key uint32) *memoryRegion {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.regions[key]
}
