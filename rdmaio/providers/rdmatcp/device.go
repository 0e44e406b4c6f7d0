package rdmatcp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Device implements verbs.Device over TCP.
type Device struct {
	cfg   Config
	attrs verbs.DeviceAttributes

	numbers                  atomic.Uint32 // of queue pairs
	pds, cqs, mrs, listening atomic.Int64
	allocated                atomic.Int64
	stats                    struct {
		connections, refused           atomic.Int64
		sentDirect, sentStaged         atomic.Int64
		receivedDirect, receivedStaged atomic.Int64
	}

	goroutines sync.WaitGroup // all that work for this device; Close joins them

	mu      sync.RWMutex
	keys    keyGen
	regions map[uint32]*memoryRegion // by key; those without a remote right have none
	qps     map[*queuePair]struct{}
	lns     map[*listener]struct{}
	conns   map[net.Conn]struct{} // not closed yet
	removed bool
	closed  bool
}

var _ verbs.Device = (*Device)(nil)

// Open opens a device; cfg may be nil.
func Open(cfg *Config) (*Device, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	c := cfg.fill()
	a, err := c.attributes()
	if err != nil {
		return nil, err
	}
	var seed [16]byte
	if _, err := io.ReadFull(c.Rand, seed[:]); err != nil {
		return nil, fmt.Errorf("rdmatcp: device %s: no randomness for handles: %w", c.Name, err)
	}
	return &Device{
		cfg:     c,
		attrs:   a,
		keys:    newKeyGen(seed),
		regions: make(map[uint32]*memoryRegion),
		qps:     make(map[*queuePair]struct{}),
		lns:     make(map[*listener]struct{}),
		conns:   make(map[net.Conn]struct{}),
	}, nil
}

// Attributes implements verbs.Device.
func (d *Device) Attributes() verbs.DeviceAttributes { return d.attrs }

// Stats gives the counters; they are read one after the other, not at one instant.
func (d *Device) Stats() Stats {
	s := &d.stats
	return Stats{
		Connections: s.connections.Load(), Refused: s.refused.Load(),
		SentDirect: s.sentDirect.Load(), SentStaged: s.sentStaged.Load(),
		ReceivedDirect: s.receivedDirect.Load(), ReceivedStaged: s.receivedStaged.Load(),
	}
}

// AllocPD implements verbs.Device.
func (d *Device) AllocPD() (verbs.ProtectionDomain, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	d.pds.Add(1)
	return &protectionDomain{
		dev: d, qps: make(map[*queuePair]struct{}), regions: make(map[*memoryRegion]struct{}), allocs: make(map[*byte]int),
	}, nil
}

// CreateCQ implements verbs.Device.
func (d *Device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if entries < 1 {
		return nil, fmt.Errorf("rdmatcp: completion queue of %d entries: %w", entries, verbs.ErrInvalidValue)
	}
	if entries > d.attrs.MaxCQE {
		return nil, fmt.Errorf("rdmatcp: completion queue of %d entries, limit is %d: %w", entries, d.attrs.MaxCQE, verbs.ErrTooLarge)
	}
	d.cqs.Add(1)
	return &completionQueue{dev: d, notify: notify, ring: make([]cqe, entries)}, nil
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

// Close implements verbs.Device. Connections that are still saying goodbye,
// and requests that nobody answered, are cut.
func (d *Device) Close() error {
	if r := d.Resources(); r != (verbs.Resources{}) {
		return fmt.Errorf("rdmatcp: close device %s: %+v left: %w", d.attrs.Name, r, verbs.ErrBusy)
	}
	d.mu.Lock()
	d.closed = true
	for c := range d.conns {
		c.Close()
	}
	d.mu.Unlock()
	d.goroutines.Wait()
	return nil
}

// Remove takes the device away as unplugging would: its connections break with
// verbs.ErrDeviceRemoved, its listeners close, and it makes no new objects. What
// exists can and must still be closed.
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
		q.disconnect(verbs.ErrDeviceRemoved)
	}
}

// usable refuses new objects on a device that is gone.
func (d *Device) usable() error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	switch {
	case d.removed:
		return fmt.Errorf("rdmatcp: device %s: %w", d.attrs.Name, verbs.ErrDeviceRemoved)
	case d.closed:
		return fmt.Errorf("rdmatcp: device %s: %w", d.attrs.Name, verbs.ErrClosed)
	}
	return nil
}

// region finds a region by key.
func (d *Device) region(key uint32) *memoryRegion {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.regions[key]
}

// adopt makes the device answer for a connection; false if it has too many or
// is gone, and the connection is closed.
func (d *Device) adopt(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.removed || len(d.conns) >= d.cfg.MaxConnections {
		c.Close()
		return false
	}
	d.conns[c] = struct{}{}
	return true
}

// drop closes a connection.
func (d *Device) drop(c net.Conn) {
	c.Close()
	d.mu.Lock()
	delete(d.conns, c)
	d.mu.Unlock()
}

// random gives a number nobody can guess.
func (d *Device) random() (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(d.cfg.Rand, b[:]); err != nil {
		return 0, fmt.Errorf("no randomness: %w", err)
	}
	return binary.BigEndian.Uint64(b[:]), nil
}
