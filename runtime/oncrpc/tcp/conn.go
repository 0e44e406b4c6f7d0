package tcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
	"github.com/rpcrdma/rpcrdma/internal/inflight"
	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
)

// Conn is one connection. All methods are safe for concurrent use.
//
// A goroutine reads records: it passes replies to the Calls that wait for them, and each Call to
// the handler. Another one writes while there is something to write (see writer).
type Conn struct {
	set    *settings
	shared *shared      // with the other connections of its server, if any
	log    *slog.Logger // with the peer's address
	ends
	out      writer
	in       records
	xids     oncrpc.XIDs
	accepted bool // this is the server's end
	began    bool // a message has come; the goroutine that reads alone uses it
	ctx      context.Context
	cancel   context.CancelCauseFunc
	wg       sync.WaitGroup // the goroutines that read and write
	first    *time.Timer    // closes an accepted connection without a message, or nil

	// The goroutine that reads alone uses these.
	record   *[]byte     // empty until the first message comes: a silent connection costs little
	reserved reservation // for record

	caller
	serving
	security

	mu      sync.Mutex
	wake    sync.Cond // requests, calls, finished, out.writes or err has changed
	err     error     // why it is down
	stalled bool      // with MaxRequests; its reader fills the read buffer
	probes  deadpeer.Probes
	counts  counts
}

var _ oncrpc.Conn = (*Conn)(nil)

// Stats holds counts of a connection. Those up to CanceledRequests only grow. The others describe
// the present state.
type Stats struct {
	StrayReplies uint64 // replies to no Call, which were dropped; not those to cancelled Calls
	DroppedCalls uint64 // Calls that came during Shutdown

	// CanceledRequests are Requests whose caller said that it gave up (package cancel).
	CanceledRequests uint64

	// InFlight counts the Calls that this side has made and that have no reply, and Waiting those
	// among them that wait for a place (Config.MaxCalls).
	InFlight, Waiting int

	// Requests counts the peer's Calls that have no answer, and WaitingRequests those among them
	// that wait for a handler to end (Config.MaxHandlers), or for memory for their replies. Unsent
	// counts the bytes in replies that are not written.
	Requests, WaitingRequests, Unsent int
}

// counts has the fields of Stats that no other state has.
type counts struct{ strayReplies, droppedCalls uint64 }

// Dial connects to a server at an address of the form that net.Dial has for "tcp", or at a socket
// of this machine, such as "unix:/run/notes.sock" (see "Local sockets" in the
// documentation of the package). ctx bounds the call of Dial. cfg may be nil. The caller must Close
// the connection.
func Dial(ctx context.Context, addr string, cfg *Config) (*Conn, error) {
	set := cfg.settle()
	if err := set.settleTLS(false); err != nil {
		return nil, err
	}
	nc, err := dialStream(ctx, addr)
	if err == nil && set.tls != nil {
		nc, err = set.tls.startTLS(ctx, nc, addr, &set)
	}
	if err != nil {
		return nil, err
	}
	return newConn(nc, &set, false, set.ReverseHandler, alone()), nil
}

// NewConn returns the client's side of a connection over any stream, such as a net.Pipe. Close
// closes the stream. cfg may be nil. NewConn sends no probe for TLS: with TLSRequired, the
// connection is down with ErrTLS unless the stream has TLS already, as a *tls.Conn does.
//
// Messages are copied before they are written, unless the stream is a *net.TCPConn or
// *net.UnixConn.
func NewConn(nc net.Conn, cfg *Config) *Conn {
	set := cfg.settle()
	c := newConn(nc, &set, false, set.ReverseHandler, alone())
	if set.TLS.Mode == TLSRequired && !hasTLS(nc) {
		c.fail(fmt.Errorf("%w: NewConn sends no AUTH_TLS probe, and Config.TLS.Mode is TLSRequired: use Dial, or a stream that has TLS", ErrTLS))
	}
	return c
}

