package soft

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Device holds the objects of a provider's device.
type Device struct {
	provider  string // the start of every error's text
	attrs     verbs.DeviceAttributes
	addresses bool

	pds, cqs, mrs atomic.Int64
	allocated     atomic.Int64
	ledger        ledger

	mu        sync.RWMutex
	keys      keyGen
	regions   map[uint32]*Region // by key; only regions with a remote right have a key
	queues    map[*QueuePair]Owner
	listeners map[Listener]struct{}
	removed   bool
	closed    bool
}

// Config configures a Device.
type Config struct {
	Provider string // the provider's package, for errors
	Attrs    verbs.DeviceAttributes
	Rand     io.Reader // New reads 16 bytes from it to seed the keys

	// Addresses makes the remote address of a region's first byte a new random number at
	// each registration, as with hardware. Otherwise it is 0.
	Addresses bool
}

// Owner is a provider's queue pair.
type Owner interface {
	// Removed breaks the connection with verbs.ErrDeviceRemoved.
	Removed()

	// Interrupt makes goroutines that hold pins while they wait for the peer release them.
	Interrupt()
}

// Listener is a provider's listener.
type Listener interface {
	// Close closes the listener and calls Device.Unlisten. It is idempotent.
	Close() error
}

// New returns a device without objects.
func New(cfg Config) (*Device, error) {
	var seed [16]byte
	if _, err := io.ReadFull(cfg.Rand, seed[:]); err != nil {
		return nil, fmt.Errorf("%s: device %s: read %d random bytes for keys: %w", cfg.Provider, cfg.Attrs.Name, len(seed), err)
	}
	return &Device{
		provider: cfg.Provider, attrs: cfg.Attrs, addresses: cfg.Addresses, keys: newKeyGen(seed),
		regions: make(map[uint32]*Region), queues: make(map[*QueuePair]Owner), listeners: make(map[Listener]struct{}),
	}, nil
}

// CreateCQ implements verbs.Device.
func (d *Device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	if err := d.Usable(); err != nil {
		return nil, err
	}
	if entries < 1 {
		return nil, fmt.Errorf("%s: completion queue of %d entries: %w", d.provider, entries, verbs.ErrInvalidValue)
	}
	if entries > d.attrs.MaxCQE {
		return nil, fmt.Errorf("%s: completion queue of %d entries, limit is %d: %w", d.provider, entries, d.attrs.MaxCQE, verbs.ErrTooLarge)
	}
	cq := &CompletionQueue{dev: d, notify: notify, size: entries}
	d.cqs.Add(1)
	d.ledger.add(cq)
	return cq, nil
}

// Resources implements verbs.Device.
func (d *Device) Resources() verbs.Resources {
	d.mu.RLock()
	defer d.mu.RUnlock()
	r := verbs.Resources{
		PDs: int(d.pds.Load()), CQs: int(d.cqs.Load()), MRs: int(d.mrs.Load()), QPs: len(d.queues),
		Listeners: len(d.listeners), AllocatedBytes: uint64(d.allocated.Load()),
	}
	for q := range d.queues {
		r.PostedRecvs += int(q.RecvUsed.Load())
		r.PostedSends += int(q.SendUsed.Load())
	}
	return r
}

// Close closes the device. It fails if any object of the device is left.
func (d *Device) Close() error {
	if r := d.Resources(); r != (verbs.Resources{}) {
		return fmt.Errorf("%s: close device %s: %+v left, close these first: %w%v", d.provider, d.attrs.Name, r, verbs.ErrBusy, &d.ledger)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

// Remove closes all listeners, breaks all connections in the order of their queue pair numbers, and
// makes the device refuse to create objects.
func (d *Device) Remove() {
	d.mu.Lock()
	d.removed = true
	listeners := slices.Collect(maps.Keys(d.listeners))
	queues := slices.SortedFunc(maps.Keys(d.queues), func(a, b *QueuePair) int { return cmp.Compare(a.num, b.num) })
	owners := make([]Owner, len(queues))
	for i, q := range queues {
		owners[i] = d.queues[q]
	}
	d.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
	for _, o := range owners {
		o.Removed()
	}
}

// Usable returns an error if the device is removed or closed.
func (d *Device) Usable() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.usable()
}

func (d *Device) usable() error {
	switch {
	case d.removed:
		return fmt.Errorf("%s: device %s: %w", d.provider, d.attrs.Name, verbs.ErrDeviceRemoved)
	case d.closed:
		return fmt.Errorf("%s: device %s: %w", d.provider, d.attrs.Name, verbs.ErrClosed)
	}
	return nil
}

// Listen registers a listener. It fails if the device is removed or closed.
func (d *Device) Listen(l Listener) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	d.listeners[l] = struct{}{}
	d.ledger.add(l)
	return nil
}

// Unlisten unregisters a listener.
func (d *Device) Unlisten(l Listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.listeners, l)
	d.ledger.remove(l)
}

// Region returns the region with a key, or nil.
func (d *Device) Region(key uint32) *Region {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.regions[key]
}

// SpareKey returns a key that names no region, for a target that only the sender of the key
// recognizes: the sink of a Read whose response this side matches with the Read itself.
func (d *Device) SpareKey() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unusedKey()
}

// unusedKey returns a fresh key. After all keys have been used once, it skips those that are in
// use. d is locked.
func (d *Device) unusedKey() uint32 {
	key := d.keys.next()
	for d.keys.counter >= 1<<32 && d.regions[key] != nil {
		key = d.keys.next()
	}
	return key
}

// replaceKey removes a region's old key. It returns a fresh key and address if the region
// has a remote right, else zeros.
func (d *Device) replaceKey(mr *Region, old uint32) (key uint32, base uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.regions, old)
	if !mr.Access().Remote() {
		return 0, 0
	}
	key = d.unusedKey()
	d.regions[key] = mr
	if d.addresses {
		base = d.keys.address()
	}
	return key, base
}
