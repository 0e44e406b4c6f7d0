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

// Config configures a Network. nil or zero fields are the defaults.
type Config struct {
	// Rand seeds the handles of each device, 16 bytes when it is opened;
	// default crypto/rand. A deterministic source makes handles reproducible,
	// and guessable: for tests only.
	Rand io.Reader

	// AllocOnly makes devices as kernel providers are: they register memory of
	// ProtectionDomain.Alloc only (DeviceAttributes.HeapMemory is false).
	AllocOnly bool

	// NoRemoteInvalidate makes devices that refuse SendWithInvalidate
	// (DeviceAttributes.RemoteInvalidate is false), in both directions.
	NoRemoteInvalidate bool

	// Backlog is how many connection requests may wait at a listener; default 128.
	Backlog int
}

// Network is a fabric: devices opened on it reach each other's listeners.
type Network struct {
	cfg     Config        // with the defaults filled in
	numbers atomic.Uint32 // queue pair numbers and lock order of links

	mu        sync.Mutex
	listeners map[string]*listener

	hold holder
}

// New makes a network; cfg may be nil.
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

// Open opens a device, named in logs and as the remote address peers see. attrs
// lowers its limits: zero fields keep their default, a negative number means
// none; nil keeps all. HeapMemory and RemoteInvalidate are as Config says.
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

// unlisten gives a listener's name back.
func (n *Network) unlisten(l *listener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[l.addr] == l {
		delete(n.listeners, l.addr)
	}
}

// find gives the listener at an address, or nil.
func (n *Network) find(addr string) *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.listeners[addr]
}
