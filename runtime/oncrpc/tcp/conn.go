package tcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/places"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Conn is one connection. All methods are safe for concurrent use.
//
// A goroutine reads records: it passes replies to the Calls that wait for them, and each Call to
// the handler. Another one writes while there is something to write (see writer).
type Conn struct {
	set      settings
	handler  oncrpc.Handler
	shared   *shared      // with the other connections of its server, if any
	log      *slog.Logger // with the peer's address
	out      writer
	in       records
	waiting  places.Queue[request]
	xids     oncrpc.XIDs
	ready    atomic.Bool   // this side may make Calls
	slots    chan struct{} // has an element for each Call in progress
	pendings sync.Pool     // of *pending; its own, for the channels of testing/synctest
	ctx      context.Context
	cancel   context.CancelCauseFunc
	wg       sync.WaitGroup // the goroutines that read and write, and handlers
	first    *time.Timer    // ends an accepted connection that brings no message, or nil

	// The goroutine that reads alone uses these.
	began    bool // a message has come
	record   *[]byte
	reserved int // of the budget, for record

	mu        sync.Mutex
	wake      sync.Cond // requests, calls, writes or err has changed
	err       error     // why it is down
	draining  bool
	queue     queue
	stalled   bool // with MaxRequests; its reader fills the read buffer
	writes    bool // a goroutine writes
	hurry     bool // its write was interrupted
	calls     map[uint32]*pending
	abandoned xidSet
	requests  int  // not answered
	replied   bool // a reply has come
	stats     Stats
}

var _ oncrpc.Conn = (*Conn)(nil)

// Stats holds counts of a connection. They only grow.
type Stats struct {
	StrayReplies uint64 // replies to no Call, which were dropped; not those to cancelled Calls
	DroppedCalls uint64 // Calls that came without a handler, or during Shutdown
}

// Dial connects to a server at an address of the form that net.Dial has for "tcp". ctx bounds the
// call of Dial. cfg may be nil. The caller must Close the connection.
func Dial(ctx context.Context, addr string, cfg *Config) (*Conn, error) {
	set := cfg.settle()
	d := net.Dialer{KeepAliveConfig: set.keepAlive()}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return newConn(nc, set, false, set.ReverseHandler, alone()), nil
}

// NewConn returns the client's side of a connection over any stream, such as a net.Pipe. Close
// closes the stream. cfg may be nil. A Call that is cancelled while it is written interrupts the
// write by a deadline: a stream that cannot go on after that, such as a tls.Conn, is then lost.
func NewConn(nc net.Conn, cfg *Config) *Conn {
	set := cfg.settle()
	return newConn(nc, set, false, set.ReverseHandler, alone())
}

// ServeConn returns the server's side of a connection over any stream, whose Calls h serves. Close
// closes the stream. cfg may be nil; its limits for all connections of a server have no effect.
func ServeConn(nc net.Conn, h oncrpc.Handler, cfg *Config) *Conn {
	return newConn(nc, cfg.settle(), true, h, alone())
}

// keepAlive returns the configuration of the system's probes.
func (s *settings) keepAlive() net.KeepAliveConfig {
	if s.PeerTimeout == 0 {
		return net.KeepAliveConfig{}
	}
	const probes = 3
	interval := max(s.PeerTimeout/(probes+1), time.Second)
	return net.KeepAliveConfig{Enable: true, Idle: interval, Interval: interval, Count: probes}
}

func newConn(nc net.Conn, set settings, accepted bool, h oncrpc.Handler, with *shared) *Conn {
	c := &Conn{
		set: set, handler: h, shared: with, slots: make(chan struct{}, set.MaxCalls), calls: make(map[uint32]*pending),
		log: set.Logger.With("peer", nc.RemoteAddr().String()), record: memories.Get().(*[]byte),
	}
	c.wake.L = &c.mu
	c.pendings.New, c.out.run = newPending, c.write
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.xids.Seed()
	c.ready.Store(!accepted)
	c.out.nc = nc
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
		c.out.vector = true
	}
	c.in = records{
		r: bufio.NewReaderSize(nc, readBuffer), maxSize: set.MaxRecord, maxFragments: set.MaxFragments,
		deadline: func(t time.Time) { _ = nc.SetReadDeadline(t) }, timeout: set.RecordTimeout, grow: c.reserve,
	}
	if accepted && set.FirstCallTimeout > 0 {
		late := fmt.Errorf("%w: no message within Config.FirstCallTimeout (%v)", ErrTimeout, set.FirstCallTimeout)
		c.mu.Lock() // the timer may fire at once
		c.first = time.AfterFunc(set.FirstCallTimeout, func() { c.fail(late) })
		c.mu.Unlock()
	}
	c.wg.Add(1)
	go c.read()
	return c
}