// ServeConn returns the server's side of a connection over any stream, whose Calls h serves. Close
// closes the stream. cfg may be nil; its limits for all connections of a server have no effect. If
// Config.TLS cannot be used, the connection is down with the reason. Messages are copied as by
// NewConn.
func ServeConn(nc net.Conn, h oncrpc.Handler, cfg *Config) *Conn {
	set := cfg.settle()
	err := set.settleTLS(true)
	c := newConn(nc, &set, true, h, alone())
	if err != nil {
		c.fail(err)
	}
	return c
}

func newConn(nc net.Conn, set *settings, accepted bool, h oncrpc.Handler, with *shared) *Conn {
	deadpeer.Watch(nc, set.PeerTimeout)
	between := endsOf(nc, accepted)
	c := &Conn{
		set: set, shared: with, ends: between,
		serving: serving{handler: h, reuses: oncrpc.ForgetsRequests(h)}, security: security{secured: hasTLS(nc)},
		accepted: accepted, log: set.Logger.With("peer", between.remote), record: new([]byte),
	}
	c.join()
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.xids.Seed()
	c.ready.Store(!accepted)
	c.in = records{
		maxSize: set.MaxRecord, maxFragments: set.MaxFragments,
		deadline: func(t time.Time) { _ = nc.SetReadDeadline(t) }, timeout: set.RecordTimeout, grow: c.reserve, drop: c.reserved.give,
		memory: newMemory,
	}
	c.mu.Lock() // the timer may fire at once
	c.setStream(nc)
	if c.in.r.socket == nil {
		*c.record = make([]byte, 0, headSize) // for the first read: see begin
	}
	c.rest()
	c.startFirst()
	c.mu.Unlock()
	c.wg.Add(1)
	go c.read()
	return c
}

// join connects the parts of a connection with what they share.
func (c *Conn) join() {
	from := admission.SourceOf(c.local, c.remote)
	c.reserved.share, c.reserved.woken = c.shared.budget.Join(from), make(chan struct{}, 1)
	c.shared.places.Join(&c.waiting, from)
	c.wake.L = &c.mu
	c.caller.conn, c.serving.conn, c.security.conn, c.half.conn = c, c, c, c
	c.watchInline()
	c.caller.pool.New = c.newPending
	c.contexts.Done, c.deadlines.Due = c.endsWith, c.expire
	c.finished = inflight.Deliveries[pending]{Lock: &c.mu, Run: c.caller.run, Fault: c.faulted, Idle: c.allRan}
	c.out = writer{run: c.write, returned: c.deliver, timeout: c.set.SendTimeout, mu: &c.mu, wake: &c.wake, wg: &c.wg}
}

// setStream sets the stream. TLS has the deadlines of the stream below it. Nothing may read or
// write during the call.
func (c *Conn) setStream(nc net.Conn) {
	c.in.r.reset(nc, &c.shared.large)
	w := &c.out
	w.nc, w.deadline, w.vector, w.direct = nc, time.Time{}, false, direct{}
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
		w.vector = true
		w.direct.open(nc)
	}
	w.tls, _ = nc.(*tlsstream.Conn)
}

// startFirst limits the time for the first message on an accepted connection. c.mu must be held.
func (c *Conn) startFirst() {
	if limit := c.set.FirstCallTimeout; c.accepted && limit > 0 {
		c.first = time.AfterFunc(limit, func() {
			c.fail(fmt.Errorf("%w: no message within Config.FirstCallTimeout (%v)", ErrTimeout, limit))
		})
	}
}

// hasTLS reports whether a stream has TLS.
func hasTLS(nc net.Conn) bool {
	_, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	return ok
}

// read reads records until the connection is down, or another goroutine does (errReplaced).
func (c *Conn) read() {
	defer c.wg.Done()
	for {
		buffered := c.in.whole()
		if !buffered {
			c.out.flush()
		}
		rec, err := c.in.next((*c.record)[:0])
		*c.record = rec
		if !buffered {
			c.out.hold()
		}
		if err == nil {
			err = c.dispatch(rec)
		} else if over := (*passedOver)(nil); errors.As(err, &over) {
			err = c.refuseLong(rec, over)
		}
		if err == errReplaced {
			return
		}
		if err != nil {
			c.out.flush()
			if errors.Is(err, io.EOF) && ofSystem(c.out.nc) {
				err = c.awaitWriter(err)
			}
			if errors.Is(err, io.EOF) && c.accepted && !errors.Is(err, ErrPeerClosed) {
				c.half.awaitAnswers()
			}
			c.fail(c.readError(err))
			break
		}
	}
	c.in.r.release()
	c.reserved.give()
	c.deliver()
}

