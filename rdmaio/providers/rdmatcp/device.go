package rdmatcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Device implements verbs.Device over TCP.
type Device struct {
	cfg   Config
	attrs verbs.DeviceAttributes
	soft  *soft.Device

	numbers atomic.Uint32 // of queue pairs
	stats   struct {
		connections, broken              atomic.Int64
		acceptErrors                     atomic.Int64
		refusedFull, refusedSource       atomic.Int64
		refusedHandshake, refusedBacklog atomic.Int64
		sentDirect, sentStaged           atomic.Int64
		receivedDirect, receivedStaged   atomic.Int64
	}

	log        limitedLog
	ownCounts  bool           // this machine is a source
	goroutines sync.WaitGroup // all that work for this device; Close joins them

	mu      sync.Mutex
	conns   map[net.Conn]netip.Addr // not closed yet, with what they are counted for
	sources map[netip.Addr]int      // how many of them
	closed  bool                    // adopts no more
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
	books, err := soft.New(soft.Config{Provider: "rdmatcp", Attrs: a, Rand: c.Rand})
	if err != nil {
		return nil, err
	}
	return &Device{
		cfg: c, attrs: a, soft: books, log: limitedLog{to: c.Logger, rate: bucket{rate: c.LogRate}}, ownCounts: cfg.MaxPerSource > 0,
		conns: make(map[net.Conn]netip.Addr), sources: make(map[netip.Addr]int),
	}, nil
}

// Attributes implements verbs.Device.
func (d *Device) Attributes() verbs.DeviceAttributes { return d.attrs }

// Stats gives the counters; they are read one after the other, not at one instant.
func (d *Device) Stats() Stats {
	s := &d.stats
	full, source, handshake, backlog := s.refusedFull.Load(), s.refusedSource.Load(), s.refusedHandshake.Load(), s.refusedBacklog.Load()
	return Stats{
		Connections: s.connections.Load(), Broken: s.broken.Load(), Refused: full + source + handshake + backlog,
		RefusedFull: full, RefusedSource: source, RefusedHandshake: handshake, RefusedBacklog: backlog,
		AcceptErrors: s.acceptErrors.Load(), Suppressed: d.log.suppressed.Load(),
		SentDirect: s.sentDirect.Load(), SentStaged: s.sentStaged.Load(),
		ReceivedDirect: s.receivedDirect.Load(), ReceivedStaged: s.receivedStaged.Load(),
	}
}

// AllocPD implements verbs.Device.
func (d *Device) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.soft.AllocPD()
	if err != nil {
		return nil, err
	}
	return &protectionDomain{Domain: pd, dev: d}, nil
}

// CreateCQ implements verbs.Device.
func (d *Device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	return d.soft.CreateCQ(entries, notify)
}

// Resources implements verbs.Device.
func (d *Device) Resources() verbs.Resources { return d.soft.Resources() }

// Close implements verbs.Device. Connections that are still saying goodbye,
// and requests that nobody answered, are cut.
func (d *Device) Close() error {
	if err := d.soft.Close(); err != nil {
		return err
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
	d.closed = true
	d.mu.Unlock()
	d.soft.Remove()
}

// Reasons not to adopt a connection.
var (
	errFull       = errors.New("the device has Config.MaxConnections")
	errDeviceGone = errors.New("the device is closed or removed")
	errSourceFull = errors.New("its source has Config.MaxPerSource (RFC 5042 §6.4.1)")
)

// adopt makes the device answer for a connection, which the caller closes if
// there is an error. from counts, unless it is the zero value.
func (d *Device) adopt(c net.Conn, from netip.Addr) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		err = errDeviceGone
	case len(d.conns) >= d.cfg.MaxConnections:
		err = errFull
	case d.sources[from] >= d.cfg.MaxPerSource:
		err = errSourceFull
	}
	if err != nil {
		return err
	}
	if d.conns[c] = from; from.IsValid() {
		d.sources[from]++
	}
	return nil
}

// drop closes a connection.
func (d *Device) drop(c net.Conn) {
	c.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	from, ok := d.conns[c]
	delete(d.conns, c)
	if !ok || !from.IsValid() {
		return
	}
	if d.sources[from]--; d.sources[from] == 0 {
		delete(d.sources, from)
	}
}

// random gives a number nobody can guess.
func (d *Device) random() (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(d.cfg.Rand, b[:]); err != nil {
		return 0, fmt.Errorf("no randomness: %w", err)
	}
	return binary.BigEndian.Uint64(b[:]), nil
}
