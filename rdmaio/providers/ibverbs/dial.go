package ibverbs

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// resolveTimeout is the longest time for the system to find an address or a route.
const resolveTimeout = 5 * time.Second

// Dial implements verbs.Dialer. addr is "host:port". The host must be reached by this device.
func (d *Device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	c := newConnection(d, 0)
	q, p, err := d.connecting(qp, params, c)
	if err == nil {
		var info *verbs.ConnInfo
		if info, err = d.connect(ctx, addr, c, q, &p); err == nil {
			return info, nil
		}
		err = q.giveUp(err)
	}
	return nil, fmt.Errorf("ibverbs: dial %q: %w", addr, err)
}

// giveUp disconnects a queue pair that could not be connected. It returns the queue pair's reason,
// which differs from err if the queue pair had failed before.
func (q *queuePair) giveUp(err error) error {
	q.disconnect(err)
	return q.Err()
}

// connecting checks the arguments of Dial and Accept, and moves the queue pair to StateConnecting.
func (d *Device) connecting(qp verbs.QueuePair, params *verbs.ConnParams, c *connection) (*queuePair, verbs.ConnParams, error) {
	p, err := d.soft.Params(params)
	if err != nil {
		return nil, p, err
	}
	q, ok := qp.(*queuePair)
	if !ok || q.dev != d {
		return nil, p, fmt.Errorf("queue pair: %w", verbs.ErrForeignObject)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end.begun && q.State() < verbs.StateError {
		return nil, p, fmt.Errorf("queue pair %d ends: %w", q.Num(), verbs.ErrInvalidState)
	}
	if err := q.StartConnecting(); err != nil {
		return nil, p, err
	}
	q.conn = c
	return q, p, nil
}

// connect resolves the address and connects the queue pair.
func (d *Device) connect(ctx context.Context, addr string, c *connection, q *queuePair, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	to, err := resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	c.peer = to.String()
	if err := d.resolve(ctx, c, to); err != nil {
		return nil, err
	}
	if err := c.request(ctx, q, p); err != nil {
		return nil, err
	}
	e, err := c.await(ctx, abi.CMEstablished)
	if err != nil {
		return nil, err
	}
	return q.establish(c, &e, p, e.PrivateData)
}

// request sends the connection request. The call may take minutes (see joinCall): a goroutine waits
// for it if the caller does not.
func (c *connection) request(ctx context.Context, q *queuePair, p *verbs.ConnParams) error {
	result := make(chan error, 1)
	go func() {
		result <- c.join(q, func(id lib.ID) error {
			param := c.dev.connParam(q, p)
			return c.dev.lib.Connect(id, &param)
		})
	}()
	select {
	case err := <-result:
		if err != nil {
			return c.connectError(err)
		}
		return nil
	case <-c.ended:
		return verbs.ErrDisconnected // begin was called with a reason before
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// resolve finds the way to an address, which must begin at this device.
func (d *Device) resolve(ctx context.Context, c *connection, to netip.AddrPort) error {
	dst, err := sockaddr(to)
	if err != nil {
		return err
	}
	var src []byte
	if d.cfg.Source != "" {
		ip, err := netip.ParseAddr(d.cfg.Source)
		if err != nil {
			return fmt.Errorf("Config.Source: %w: %w", err, verbs.ErrInvalidValue)
		}
		if src, err = sockaddr(netip.AddrPortFrom(ip.Unmap(), 0)); err != nil {
			return err
		}
	}
	if err := c.open(); err != nil {
		return d.callError("create an rdma_cm_id", err)
	}
	err = c.do(func(id lib.ID) error {
		if err := d.setOptions(id); err != nil {
			return err
		}
		return d.lib.ResolveAddr(id, src, dst, resolveTimeout)
	})
	if err != nil {
		return c.unreached("address", err)
	}
	if _, err := c.await(ctx, abi.CMAddrResolved); err != nil {
		return err
	}
	err = c.do(func(id lib.ID) error {
		f := abi.GetCMID(uintptr(id))
		if f.Verbs != uintptr(d.ctx) {
			return d.otherDevice(to, f.Verbs)
		}
		c.port = int(f.Port)
		if err := d.lib.ResolveRoute(id, resolveTimeout); err != nil {
			return c.unreached("route", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = c.await(ctx, abi.CMRouteResolved)
	return err
}

// setOptions sets the options that Config has for outgoing connections.
func (d *Device) setOptions(id lib.ID) error {
	if d.cfg.TrafficClass != 0 {
		if err := d.lib.SetOption(id, abi.OptionLevelID, abi.OptionTOS, []byte{d.cfg.TrafficClass}); err != nil {
			return fmt.Errorf("set the traffic class: %w", err)
		}
	}
	if n, _ := ackTimeout(d.cfg.ACKTimeout); n != 0 && d.transport == abi.TransportIB {
		if err := d.lib.SetOption(id, abi.OptionLevelID, abi.OptionACKTimeout, []byte{n}); err != nil {
			return fmt.Errorf("set the ACK timeout: %w", err)
		}
	}
	return nil
}

// connParam returns the parameters of a connection. Its private data are in the queue pair's area.
// A Send to a peer without a Receive fails at once: with RNRRetry 7 the device would send without a
// limit.
func (d *Device) connParam(q *queuePair, p *verbs.ConnParams) abi.ConnParam {
	param := abi.ConnParam{
		Responder: uint8(p.ResponderResources), Initiator: uint8(p.InitiatorDepth), Flow: 1,
		Retry: uint8(d.cfg.Retries), RNRRetry: 0, DataLen: uint8(len(p.PrivateData)),
	}
	if len(p.PrivateData) > 0 {
		copy(q.area.private, p.PrivateData)
		param.Data = abi.Addr(q.area.private)
	}
	return param
}

// establish moves the queue pair to StateConnected. e has the depths of the peer.
func (q *queuePair) establish(c *connection, e *abi.CMEvent, p *verbs.ConnParams, private []byte) (*verbs.ConnInfo, error) {
	depth, resources := q.dev.depths(e, p)
	way, err := c.path()
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	if q.end.begun {
		q.mu.Unlock()
		return nil, verbs.ErrDisconnected
	}
	q.depth = depth
	q.SetState(verbs.StateConnected)
	q.life.path = way
	q.life.start(q)
	initiator := c.peer != ""
	if initiator && q.dev.transport == abi.TransportIWARP {
		q.opening.start()
	}
	if !initiator && q.dev.quirks.BrittleReply {
		q.held.start(c.before)
	}
	q.mu.Unlock()
	lost := c.attach(q)
	q.mu.Lock()
	q.poll() // messages may have come before the event
	if lost {
		q.begin(verbs.ErrPeerDisconnected, causePeer)
	}
	if initiator && q.dev.quirks.BrittleReply && !q.end.begun {
		q.ping(verbs.RDMAWrite) // the peer may withhold its requests
	}
	q.mu.UnlockNotify()
	return &verbs.ConnInfo{
		PrivateData: bytes.Clone(private), RemoteAddr: way.remote.String(), LocalAddr: way.local.String(),
		InitiatorDepth: depth, ResponderResources: resources,
	}, nil
}

// depths returns the depths of a connection, from an event and our wishes. The event has them as
// this side sees them: its initiator depth is the number of Reads that the peer serves. Over iWARP
// the event of an accepted request has those that the peer has sent.
func (d *hardware) depths(e *abi.CMEvent, p *verbs.ConnParams) (depth, resources int) {
	serves, wants := int(e.Initiator), int(e.Responder)
	if d.quirks.PeersDepths && e.Type != abi.CMConnectRequest {
		serves, wants = wants, serves
	}
	return min(p.InitiatorDepth, serves), min(p.ResponderResources, wants)
}