// awaitWriter waits for a write in progress. It returns the write's error if that says why the
// system has given up the peer, and otherwise err. The system reports the reason only once, for
// example to the write; the read then finds only the end of the stream.
func (c *Conn) awaitWriter(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	expired := false
	t := time.AfterFunc(reasonTime, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		expired = true
		c.wake.Broadcast()
	})
	defer t.Stop()
	for c.err == nil && c.out.busy() && !c.switching && c.out.broken == nil && !expired {
		c.wake.Wait()
	}
	if deadpeer.Gone(c.out.broken) {
		return c.out.broken
	}
	return err
}

// dispatch passes a record to the Call that it answers, or to the handler.
func (c *Conn) dispatch(rec []byte) error {
	if len(rec) == 0 && !c.accepted {
		return farewell(c.began, c.in.fragments)
	}
	xid, typ, ok := oncrpc.Peek(rec)
	if !ok {
		return fmt.Errorf("%w: %d bytes, which begin with %x (RFC 5531 §9)", ErrMessage, len(rec), rec[:min(len(rec), 8)])
	}
	var refusal *oncrpc.ReplyError
	if typ == oncrpc.MsgCall {
		probe := false
		if refusal, probe = c.screen(rec); probe {
			return c.switchToTLS(xid)
		}
	}
	if !c.began {
		c.noteFirst()
	}
	switch {
	case typ == oncrpc.MsgCall && refusal != nil:
		return c.accept(xid, refusalOf(xid, refusal))
	case typ == oncrpc.MsgCall && !c.set.NoCancel && cancel.IsCall(rec):
		return c.accept(xid, cancel.Serve(rec, c.cancelRequests))
	case typ == oncrpc.MsgCall:
		return c.accept(xid, nil)
	}
	switch {
	case c.reply(xid, rec):
		c.record = memories.Get().(*[]byte)
	case cap(rec) > keepBytes:
		keep(rec)
		c.record = memories.Get().(*[]byte)
	}
	if c.reserved.bytes != 0 {
		c.reserved.give()
	}
	return nil
}

// noteFirst is called for the first message at least. Unless that is in plaintext where there must
// be TLS, it stops the timer.
func (c *Conn) noteFirst() {
	if c.began || c.plainOnly() {
		return
	}
	c.began = true
	c.stopFirst()
	if c.accepted && c.set.tls != nil && !c.secured {
		c.log.Info("tcp: the connection has no TLS", "mode", c.set.TLS.Mode.String())
	}
}

// stopFirst stops the timer for the first message.
func (c *Conn) stopFirst() {
	if c.first != nil {
		c.first.Stop()
	}
}

// readError returns the reason why a connection is lost after a read has failed.
func (c *Conn) readError(err error) error {
	switch {
	case errors.Is(err, ErrTimeout), errors.Is(err, ErrPeerClosed): // in a TLS handshake
		return err
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, tlsstream.ErrSlow):
		return fmt.Errorf("%w: a record made no progress for Config.RecordTimeout (%v)", ErrTimeout, c.set.RecordTimeout)
	case errors.Is(err, io.EOF):
		return ErrPeerClosed
	case deadpeer.Gone(err):
		return c.set.vanished(err)
	case c.out.tls != nil && tlsstream.IsAlert(err): // nil over a *tls.Conn of the caller, too
		// A server refuses a client's certificate after the client's handshake.
		unwelcome := !c.accepted && !c.in.begun && tlsstream.RefusesCertificate(err)
		if err = c.out.tls.Explain(err); unwelcome {
			err = fmt.Errorf("%w: %w", errUnwelcome, err)
		}
		return err
	}
	return err
}

// vanished explains the error with which the system gave up a peer.
func (s *settings) vanished(err error) error {
	return fmt.Errorf("%w: the peer, or the network to it, has not answered for %v (Config.PeerTimeout): %w", ErrTimeout, s.PeerTimeout, err)
}

