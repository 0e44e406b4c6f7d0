package carriers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// overRDMA is the Carrier of an address over RDMA, with a device that it opens itself when there is
// one.
//
//	no device ── open ──> open ── the device was removed ──> stale ── open ──> ...
//	    └──────────────────┴── Close ──> closed ──────────────┘
type overRDMA struct {
	choice  Choice
	xids    oncrpc.XIDs
	opening sync.Mutex // one goroutine opens

	mu     sync.Mutex
	closed bool
	client *rdmaio.Client // nil without a device
	dev    verbs.Device
	stale  bool // the device was removed
}

var _ oncrpc.Submitter = (*overRDMA)(nil)

var errNotOpen = fmt.Errorf("%w is open", ErrNoDevice)

// XID implements oncrpc.Carrier.
func (o *overRDMA) XID() uint32 { return o.xids.Next() }

// Call implements oncrpc.Carrier. It opens a device if no device is open.
func (o *overRDMA) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	c, err := o.open(ctx)
	if err != nil {
		return nil, &oncrpc.CallError{XID: call.XID(), Err: err}
	}
	reply, err := c.Call(ctx, call)
	if errors.Is(err, verbs.ErrDeviceRemoved) {
		o.mu.Lock()
		o.stale = o.stale || o.client == c
		o.mu.Unlock()
	}
	return reply, err
}

// Submit implements oncrpc.Submitter. It opens no device, since the address is up after a Call.
func (o *overRDMA) Submit(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	c, err := o.current()
	if err == nil && c == nil {
		err = errNotOpen
	}
	if err != nil {
		return &oncrpc.CallError{XID: call.XID(), Err: err}
	}
	return c.Submit(ctx, call, done)
}

// current returns the client, or nil if a device must be opened first.
func (o *overRDMA) current() (*rdmaio.Client, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, oncrpc.ErrClosed
	}
	if o.stale {
		return nil, nil
	}
	return o.client, nil
}

// open returns the client, and opens a device if no device is open, or after it was removed.
func (o *overRDMA) open(ctx context.Context) (*rdmaio.Client, error) {
	if c, err := o.current(); c != nil || err != nil {
		return c, err
	}
	o.opening.Lock()
	defer o.opening.Unlock()
	if c, err := o.current(); c != nil || err != nil {
		return c, err
	}
	if err := o.shut(); err != nil {
		return nil, err
	}
	local, err := localAddr(ctx, o.choice.RDMAAddr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreached, err)
	}
	dev, err := o.choice.open(ctx, local)
	if err != nil {
		return nil, err
	}
	c, err := rdmaio.NewClient(dev, o.choice.RDMAAddr, rdmaClientOf(o.choice.RDMA))
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	o.mu.Lock()
	o.client, o.dev, o.stale = c, dev, false
	closed := o.closed
	o.mu.Unlock()
	if closed { // while the device was opened
		return nil, errors.Join(oncrpc.ErrClosed, o.shut())
	}
	return c, nil
}

var errUnreached = errors.New("no local address reaches it")

// shut closes the client and its device, if there are any.
func (o *overRDMA) shut() error {
	o.mu.Lock()
	c, dev := o.client, o.dev
	o.client, o.dev = nil, nil
	o.mu.Unlock()
	if c == nil {
		return nil
	}
	return errors.Join(c.Close(), dev.Close())
}

// Close closes the client and its device.
func (o *overRDMA) Close() error {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	return o.shut()
}

// localAddr returns the address of this machine from which an address is reached. Nothing is sent.
func localAddr(ctx context.Context, addr string) (netip.Addr, error) {
	c, err := new(net.Dialer).DialContext(ctx, "udp", addr)
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}

// listen starts a server over RDMA, with its device.
func (c *Choice) listen(ctx context.Context, h oncrpc.Handler) (Server, error) {
	host, _, err := net.SplitHostPort(c.RDMAAddr)
	if err != nil {
		return nil, err
	}
	var local netip.Addr
	if host != "" {
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, err
		}
		if local = ips[0].Unmap(); local.IsUnspecified() {
			local = netip.Addr{}
		}
	}
	dev, err := c.open(ctx, local)
	if err != nil {
		return nil, err
	}
	cfg, _ := c.conns()
	s, err := rdmaio.Listen(ctx, dev, c.RDMAAddr, h, cfg)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return &deviceServer{Server: s, dev: dev}, nil
}

// deviceServer is a server that owns its device.
type deviceServer struct {
	*rdmaio.Server
	dev verbs.Device
}

// Close closes the server and its device.
func (s *deviceServer) Close() error { return errors.Join(s.Server.Close(), s.dev.Close()) }
