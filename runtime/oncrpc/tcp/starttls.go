package tcp

import (
	"container/list"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A client asks for TLS by a probe: a Call of procedure 0 with the flavour AUTH_TLS. The server
// offers TLS by its verifier, and the handshake follows on the connection (RFC 9289 §4.1).
//
//	client                                    server
//	NULL, AUTH_TLS, no body ─────────────────>
//	      <───────────────────── verifier AUTH_NONE "STARTTLS"
//	ClientHello ─────────────────────────────>
//	      <──────────────── ServerHello ... Finished
//	Calls, in TLS ───────────────────────────>
//
// Neither end takes a byte that came in plaintext for one that came in TLS: the buffer of the
// plaintext must be empty when TLS begins.

// starttls is the body of the verifier that offers TLS (RFC 9289 §4.1).
const starttls = "STARTTLS"

// probeReply is the size of the longest reply to a probe, in bytes.
const probeReply = 1 << 10

// startTLS sends the probe and does the handshake, as the client. It returns the stream for the
// Calls, and closes nc if that fails. Without TLS at the server it returns nc in mode TLSWanted.
func (t *tlsSettings) startTLS(ctx context.Context, nc net.Conn, addr string, s *settings) (net.Conn, error) {
	limit := time.Now().Add(t.HandshakeTimeout)
	_ = nc.SetDeadline(limit)
	// After SetDeadline, which would replace the deadline that stops the attempt.
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	stream, err := t.upgrade(ctx, nc, addr, limit, s)
	// Even if stop returns true, ctx may be done: Handshake watches it, too.
	if stop(); ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = nc.Close()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("%w: TLS was not set up within Config.TLS.HandshakeTimeout (%v): %w", ErrTimeout, t.HandshakeTimeout, err)
		}
		return nil, fmt.Errorf("tcp: dial %q: %w", addr, err)
	}
	_ = nc.SetDeadline(time.Time{})
	return stream, nil
}

func (t *tlsSettings) upgrade(ctx context.Context, nc net.Conn, addr string, limit time.Time, s *settings) (net.Conn, error) {
	refusal, err := t.probe(nc)
	log := s.Logger.With("peer", addr)
	switch {
	case err != nil:
		return nil, err
	case refusal == nil:
	case t.Mode == TLSRequired:
		return nil, fmt.Errorf("%w: %w: %w; switch TLS on there, or let Config.TLS.Mode be TLSWanted, which an attacker on the path can turn into plaintext", ErrTLS, ErrNoTLS, refusal)
	default:
		log.Warn("tcp: the connection has no TLS", "mode", t.Mode.String(), "reason", refusal)
		return nc, nil
	}
	if _, ok := localPath(addr); ok { // no certificate has a path as its name
		addr = ""
	}
	stream := t.Client(nc, addr)
	if err := stream.Handshake(ctx, limit); err != nil {
		hint := ""
		if tlsstream.Closed(err) {
			hint = "; if the server is a Linux kernel, tlshd must run on its host"
		}
		return nil, fmt.Errorf("%w: %w%s", errHandshake, err, hint)
	}
	logTLS(log, t.Mode, stream.ConnectionState())
	return stream, nil
}

// probe sends the probe and reads the reply. The refusal is nil if the server offers TLS. The error
// says why the connection cannot be used.
func (t *tlsSettings) probe(nc net.Conn) (refusal, err error) {
	xid := rand.Uint32()
	call := oncrpc.NewCall(xid, t.Program, t.Version, 0, oncrpc.OpaqueAuth{Flavor: oncrpc.AuthTLS})
	b, err := call.AppendBinary(appendMark(nil, call.XDRSize()))
	if err != nil {
		return nil, err
	}
	if _, err := nc.Write(b); err != nil {
		return nil, fmt.Errorf("send the AUTH_TLS probe: %w", err)
	}
	in := records{
		r: input{src: nc, size: probeReply}, maxSize: probeReply, maxFragments: probeReply,
		deadline: func(time.Time) {}, grow: func(int, bool) error { return nil },
	}
	rec, err := in.next(nil)
	if err != nil {
		return nil, fmt.Errorf("reply to the AUTH_TLS probe: %w; a server without TLS must refuse it (RFC 5531 §9)", err)
	}
	if len(rec) == 0 {
		return nil, farewell(false, in.fragments)
	}
	refusal, err = offer(rec, xid)
	if n := in.r.buffered(); err == nil && n > 0 {
		// RFC 9289 §5.1.1: what an attacker appends to the reply must not seem to have come in TLS.
		err = fmt.Errorf("%w: %d bytes of plaintext follow the reply to the AUTH_TLS probe, must be none (RFC 9289 §5.1.1): an attacker may have inserted them", ErrTLS, n)
	}
	return refusal, err
}

