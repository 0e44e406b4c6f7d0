package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Dial implements verbs.Dialer. addr is "host:port". The listener may take as long to
// answer as ctx allows: there is no other limit.
func (d *Device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	info, err := d.dial(ctx, qp, params, func(ctx context.Context) (net.Conn, error) {
		dialer := net.Dialer{KeepAlive: -1} // deadpeer.Watch sets it
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return d.secure.client(conn, addr), nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: dial %q: %w", d.cfg.Provider, addr, err)
	}
	return info, nil
}

// DialConn connects a queue pair over an existing stream, as the client, from the next
// byte on (R12). Both sides must have agreed on that position in the stream, after
// whole messages of what it was used for before. If the caller has read ahead, it
// passes a net.Conn that returns those bytes first. A plain *net.TCPConn moves payload
// without a copy; any other, a *tls.Conn for example, stages it, which Stats shows.
// Over a *tls.Conn with TLS 1.3 the queue pair has a channel binding (verbs.ChannelBinder).
// The connection belongs to the device from the call on, even if DialConn fails,
// unless the error is misuse (see verbs.Dialer).
func (d *Device) DialConn(ctx context.Context, conn net.Conn, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	info, err := d.dial(ctx, qp, params, func(context.Context) (net.Conn, error) { return conn, nil })
	if err != nil {
		return nil, fmt.Errorf("%s: dial over a connection to %v: %w", d.cfg.Provider, conn.RemoteAddr(), err)
	}
	return info, nil
}

func (d *Device) dial(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams, open func(context.Context) (net.Conn, error)) (*verbs.ConnInfo, error) {
	q, p, err := d.connecting(qp, params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.mu.Lock()
	if q.cancel = cancel; q.ending {
		cancel(q.err)
	}
	q.mu.Unlock()
	info, err := d.connect(ctx, q, p, open)
	if err == nil {
		return info, nil
	}
	if ctx.Err() != nil { // the caller's context ended, or the queue pair did
		err = context.Cause(ctx)
	}
	q.mu.Lock()
	q.end(err, Report{})
	q.mu.UnlockNotify()
	return nil, err
}

// connect opens a stream and does the handshake.
func (d *Device) connect(ctx context.Context, q *queuePair, p verbs.ConnParams, open func(context.Context) (net.Conn, error)) (*verbs.ConnInfo, error) {
	conn, err := open(ctx)
	if err != nil {
		return nil, dialError(err)
	}
	if err := d.adopt(conn, nil); err != nil {
		conn.Close()
		return nil, fmt.Errorf("device %s: %w: %w", d.cfg.Attrs.Name, err, verbs.ErrQueueFull)
	}
	if err := d.connectTLS(ctx, conn); err != nil {
		d.drop(conn)
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(past) })
	info, err := d.initiate(conn, q, &p)
	if !stop() && err == nil {
		err = context.Cause(ctx)
		q.mu.Lock()
		q.end(err, Report{Reason: ReasonGoodbye}) // its reader closes the connection
		q.mu.UnlockNotify()
		return nil, err
	}
	if err != nil {
		d.drop(conn)
		return nil, err
	}
	return info, nil
}

// connectTLS does the TLS handshake, if conn has TLS. It takes at most Config.HandshakeTimeout: a
// server answers without its application.
func (d *Device) connectTLS(ctx context.Context, conn net.Conn) error {
	if _, ok := conn.(*tlsConn); !ok {
		return nil
	}
	limit := time.Now().Add(d.cfg.HandshakeTimeout)
	conn.SetDeadline(limit)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(past) }) // after SetDeadline
	err := handshake(ctx, conn, limit)
	// Even if stop returns true, ctx can be done: handshake watches it, too.
	if stop(); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	conn.SetDeadline(time.Time{})
	return err
}

// initiate does the initiator's part of the set-up.
func (d *Device) initiate(conn net.Conn, q *queuePair, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	c := newConn(d, conn)
	s, err := d.cfg.Framing.Connect(c, p)
	if err != nil {
		if c.input.w == 0 && tlsstream.Closed(err) {
			err = fmt.Errorf("%w (%s)", err, closedAtOnce(d.cfg.Provider))
		}
		return nil, c.setUpFailed(err)
	}
	return c.info(s), q.start(c, s)
}

// info returns the ConnInfo of a session.
func (c *Conn) info(s *Session) *verbs.ConnInfo {
	return &verbs.ConnInfo{
		PrivateData: s.PrivateData, RemoteAddr: c.conn.RemoteAddr().String(), LocalAddr: c.conn.LocalAddr().String(),
		InitiatorDepth: s.InitiatorDepth, ResponderResources: s.ResponderResources,
	}
}

// dialError adds the error of package verbs: ErrConnectionRefused if there is no
// listener (a connection is reset if its listener closed before it accepted it), and
// ErrInvalidValue if the address is malformed, so that no other attempt can succeed.
func dialError(err error) error {
	if malformed := (*net.AddrError)(nil); errors.As(err, &malformed) {
		return fmt.Errorf("%w: %w", verbs.ErrInvalidValue, err)
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || isErrno(err, wsaConnRefused) {
		return fmt.Errorf("%w: %w", verbs.ErrConnectionRefused, err)
	}
	return err
}

// peerClosed adds verbs.ErrPeerDisconnected to an error that says that the peer closed
// or reset the stream.
func peerClosed(err error) error {
	if tlsstream.Closed(err) {
		return fmt.Errorf("%w: %w", verbs.ErrPeerDisconnected, err)
	}
	return err
}

// connecting checks the arguments of Dial and Accept and moves the queue pair
// to StateConnecting.
func (d *Device) connecting(qp verbs.QueuePair, params *verbs.ConnParams) (*queuePair, verbs.ConnParams, error) {
	p, err := d.soft.Params(params)
	if err != nil {
		return nil, p, err
	}
	q, ok := qp.(*queuePair)
	if !ok || q.dev != d {
		return nil, p, fmt.Errorf("queue pair: %w", verbs.ErrForeignObject)
	}
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	return q, p, q.StartConnecting()
}

// Error numbers of Windows, which package syscall does not translate.
const (
	wsaAddrInUse   = syscall.Errno(10048)
	wsaConnRefused = syscall.Errno(10061)
)

func isErrno(err error, want syscall.Errno) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno == want
}
