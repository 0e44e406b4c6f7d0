package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// connRequest implements verbs.ConnRequest.
type connRequest struct {
	dev   *Device
	conn  *Conn
	offer Offer

	mu       sync.Mutex
	answered bool
}

// AcceptConn waits for a connection request over an existing stream, as the server,
// from its next byte on: see Device.DialConn.
func (d *Device) AcceptConn(ctx context.Context, conn net.Conn) (verbs.ConnRequest, error) {
	if err := d.adopt(conn, nil); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: accept over a connection: device %s: %w: %w", d.cfg.Provider, d.cfg.Attrs.Name, err, verbs.ErrQueueFull)
	}
	r, err := d.request(ctx, conn)
	if err != nil {
		d.drop(conn)
		return nil, fmt.Errorf("%s: accept over a connection from %v: %w", d.cfg.Provider, conn.RemoteAddr(), err)
	}
	return r, nil
}

// request waits for the initiator's part of the set-up.
func (d *Device) request(ctx context.Context, conn net.Conn) (*connRequest, error) {
	limit := time.Now().Add(d.cfg.HandshakeTimeout)
	conn.SetDeadline(limit)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(past) }) // after SetDeadline
	r, err := d.receive(ctx, conn, limit)
	if stop(); ctx.Err() != nil { // as in connectTLS
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Time{})
	return r, nil
}

// receive does the responder's part of the set-up, up to the request.
func (d *Device) receive(ctx context.Context, conn net.Conn, limit time.Time) (*connRequest, error) {
	if err := handshake(ctx, conn, limit); err != nil {
		return nil, err
	}
	c := newConn(d, conn)
	offer, err := d.cfg.Framing.Receive(c)
	if err != nil {
		return nil, c.setUpFailed(err)
	}
	return &connRequest{dev: d, conn: c, offer: offer}, nil
}

// PrivateData implements verbs.ConnRequest.
func (r *connRequest) PrivateData() []byte { return r.offer.PrivateData() }

// RemoteAddr implements verbs.ConnRequest.
func (r *connRequest) RemoteAddr() string { return r.conn.conn.RemoteAddr().String() }

// refuse answers a request that the listener cannot queue.
func (r *connRequest) refuse() { r.deny(r.offer.Refuse()) }

// deny sends a negative answer, if there is one, and closes the connection, both in the
// background.
func (r *connRequest) deny(answer []byte) {
	if answer == nil || !r.dev.mayHangUp() {
		r.dev.drop(r.conn.conn)
		return
	}
	r.dev.goroutines.Go(func() { r.conn.hangup(answer) })
}

// Reject implements verbs.ConnRequest.
func (r *connRequest) Reject(private []byte) error {
	if limit := r.dev.cfg.Attrs.MaxPrivateData; len(private) > limit {
		return fmt.Errorf("%s: reject: private data of %d bytes, limit is %d: %w", r.dev.cfg.Provider, len(private), limit, verbs.ErrTooLarge)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered {
		return fmt.Errorf("%s: reject: the request has been answered: %w", r.dev.cfg.Provider, verbs.ErrInvalidState)
	}
	r.answered = true
	r.deny(r.offer.Reject(private))
	return nil
}

// Accept implements verbs.ConnRequest. It returns when the answer has been written. If the client
// has given up by then, the connection breaks afterwards.
func (r *connRequest) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	fail := func(err error) (*verbs.ConnInfo, error) {
		return nil, fmt.Errorf("%s: accept from %v: %w", r.dev.cfg.Provider, r.RemoteAddr(), err)
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
	info, err := r.accept(ctx, q, &p)
	if err != nil {
		if errors.Is(err, verbs.ErrPeerDisconnected) { // an attack, if there are many
			r.dev.logRefused(&r.dev.stats.refusedHandshake, r.conn.conn, err)
		}
		r.dev.drop(r.conn.conn)
		q.mu.Lock()
		q.end(err, Report{})
		q.mu.UnlockNotify()
		return fail(err)
	}
	return info, nil
}

func (r *connRequest) accept(ctx context.Context, q *queuePair, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	c := r.conn
	c.conn.SetWriteDeadline(time.Now().Add(r.dev.cfg.HandshakeTimeout))
	stop := context.AfterFunc(ctx, func() { c.conn.SetWriteDeadline(past) })
	s, err := r.offer.Accept(c, p)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, peerClosed(err)
	}
	c.conn.SetWriteDeadline(time.Time{})
	return c.info(s), q.start(c, s)
}
