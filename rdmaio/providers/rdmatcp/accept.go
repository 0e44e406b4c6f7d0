package rdmatcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// connRequest implements verbs.ConnRequest.
type connRequest struct {
	dev   *Device
	wire  *wire
	hello hello // the peer's; the zero value without profile

	mu       sync.Mutex
	answered bool
}

// AcceptConn waits for a connection request over an existing stream, as the server,
// from its next byte on: see Device.DialConn.
func (d *Device) AcceptConn(ctx context.Context, conn net.Conn) (verbs.ConnRequest, error) {
	if err := d.adopt(conn, netip.Addr{}); err != nil {
		conn.Close()
		return nil, fmt.Errorf("rdmatcp: accept over a connection: device %s: %w: %w", d.attrs.Name, err, verbs.ErrQueueFull)
	}
	r, err := d.request(ctx, conn)
	if err != nil {
		d.drop(conn)
		return nil, fmt.Errorf("rdmatcp: accept over a connection from %v: %w", conn.RemoteAddr(), err)
	}
	return r, nil
}

// request waits for the client's hello, unless there is no profile.
func (d *Device) request(ctx context.Context, conn net.Conn) (*connRequest, error) {
	w, err := newWire(d, conn, handshakeInput)
	if err != nil {
		return nil, err
	}
	r := &connRequest{dev: d, wire: w}
	if d.cfg.Raw != nil {
		return r, context.Cause(ctx)
	}
	conn.SetDeadline(time.Now().Add(d.cfg.HandshakeTimeout))
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(past) }) // after SetDeadline
	hello, err := w.receiveHello()
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, peerClosed(err)
	}
	conn.SetDeadline(time.Time{})
	r.hello = *hello
	return r, nil
}

// PrivateData implements verbs.ConnRequest.
func (r *connRequest) PrivateData() []byte { return r.hello.private }

// RemoteAddr implements verbs.ConnRequest.
func (r *connRequest) RemoteAddr() string { return r.wire.conn.RemoteAddr().String() }

// refuse answers a request that the listener cannot queue.
func (r *connRequest) refuse() { r.deny(&hello{flags: flagRefused}) }

// deny sends a negative answer and closes the connection, both in the background.
func (r *connRequest) deny(p *hello) {
	w := r.wire
	if r.dev.cfg.Raw != nil {
		r.dev.drop(w.conn)
		return
	}
	b, err := p.append(nil, w.stream.ConnID, w.number)
	if err != nil {
		b = nil
	}
	r.dev.goroutines.Go(func() { w.hangup(b) })
}

// Reject implements verbs.ConnRequest.
func (r *connRequest) Reject(private []byte) error {
	if limit := r.dev.attrs.MaxPrivateData; len(private) > limit {
		return fmt.Errorf("rdmatcp: reject: private data of %d bytes, limit is %d: %w", len(private), limit, verbs.ErrTooLarge)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered {
		return fmt.Errorf("rdmatcp: reject: the request has been answered: %w", verbs.ErrInvalidState)
	}
	r.answered = true
	r.deny(&hello{flags: flagReject, private: bytes.Clone(private)})
	return nil
}

// Accept implements verbs.ConnRequest. It returns when the answer has been written. If
// the client has given up by then, the connection ends afterwards.
func (r *connRequest) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	fail := func(err error) (*verbs.ConnInfo, error) {
		return nil, fmt.Errorf("rdmatcp: accept from %v: %w", r.RemoteAddr(), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered {
		return fail(fmt.Errorf("the request has been answered: %w", verbs.ErrInvalidState))
	}
	q, p, err := r.dev.connecting(qp, params)
	if err != nil {
		return fail(err)
	}
	r.answered = true
	info, err := r.accept(ctx, q, p)
	if err != nil {
		if errors.Is(err, verbs.ErrPeerDisconnected) { // an attack, if there are many
			r.dev.logRefused(&r.dev.stats.refusedHandshake, r.wire.conn, err)
		}
		r.dev.drop(r.wire.conn)
		q.mu.Lock()
		q.end(err, report{})
		q.mu.UnlockNotify()
		return fail(err)
	}
	return info, nil
}

func (r *connRequest) accept(ctx context.Context, q *queuePair, p verbs.ConnParams) (*verbs.ConnInfo, error) {
	w := r.wire
	info := &verbs.ConnInfo{
		PrivateData: bytes.Clone(r.hello.private), RemoteAddr: w.conn.RemoteAddr().String(), LocalAddr: w.conn.LocalAddr().String(),
	}
	if raw := r.dev.cfg.Raw; raw != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info.InitiatorDepth, info.ResponderResources = min(p.InitiatorDepth, raw.PeerResources), p.ResponderResources
		return info, q.start(w, info.InitiatorDepth, info.ResponderResources, raw.MaxSend)
	}
	info.InitiatorDepth = min(p.InitiatorDepth, int(r.hello.resources))
	info.ResponderResources = min(p.ResponderResources, int(r.hello.depth))
	w.conn.SetWriteDeadline(time.Now().Add(r.dev.cfg.HandshakeTimeout))
	stop := context.AfterFunc(ctx, func() { w.conn.SetWriteDeadline(past) })
	err := w.sendHello(&hello{
		maxSend: r.dev.attrs.MaxMessageSize, resources: uint16(info.ResponderResources), depth: uint16(info.InitiatorDepth), private: p.PrivateData,
	})
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, peerClosed(err)
	}
	w.conn.SetWriteDeadline(time.Time{})
	return info, q.start(w, info.InitiatorDepth, info.ResponderResources, r.hello.maxSend)
}
