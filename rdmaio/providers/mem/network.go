package mem

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Config configures a Network.
type Config struct {
	// Rand is the source of the seed of each device's handles, 16 bytes when the device is
	// opened. If nil, the default is crypto/rand. Other sources are for tests only: they
	// make handles that a peer can guess.
	Rand io.Reader

	// AllocOnly makes devices register only memory of ProtectionDomain.Alloc, as kernel
	// providers do (DeviceAttributes.HeapMemory is false).
	AllocOnly bool

	// NoRemoteInvalidate makes devices refuse SendWithInvalidate in both directions
	// (DeviceAttributes.RemoteInvalidate is false).
	NoRemoteInvalidate bool

	// Backlog is the largest number of connection requests that wait at a listener. If
	// zero or negative, the default is 128. Further requests are refused.
	Backlog int
}

// Network is a fabric: devices opened on it can connect to each other's listeners.
type Network struct {
	cfg     Config        // with the defaults filled in
	numbers atomic.Uint32 // queue pair numbers and lock order of links

	mu        sync.Mutex
	listeners map[string]*listener

	hold holder
}

// New returns a network. A nil cfg means the defaults.
func New(cfg *Config) *Network {
	n := &Network{listeners: make(map[string]*listener)}
	if cfg != nil {
		n.cfg = *cfg
	}
	if n.cfg.Rand == nil {
		n.cfg.Rand = rand.Reader
	}
	if n.cfg.Backlog <= 0 {
		n.cfg.Backlog = 128
	}
	return n
}

// Open opens a device. Its name is used in logs, and as the remote address that peers see.
// attrs lowers its limits: a zero field keeps its default, and a negative one sets the limit
// to none. A nil attrs keeps all. Config sets HeapMemory and RemoteInvalidate.
func (n *Network) Open(name string, attrs *verbs.DeviceAttributes) (*Device, error) {
	a, err := attributes(name, attrs)
	if err != nil {
		return nil, err
	}
	a.HeapMemory, a.RemoteInvalidate = !n.cfg.AllocOnly, !n.cfg.NoRemoteInvalidate
	d, err := soft.New(soft.Config{Provider: "mem", Attrs: a, Rand: n.cfg.Rand, Addresses: true})
	if err != nil {
		return nil, err
	}
	return &Device{net: n, soft: d, attrs: a}, nil
}

// listen registers a listener's name.
func (n *Network) listen(ctx context.Context, l *listener) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mem: listen at %q: %w", l.addr, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, taken := n.listeners[l.addr]; taken {
		return fmt.Errorf("mem: listen at %q: %w", l.addr, verbs.ErrAddressInUse)
	}
	n.listeners[l.addr] = l
	return nil
}

// unlisten removes a listener's name.
func (n *Network) unlisten(l *listener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[l.addr] == l {
		delete(n.listeners, l.addr)
	}
}

// find returns the listener at an address, or nil.
func (n *Network) find(addr string) *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.listeners[addr]
}
