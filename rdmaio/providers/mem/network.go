package mem

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// Config configures a Network.
type Config struct {
	// Rand is the source of the seed for each device's handles. 16 bytes are read when the device
	// is opened. If nil, the default is crypto/rand. Other sources are for tests only: they make
	// handles that a peer can guess.
	Rand io.Reader

	// AllocOnly makes devices register only memory of ProtectionDomain.Alloc, as kernel
	// providers do (DeviceAttributes.HeapMemory is false).
	AllocOnly bool

	// NoRemoteInvalidate makes devices refuse SendWithInvalidate in both directions
	// (DeviceAttributes.RemoteInvalidate is false).
	NoRemoteInvalidate bool

	// Strict makes devices behave as RDMA hardware does where package verbs allows that, so that
	// tests find code which works only over software:
	//
	//   - Writes that share one completion become visible in any order, all before the next Send. A
	//     Send that finds no Receive breaks the connection, as without Strict;
	//   - keys are a number of the region and a byte that counts its registrations;
	//   - the reason for a disconnect comes some time after it, and may be another one;
	//   - at most 56 bytes of private data are accepted, and arrive padded with zeros;
	//   - requests invalidate windows only;
	//   - a registration takes RegisterDelay;
	//   - memory must be of ProtectionDomain.Alloc, and the optional interfaces are missing:
	//     regions on demand, keys that are redirected, lent Receives, input for callers.
	//
	// The attributes of the devices say so. Use it for tests, not for work or measurements.
	Strict bool

	// Seed picks the orders and reasons of Strict. If zero, New picks a seed, which Network.Seed
	// returns.
	Seed uint64

	// RegisterDelay is the time that Strict adds to a registration. If zero, the default is
	// 100 us, which is a usual time for 1 MiB. If negative, Strict adds no time.
	RegisterDelay time.Duration

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

	manners *fault.Injector // of Config.Strict, or nil
}

// New returns a network. A nil cfg means the defaults.
func New(cfg *Config) *Network {
	n := &Network{listeners: make(map[string]*listener)}
	if cfg != nil {
		n.cfg = *cfg
	}
	if n.cfg.Rand == nil {
		n.cfg.Rand = crand.Reader
	}
	if n.cfg.Backlog <= 0 {
		n.cfg.Backlog = 128
	}
	if n.cfg.Strict {
		n.setManners()
	}
	return n
}

// setManners makes the devices strict.
func (n *Network) setManners() {
	if n.cfg.Seed == 0 {
		n.cfg.Seed = 1 + rand.Uint64N(1<<63)
	}
	n.manners = fault.New(fault.Config{Seed: n.cfg.Seed, Manners: strict(n.cfg.RegisterDelay), RegisterDelay: cmp.Or(n.cfg.RegisterDelay, 100*time.Microsecond)})
}

// strict returns the manners of Config.Strict.
func strict(delay time.Duration) fault.Manners {
	m := fault.Allowed &^ fault.UnnoticedSend
	if delay < 0 {
		m &^= fault.SlowRegister
	}
	return m
}

// Seed returns the seed of Config.Strict, with which a test can be repeated. It returns 0 without
// Config.Strict.
func (n *Network) Seed() uint64 {
	if !n.cfg.Strict {
		return 0
	}
	return n.cfg.Seed
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
	own := &device{net: n, soft: d, attrs: a}
	if n.manners != nil {
		return &Device{own, n.manners.Device(own)}, nil
	}
	return &Device{own, own}, nil
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