// read reads records until the connection is down.
func (c *Conn) read() {
	defer c.wg.Done()
	for {
		rec, err := c.in.next((*c.record)[:0])
		*c.record = rec
		if err == nil {
			err = c.dispatch(rec)
		}
		if err != nil {
			c.fail(c.readError(err))
			break
		}
	}
	c.shared.budget.release(c.reserved)
	c.reserved = 0
}

// dispatch passes a record to the Call that it answers, or to the handler.
func (c *Conn) dispatch(rec []byte) error {
	xid, typ, ok := oncrpc.Peek(rec)
	if !ok {
		return fmt.Errorf("%w: %d bytes, which begin with %x (RFC 5531 §9)", ErrMessage, len(rec), rec[:min(len(rec), 8)])
	}
	if !c.began {
		c.began = true
		c.stopFirst()
	}
	if typ == oncrpc.MsgCall {
		return c.accept(xid)
	}
	switch {
	case c.reply(xid, rec):
		c.record = memories.Get().(*[]byte)
	case cap(rec) > keepBytes:
		keep(rec)
		c.record = memories.Get().(*[]byte)
	}
	c.shared.budget.release(c.reserved)
	c.reserved = 0
	return nil
}

// stopFirst stops the timer for the first message.
func (c *Conn) stopFirst() {
	if c.first != nil {
		c.first.Stop()
	}
}

// readError returns the reason why a connection is lost that could not be read.
func (c *Conn) readError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: a record made no progress for Config.RecordTimeout (%v)", ErrTimeout, c.set.RecordTimeout)
	case errors.Is(err, io.EOF):
		return ErrPeerClosed
	}
	return err
}

// fail ends the connection. The first reason is kept.
func (c *Conn) fail(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = why
	c.cancel(why)
	c.stopFirst()
	_ = c.out.nc.Close()
	var unsent []*request
	for m := c.queue.first; m != nil; m = c.queue.first {
		c.queue.remove(m)
		if m.request != nil {
			unsent = append(unsent, m.request)
		} // Calls are ended below
	}
	for _, p := range c.calls {
		c.end(p, why)
	}
	c.wake.Broadcast()
	c.mu.Unlock()
	for _, r := range unsent {
		c.release(r, why)
	}
	c.dropWaiting()
	switch {
	case errors.Is(why, oncrpc.ErrClosed), errors.Is(why, ErrPeerClosed):
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
func (c *Conn) LocalAddr() string { return c.out.nc.LocalAddr().String() }

// Peer describes the host of the peer.
func (c *Conn) Peer() oncrpc.Peer { return oncrpc.Peer{Addr: c.RemoteAddr()} }

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() string { return c.out.nc.RemoteAddr().String() }

// Done returns a channel that is closed when the connection is down. Err then returns the reason.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns the reason why the connection is down, or nil while it is not: oncrpc.ErrClosed if
// this side closed it, ErrPeerClosed if the peer did, and otherwise the error that ended it.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// Stats returns the counts.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// answered reports whether a Call was answered on the connection.
func (c *Conn) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replied
}

// Close closes the connection and waits for the handlers to answer the Requests that they have.
// Calls in progress fail with oncrpc.ErrClosed, and answers that were not sent are discarded. Close
// must not be called from a handler or a done function, for which it would wait.
func (c *Conn) Close() error {
	c.fail(oncrpc.ErrClosed)
	c.mu.Lock()
	for c.requests > 0 {
		c.wake.Wait()
	}
	c.mu.Unlock()
	c.wg.Wait()
	return nil
}

// drain ends the connection when its Requests are answered and the answers written. No further
// Call gets to the handler.
func (c *Conn) drain() {
	c.mu.Lock()
	c.draining = true
	for c.err == nil && (c.requests > 0 || c.writes) {
		c.wake.Wait()
	}
	c.mu.Unlock()
	c.fail(oncrpc.ErrClosed)
}
