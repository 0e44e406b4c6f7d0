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

// Device keeps the books of a provider's device.
type Device struct {
	provider  string // begins the text of every error
	attrs     verbs.DeviceAttributes
	addresses bool

	pds, cqs, mrs atomic.Int64
	allocated     atomic.Int64
	ledger        ledger

	mu        sync.RWMutex
	keys      keyGen
	regions   map[uint32]*Region // by key; those without a remote right have none
	queues    map[*QueuePair]Owner
	listeners map[Listener]struct{}
	removed   bool
	closed    bool
}

// Config configures a Device.
type Config struct {
	Provider string // its package, for errors
	Attrs    verbs.DeviceAttributes
	Rand     io.Reader // 16 bytes of it seed the keys

	// Addresses makes the first byte of a region go by a number that is fresh
	// on each registration, as in hardware; otherwise it goes by 0.
	Addresses bool
}

// Owner is the queue pair of a provider.
type Owner interface {
	// Removed ends the connection with verbs.ErrDeviceRemoved.
	Removed()

	// Interrupt interrupts what holds pins while it waits for the peer.
	Interrupt()
}

// Listener is the listener of a provider.
type Listener interface {
	// Close is idempotent and calls Device.Unlisten.
	Close() error
}

// New makes the books of a device.
func New(cfg Config) (*Device, error) {
	var seed [16]byte
	if _, err := io.ReadFull(cfg.Rand, seed[:]); err != nil {
		return nil, fmt.Errorf("%s: device %s: no randomness for keys: %w", cfg.Provider, cfg.Attrs.Name, err)
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
	cq := &CompletionQueue{dev: d, notify: notify, ring: make([]entry, entries)}
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

// Close closes the books, if nothing is in them.
func (d *Device) Close() error {
	if r := d.Resources(); r != (verbs.Resources{}) {
		return fmt.Errorf("%s: close device %s: %+v left: %w%v", d.provider, d.attrs.Name, r, verbs.ErrBusy, &d.ledger)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

// Remove closes listeners, ends connections in the order of their queue pairs,
// and refuses what is new.
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

// Usable refuses new objects on a device that is gone.
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

// Listen enters a listener, if the device is not gone.
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

// Unlisten strikes a listener out.
func (d *Device) Unlisten(l Listener) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.listeners, l)
	d.ledger.remove(l)
}

// Region finds a region by key; nil if there is none.
func (d *Device) Region(key uint32) *Region {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.regions[key]
}

// replaceKey strikes a region's old key out and, if it has a use for one, gives it a
// fresh key and address. When all keys have been used once, those still in use
// are passed over.
func (d *Device) replaceKey(mr *Region, old uint32) (key uint32, base uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.regions, old)
	if !mr.Access().Remote() {
		return 0, 0
	}
	for key = d.keys.next(); d.keys.counter >= 1<<32 && d.regions[key] != nil; {
		key = d.keys.next()
	}
	d.regions[key] = mr
	if d.addresses {
		base = d.keys.address()
	}
	return key, base
}