// fail closes the connection. If it is called again, the first reason stays.
func (c *Conn) fail(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = why
	c.cancel(why)
	if ended := c.shared.ended; ended != nil { // no goroutine waits for that
		go ended(c)
	}
	c.stopFirst()
	c.out.hangUp(why, !c.accepted && c.calls.Len()+c.abandoned.len() > 0)
	var unsent []*request
	for m := c.out.queue.first; m != nil; m = c.out.queue.first {
		c.out.queue.remove(m)
		if m.request != nil {
			unsent = append(unsent, m.request)
		} // Calls fail below
	}
	c.calls.All(func(p *pending) { c.end(p, why) })
	c.contexts.Close()
	c.deadlines.Close()
	c.wake.Broadcast()
	c.mu.Unlock()
	for _, r := range unsent {
		r.release(why)
	}
	c.dropWaiting()
	switch {
	case errors.Is(why, oncrpc.ErrClosed), why == ErrPeerClosed: // not in a TLS handshake
		c.log.Debug("tcp: connection ended", "reason", why)
	default:
		c.log.Warn("tcp: a connection was given up", "reason", why)
	}
}

// XID implements oncrpc.Carrier.
func (c *Conn) XID() uint32 { return c.xids.Next() }

// AllowReverse implements oncrpc.Conn.
func (c *Conn) AllowReverse() { c.ready.Store(true) }

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() string { return c.local }

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() string { return c.remote }

// Done returns a channel that is closed when the connection is down. Err then returns the reason.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns the reason why the connection is down, or nil while it is not: oncrpc.ErrClosed if
// this side closed it, ErrPeerClosed if the peer did, and otherwise the error that broke the
// connection.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// Stats returns the counts.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{
		StrayReplies: c.counts.strayReplies, DroppedCalls: c.counts.droppedCalls, CanceledRequests: c.cancels.got,
		InFlight: c.calls.Len(), Waiting: max(0, c.calls.Len()-c.places),
		Requests: c.requests, WaitingRequests: c.waiting.Len(), Unsent: c.unsent,
	}
}

// vitals returns what a Client needs to know about the connection. The number of cancelled Calls is
// not limited, because they hold nothing that other Calls need.
func (c *caller) vitals() machine.Vitals {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	return machine.Vitals{
		Received: c.seen.Received + c.conn.in.parts.Load(), Replied: c.seen.Replied, Abandoned: c.abandoned.len(), Most: math.MaxInt,
	}
}

// Close closes the connection, which ends Request.Context, and waits for the handlers to answer the
// Requests that they have and to return. If that takes 10 s, it logs a warning and keeps waiting.
// Calls in progress fail with oncrpc.ErrClosed, and answers that were not sent are discarded. Close
// must not be called from a handler or a done function, because it waits for them.
func (c *Conn) Close() error {
	defer time.AfterFunc(closeWarning, func() { c.set.warnClose(c.unanswered(), c.remote) }).Stop()
	c.finish()
	return nil
}

// closeWarning is the time after which Close logs that it still waits.
const closeWarning = 10 * time.Second

// warnClose logs that Close still waits for handlers.
func (s *settings) warnClose(requests int, of string) {
	s.faults.Warn("tcp: Close waits for handlers to answer and to return: Request.Context is done; a dump of all goroutines shows them",
		"at", of, "unanswered", requests)
}

// unanswered returns the number of Requests that have no answer.
func (s *serving) unanswered() int {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.requests
}

// finish closes the connection and waits for its handlers.
func (c *Conn) finish() {
	c.fail(oncrpc.ErrClosed)
	c.mu.Lock()
	for c.requests > 0 || c.finished.Busy() {
		c.wake.Wait()
	}
	c.mu.Unlock()
	c.wg.Wait()
	c.inline.Forget()
	c.shared.places.Leave(&c.waiting)
}

// drain closes the connection when its Requests are answered and the answers are written. No
// further Call gets to the handler.
func (c *Conn) drain() {
	c.mu.Lock()
	c.draining = true
	for c.err == nil && !c.switching && (c.requests > 0 || c.out.busy()) {
		c.wake.Wait()
	}
	c.mu.Unlock()
	c.fail(oncrpc.ErrClosed)
}
