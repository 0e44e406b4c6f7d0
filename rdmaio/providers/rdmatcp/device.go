package rdmatcp

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
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
		connections, refused           atomic.Int64
		sentDirect, sentStaged         atomic.Int64
		receivedDirect, receivedStaged atomic.Int64
	}

	goroutines sync.WaitGroup // all that work for this device; Close joins them

	mu     sync.Mutex
	conns  map[net.Conn]struct{} // not closed yet
	closed bool                  // adopts no more
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
	return &Device{cfg: c, attrs: a, soft: books, conns: make(map[net.Conn]struct{})}, nil
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

// adopt makes the device answer for a connection; false if it has too many or
// is gone, and the connection is closed.
func (d *Device) adopt(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.conns) >= d.cfg.MaxConnections {
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