// offer returns nil if the reply to a probe offers TLS, and otherwise the reason why it does not
// (RFC 9289 §4.1). err reports a record that does not answer the probe.
func offer(rec []byte, xid uint32) (refusal, err error) {
	var m oncrpc.Header
	if err := m.DecodeXDR(xdr.NewDecoder(rec, nil)); err != nil {
		return nil, fmt.Errorf("%w: reply to the AUTH_TLS probe: %w", ErrMessage, err)
	}
	err = oncrpc.CheckReply(&m, xid)
	verf, refused := &m.Body.Reply.Accepted.Verf, (*oncrpc.ReplyError)(nil)
	switch {
	case err != nil && !errors.As(err, &refused):
		return nil, fmt.Errorf("%w: reply to the AUTH_TLS probe: %w", ErrMessage, err)
	case m.Body.Reply.Stat != oncrpc.Accepted:
		return fmt.Errorf("it refuses the AUTH_TLS probe: %w", err), nil
	case verf.Flavor != oncrpc.AuthNone || string(verf.Body) != starttls:
		// The accept_stat does not matter: the server may have TLS without the program.
		return fmt.Errorf("its reply to the AUTH_TLS probe has the verifier %v %.16q, must be %v %q (RFC 9289 §4.1)", verf.Flavor, verf.Body, oncrpc.AuthNone, starttls), nil
	}
	return nil, nil
}

// Offsets in a Call (RFC 5531 §9), and the size of a probe.
const (
	atVersion   = 8
	atProcedure = 20
	atFlavor    = 24
	atCredSize  = 28
	atVerifier  = 32
	probeSize   = 40
)

// screen returns the refusal of a Call that TLS forbids, or nil. probe reports that the client asks
// for TLS, and may have it.
func (s *security) screen(call []byte) (refusal *oncrpc.ReplyError, probe bool) {
	word := func(at int) uint32 { return binary.BigEndian.Uint32(call[at:]) }
	other := len(call) < atCredSize || word(atVersion) != oncrpc.Version || oncrpc.Flavor(word(atFlavor)) != oncrpc.AuthTLS
	switch {
	case other && !s.plainOnly():
		return nil, false
	case other && len(call) >= atProcedure && word(atVersion) != oncrpc.Version:
		return &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.RPCMismatch, Range: oncrpc.VersionRange{Low: oncrpc.Version, High: oncrpc.Version}}, false
	case other:
		// RFC 9289 §6.1.2: no plaintext except the probe.
		return oncrpc.Refused(oncrpc.AuthStatTooWeak), false
	case s.secured, word(atProcedure) != 0:
		// RFC 9289 §4.1: AUTH_TLS is for procedure 0, and not within TLS.
		return oncrpc.Refused(oncrpc.AuthStatBadCred), false
	case len(call) < probeSize || word(atCredSize) != 0:
		// RFC 9289 §4.1: the credential must have no body.
		return oncrpc.Refused(oncrpc.AuthStatBadCred), false
	case !s.conn.accepted || s.conn.set.tls == nil:
		return oncrpc.Refused(oncrpc.AuthStatRejectedCred), false
	case oncrpc.Flavor(word(atVerifier)) != oncrpc.AuthNone || word(atVerifier+4) != 0:
		// RFC 9289 §4.1: the verifier must be AUTH_NONE without body.
		return oncrpc.Refused(oncrpc.AuthStatBadVerf), false
	case len(call) > probeSize:
		return &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, false
	}
	return nil, true
}

