package rdmatcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Dial implements verbs.Dialer. addr is "host:port". The listener may take as long to
// answer as ctx allows: there is no other limit.
func (d *Device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	info, err := d.dial(ctx, qp, params, func(ctx context.Context) (net.Conn, error) {
		dialer := net.Dialer{KeepAlive: -1} // watchPeer sets it
		return dialer.DialContext(ctx, "tcp", addr)
	})
	if err != nil {
		return nil, fmt.Errorf("rdmatcp: dial %q: %w", addr, err)
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
		return nil, fmt.Errorf("rdmatcp: dial over a connection to %v: %w", conn.RemoteAddr(), err)
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
	q.end(err, report{})
	q.mu.UnlockNotify()
	return nil, err
}

// connect opens a stream and does the handshake.
func (d *Device) connect(ctx context.Context, q *queuePair, p verbs.ConnParams, open func(context.Context) (net.Conn, error)) (*verbs.ConnInfo, error) {
	conn, err := open(ctx)
	if err != nil {
		return nil, dialError(err)
	}
	if err := d.adopt(conn, netip.Addr{}); err != nil {
		conn.Close()
		return nil, fmt.Errorf("device %s: %w: %w", d.attrs.Name, err, verbs.ErrQueueFull)
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(past) })
	info, err := d.clientHandshake(conn, q, p)
	if !stop() && err == nil {
		err = context.Cause(ctx)
		q.mu.Lock()
		q.end(err, report{reason: reasonGoodbye}) // its reader closes the connection
		q.mu.UnlockNotify()
		return nil, err
	}
	if err != nil {
		d.drop(conn)
		return nil, err
	}
	return info, nil
}

// clientHandshake sends the client's hello and waits for the server's.
func (d *Device) clientHandshake(conn net.Conn, q *queuePair, p verbs.ConnParams) (*verbs.ConnInfo, error) {
	w, err := newWire(d, conn, handshakeInput)
	if err != nil {
		return nil, err
	}
	if w.stream.ConnID, err = d.random(); err != nil { // §3.4 Connection ID: the client's choice
		return nil, err
	}
	w.stream.Known = true
	info := &verbs.ConnInfo{RemoteAddr: conn.RemoteAddr().String(), LocalAddr: conn.LocalAddr().String()}
	if raw := d.cfg.Raw; raw != nil {
		info.InitiatorDepth, info.ResponderResources = min(p.InitiatorDepth, raw.PeerResources), p.ResponderResources
		return info, q.start(w, info.InitiatorDepth, info.ResponderResources, raw.MaxSend)
	}
	local := hello{maxSend: d.attrs.MaxMessageSize, resources: uint16(p.ResponderResources), depth: uint16(p.InitiatorDepth), private: p.PrivateData}
	if err := w.sendHello(&local); err != nil {
		return nil, peerClosed(err)
	}
	remote, err := w.receiveHello()
	if err != nil {
		return nil, peerClosed(err)
	}
	switch {
	case remote.flags&flagRefused != 0:
		return nil, fmt.Errorf("the listener is closed or its backlog is full: %w", verbs.ErrConnectionRefused)
	case remote.flags&flagReject != 0:
		return nil, &verbs.RejectedError{PrivateData: remote.private}
	}
	info.PrivateData = remote.private
	info.InitiatorDepth = min(p.InitiatorDepth, int(remote.resources))
	info.ResponderResources = min(p.ResponderResources, int(remote.depth))
	return info, q.start(w, info.InitiatorDepth, info.ResponderResources, remote.maxSend)
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
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w: %w", verbs.ErrPeerDisconnected, err)
	}
	return err
}

// sendHello sends our first message.
func (w *wire) sendHello(p *hello) error {
	b, err := p.append(nil, w.stream.ConnID, w.number)
	if err != nil {
		return err
	}
	w.number++
	_, err = w.conn.Write(b)
	return err
}

// receiveHello waits for the peer's first message. The caller sets the time limit.
func (w *wire) receiveHello() (*hello, error) {
	b, err := w.readHandshake(segment.PrefixSize)
	if err != nil {
		return nil, err
	}
	size, err := segment.Prefix(b)
	if errors.Is(err, segment.BadVersion) { // most often a server of another protocol
		return nil, fmt.Errorf("the peer speaks another protocol: its first bytes are %q: %w", w.buf[w.r:min(w.w, w.r+16)], err)
	}
	if err != nil {
		return nil, err
	}
	if b, err = w.readHandshake(size); err != nil {
		return nil, err
	}
	var h segment.Header
	if err := w.stream.Decode(&h, b); err != nil {
		return nil, err
	}
	if h.Wire() > len(w.buf) {
		return nil, fmt.Errorf("the peer's first message has %d bytes, want at most %d: %w", h.Wire(), len(w.buf), errProfile)
	}
	if b, err = w.readHandshake(h.Wire()); err != nil {
		return nil, err
	}
	control, _, n, err := segment.Open(b, &h)
	if err != nil {
		return nil, err
	}
	if err := w.stream.Accept(&h, nil); err != nil {
		return nil, err
	}
	p := new(hello)
	if err := p.decode(&h, control); err != nil {
		return nil, err
	}
	w.skip(n)
	return p, nil
}

// readHandshake returns the next n bytes without consuming them. It waits for them for
// as long as the connection's deadline allows.
func (w *wire) readHandshake(n int) ([]byte, error) {
	for w.w-w.r < n {
		k, err := w.conn.Read(w.buf[w.w:])
		w.w += k
		if err != nil && w.w-w.r < n {
			return nil, fmt.Errorf("after %d bytes of the peer's first message: %w", w.w-w.r, err)
		}
	}
	return w.buf[w.r : w.r+n], nil
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
	wsaNetUnreach  = syscall.Errno(10051)
	wsaTimedOut    = syscall.Errno(10060)
	wsaConnRefused = syscall.Errno(10061)
	wsaHostUnreach = syscall.Errno(10065)
)
