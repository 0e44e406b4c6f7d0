package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Device implements verbs.Device over byte streams.
type Device struct {
	cfg  Config
	soft *soft.Device

	secure *secure // nil without Config.TLS

	numbers atomic.Uint32 // of queue pairs
	stats   struct {
		connections, broken              atomic.Int64
		acceptErrors                     atomic.Int64
		refusedFull, refusedSource       atomic.Int64
		refusedHandshake, refusedBacklog atomic.Int64
		sentDirect, sentStaged           atomic.Int64
		receivedDirect, receivedStaged   atomic.Int64
	}

	logLimit   *admission.LogLimit
	log        *slog.Logger    // with logLimit
	accepted   admission.Conns // connections by source, for MaxPerSource
	goroutines sync.WaitGroup  // all goroutines of the device; Close waits for them
	last       sync.WaitGroup  // connections that have not sent their last bytes: see Conn.sendLast

	mu     sync.Mutex
	conns  map[net.Conn]*admission.Source // open connections, with the source of each accepted one
	closed bool                           // no further connection is adopted
}

var _ verbs.Device = (*Device)(nil)

// Open opens a device.
func Open(cfg Config) (*Device, error) {
	cfg = cfg.fill()
	secure, err := newSecure(&cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: open: %w", cfg.Provider, err)
	}
	dev, err := soft.New(soft.Config{Provider: cfg.Provider, Attrs: cfg.Attrs, Rand: cfg.Rand, Addresses: cfg.Addresses})
	if err != nil {
		return nil, err
	}
	limit := admission.NewLogLimit(cfg.LogRate)
	return &Device{
		cfg: cfg, soft: dev, secure: secure, logLimit: limit, log: limit.Logger(cfg.Logger),
		accepted: admission.Conns{PerSource: cfg.MaxPerSource}, conns: make(map[net.Conn]*admission.Source),
	}, nil
}

// Attributes implements verbs.Device.
func (d *Device) Attributes() verbs.DeviceAttributes { return d.cfg.Attrs }

// Stats returns the counters. They are read one after the other, not at one instant.
func (d *Device) Stats() Stats {
	s := &d.stats
	full, source, handshake, backlog := s.refusedFull.Load(), s.refusedSource.Load(), s.refusedHandshake.Load(), s.refusedBacklog.Load()
	return Stats{
		Connections: s.connections.Load(), Broken: s.broken.Load(), Refused: full + source + handshake + backlog,
		RefusedFull: full, RefusedSource: source, RefusedHandshake: handshake, RefusedBacklog: backlog,
		AcceptErrors: s.acceptErrors.Load(), Suppressed: d.logLimit.Omitted(),
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

// Close implements verbs.Device. It closes connections that are still sending their
// last message, and connection requests that were not answered.
func (d *Device) Close() error {
	if err := d.soft.Close(); err != nil {
		return err
	}
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.awaitLast()
	d.mu.Lock()
	for c := range d.conns {
		c.Close()
	}
	d.mu.Unlock()
	d.goroutines.Wait()
	return nil
}

// mayHangUp counts a connection for hangup. It returns false if the device is closed.
func (d *Device) mayHangUp() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.last.Add(1)
	}
	return !d.closed
}

// awaitLast waits until all connections have sent their last bytes. The wait is short, because a
// peer that does not read may prolong it. Without it, most programs would exit before, and over TLS
// the peer could not distinguish that from an attack.
func (d *Device) awaitLast() {
	sent := make(chan struct{})
	d.goroutines.Go(func() {
		d.last.Wait()
		close(sent)
	})
	limit := time.NewTimer(lingerWrite)
	defer limit.Stop()
	select {
	case <-sent:
	case <-limit.C:
	}
}

// Remove simulates unplugging the device: its connections end with
// verbs.ErrDeviceRemoved, its listeners close, and it creates no further objects.
// The caller must still close all existing objects.
func (d *Device) Remove() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.soft.Remove()
}

// Reasons not to adopt a connection.
var (
	errFull       = errors.New("the device has as many connections as Config.MaxConnections allows")
	errDeviceGone = errors.New("the device is closed or removed")
	errSourceFull = errors.New("its source has as many connections as Config.MaxPerSource allows (RFC 5042 §6.4.1)")
)

// adopt adds a connection to those that the device closes. from is the source of an accepted
// connection, and nil for one that was dialed. After an error the caller closes the connection.
func (d *Device) adopt(c net.Conn, from *admission.Source) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return errDeviceGone
	case len(d.conns) >= d.cfg.MaxConnections:
		return errFull
	}
	if from != nil {
		if verdict, _ := d.accepted.Enter(*from); verdict != admission.Admitted {
			return errSourceFull
		}
	}
	d.conns[c] = from
	return nil
}

// drop closes a connection and removes it from the device.
func (d *Device) drop(c net.Conn) {
	c.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	if from := d.conns[c]; from != nil {
		d.accepted.Leave(*from)
	}
	delete(d.conns, c)
}

// random returns a number that a peer cannot guess.
func (d *Device) random() (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(d.cfg.Rand, b[:]); err != nil {
		return 0, fmt.Errorf("read 8 random bytes from Config.Rand: %w", err)
	}
	return binary.BigEndian.Uint64(b[:]), nil
}