// plainOnly reports whether the connection must have TLS but is still in plaintext.
func (s *security) plainOnly() bool {
	return s.conn.accepted && s.conn.set.tls != nil && s.conn.set.tls.Mode == TLSRequired && !s.secured
}

// switchToTLS answers a probe and does the handshake, as the server. The goroutine that reads calls
// it. Nothing else is written during the handshake: c.out.writes is set, as if a goroutine wrote.
func (c *Conn) switchToTLS(xid uint32) error {
	if ok, err := c.quiesce(); err != nil {
		return err
	} else if !ok {
		return c.accept(xid, refusalOf(xid, oncrpc.Refused(oncrpc.AuthStatRejectedCred)))
	}
	if n := c.in.r.buffered(); n > 0 {
		// RFC 9289 §5.1.1: discarded without an answer.
		return fmt.Errorf("%w: %d bytes of plaintext follow the AUTH_TLS probe, must be none before its reply (RFC 9289 §5.1.1): an attacker may have inserted them", ErrTLS, n)
	}
	c.stopFirst()
	t := c.set.tls
	place := t.handshakes.enter(c)
	defer t.handshakes.leave(place)
	nc, limit := c.out.nc, time.Now().Add(t.HandshakeTimeout)
	_ = nc.SetDeadline(limit)
	reply := oncrpc.NewReply(xid, oncrpc.Success)
	reply.Body.Reply.Accepted.Verf.Body = []byte(starttls)
	b, _ := reply.AppendBinary(appendMark(nil, reply.XDRSize())) // cannot fail
	if _, err := nc.Write(b); err != nil {
		return fmt.Errorf("reply to the AUTH_TLS probe: %w", err)
	}
	stream := t.Server(nc)
	if err := stream.Handshake(c.ctx, limit); err != nil {
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			err = fmt.Errorf("%w: no TLS handshake within Config.TLS.HandshakeTimeout (%v): %w", ErrTimeout, t.HandshakeTimeout, err)
		case tlsstream.Closed(err):
			err = fmt.Errorf("%w: %w; Linux does so if it does not accept the server's certificate", ErrPeerClosed, err)
		}
		return err
	}
	_ = nc.SetDeadline(time.Time{})
	logTLS(c.log, t.Mode, stream.ConnectionState())
	return c.continueOver(stream)
}

// quiesce waits until all Requests are answered and all messages written, and stops the writing. ok
// is false if that cannot be: this side waits for a reply, or closes the connection.
func (c *Conn) quiesce() (ok bool, err error) {
	c.out.flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && c.calls.Len() == 0 && !c.draining {
		switch {
		case c.requests > 0:
			if err := c.stall(); errors.Is(err, io.EOF) { // it cannot make a handshake
				return false, ErrPeerClosed
			} else if err != nil {
				return false, err
			}
		case c.out.writes:
			c.wake.Wait() // for Config.SendTimeout at most
		default:
			c.out.writes, c.switching = true, true
			return true, nil
		}
	}
	return false, c.err
}

// continueOver replaces the plaintext stream with TLS.
func (c *Conn) continueOver(stream *tlsstream.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.secured, c.switching, c.began = true, false, false
	c.setStream(stream)
	c.startFirst()
	if c.out.writes = false; c.out.queue.first != nil {
		c.startWriter()
	}
	c.wake.Broadcast()
	return nil
}

// handshakes has the connections of a server that are in the handshake, the oldest first.
type handshakes struct {
	most int // 0: no limit

	mu    sync.Mutex
	order list.List // of *Conn
}

// enter adds a connection. It closes the oldest if there are too many.
func (h *handshakes) enter(c *Conn) *list.Element {
	var oldest *Conn
	h.mu.Lock()
	if h.most > 0 && h.order.Len() >= h.most {
		oldest = h.order.Remove(h.order.Front()).(*Conn)
	}
	e := h.order.PushBack(c)
	h.mu.Unlock()
	if oldest != nil {
		oldest.fail(fmt.Errorf("%w: there are %d newer TLS handshakes, as many as Config.TLS.MaxHandshakes allows", ErrLimit, h.most))
	}
	return e
}

// leave removes a connection.
func (h *handshakes) leave(e *list.Element) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order.Remove(e) // does nothing if enter has removed it
}
