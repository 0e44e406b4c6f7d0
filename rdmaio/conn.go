package rdmaio

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Conn is one connection. It is for concurrent use.
type Conn struct {
	set       settings
	pd        verbs.ProtectionDomain // of its own, so that its keys work on no other connection (R8)
	cq        verbs.CompletionQueue  // of Receives
	sendCQ    verbs.CompletionQueue
	qp        verbs.QueuePair
	pool      *mrpool.Pool
	memory    []*mrpool.Buffer // of Receives, and of the send buffer that the connection always has
	role      engine.Role
	handler   Handler // of Calls received
	shared    *shared
	chunks    chunkMemory
	abandoned budget       // memory for what cancelled Calls offered
	log       *slog.Logger // for what the peer can cause: shared.log, and its address
	ends      *slog.Logger // likewise of shared.ends
	terms     atomic.Pointer[header.Terms]
	begun     sync.Once     // Config.Events was told that it is up, or never will be
	wasUp     bool          // the former; settled by begun
	waits     atomic.Uint64 // Calls that waited for a slot
	start     time.Time

	xids  xids
	ready atomic.Bool // Calls may be made

	noReads, peerNoReads atomic.Bool // the queue pair, and the peer's, can make no RDMA Reads

	slots  chan *slot             // free ones; a Call holds one
	remote atomic.Pointer[string] // the peer's address; while a Dial runs, the one that was asked for
	ctx    context.Context        // ends with the connection
	cancel context.CancelCauseFunc

	driver
	handlers sync.WaitGroup // Requests that are with handlers, or wait for a place, without Config.NonBlocking
	requests requestQueue

	closing  sync.Once
	closeErr error
}

// keepBytes is how much memory for Calls with chunks a connection keeps between them.
const keepBytes = 16 << 20

// newConn makes a connection up to the point where it can be dialed or accepted,
// its Receives posted. Everything is undone by Close.
func newConn(dev verbs.Device, set settings, role engine.Role, h Handler, with *shared) (_ *Conn, err error) {
	credits := set.calls + set.serves
	recvs := credits
	if set.Legacy && role == engine.Responder {
		recvs += set.serves // for RDMA_DONE
	}
	c := &Conn{set: set, role: role, handler: h, shared: with, log: with.log, ends: with.ends, start: time.Now(), slots: make(chan *slot, set.calls)}
	t := header.DefaultTerms()
	c.terms.Store(&t)
	c.abandoned.most = abandonedBytes
	c.ready.Store(role == engine.Requester)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.xids.seed()
	c.driver.init()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.free())
		}
	}()
	if c.pd, err = dev.AllocPD(); err != nil {
		return nil, err
	}
	c.pool = mrpool.New(c.pd, mrpool.Config{Heap: dev.Attributes().HeapMemory, KeepIdle: 2 * credits, KeepBytes: keepBytes})
	if c.cq, err = dev.CreateCQ(recvs, c.notify); err != nil {
		return nil, err
	}
	if c.sendCQ, err = dev.CreateCQ(set.SendQueue, c.notifySent); err != nil {
		return nil, err
	}
	if c.qp, err = c.pd.CreateQP(verbs.QPConfig{
		SendCQ: c.sendCQ, RecvCQ: c.cq, MaxSendWR: set.SendQueue, MaxRecvWR: recvs,
		MaxSendSGE: 1, MaxRecvSGE: 1, Notify: c.lost,
	}); err != nil {
		return nil, err
	}
	cfg := engine.Config{
		Role: role, Calls: set.calls, Serves: set.serves, ReverseChunks: set.ReverseChunks, MaxErrors: set.MaxErrors,
		SendWRs: set.SendQueue, Limits: set.limits, ChainTimeout: set.WorkTimeout,
		Legacy: set.Legacy, DoneTimeout: set.WorkTimeout,
	}
	if cfg.DoneTimeout == 0 {
		cfg.DoneTimeout = defaultTimeout // what a client may read has an end in any case (R109)
	}
	if cfg.Send, err = c.buffers(1, set.InlineSend); err != nil {
		return nil, err
	}
	cfg.MaxBorrowed = credits - 1
	if cfg.Recv, err = c.buffers(recvs, set.InlineRecv); err != nil {
		return nil, err
	}
	c.engine = engine.New(cfg)
	for range set.calls {
		c.slots <- &slot{done: make(chan struct{}, 1)}
	}
	c.look = true // arms the completion queue
	c.post(engine.Event{Kind: engine.EventStart})
	return c, nil
}

// buffers cuts one registered buffer into n.
func (c *Conn) buffers(n, size int) ([]engine.Buffer, error) {
	b, err := c.pool.Exact(n * size)
	if err != nil {
		return nil, err
	}
	c.memory = append(c.memory, b)
	out := make([]engine.Buffer, n)
	for i := range out {
		out[i] = engine.Buffer{MR: b.MR, Offset: i * size, Bytes: b.Bytes[i*size : (i+1)*size : (i+1)*size]}
	}
	return out, nil
}

// Dial connects to a server at an address as the provider of dev wants it. The
// context bounds the call, not the connection. cfg may be nil.
func Dial(ctx context.Context, dev verbs.Device, addr string, cfg *Config) (*Conn, error) {
	attrs := dev.Attributes()
	set, err := cfg.settings(&attrs)
	if err != nil {
		return nil, err
	}
	c, err := newConn(dev, set, engine.Requester, set.ReverseHandler, &shared{log: newLimited(set.Logger), ends: newLimited(set.Logger), faults: newLimited(set.faults)})
	if err != nil {
		set.emitFailed(addr, false, err)
		return nil, err
	}
	c.remote.Store(&addr) // for what a reverse Call may ask before Dial returned
	info, err := dev.Dial(ctx, addr, c.qp, set.params())
	if err != nil {
		set.emitFailed(addr, false, err)
		return nil, errors.Join(err, c.Close())
	}
	c.remote.Store(&info.RemoteAddr)
	c.agree(info.PrivateData)
	c.connected(info)
	c.emitUp()
	return c, nil
}

// AllowReverse lets Call work on a connection that was accepted: the upper layer calls it
// once it knows that the peer serves such Calls, since one that does not may lose
// the connection by them (RFC 8167 §6; R280). An NFSv4.1 server, for one, knows by CREATE_SESSION or
// BIND_CONN_TO_SESSION on the very connection; RFC 8166 has no way to tell. It holds until the connection ends, and
// has no effect where Config.ReverseCredits allows no Calls, nor at the side that dialed, whose Calls need no leave.
func (c *Conn) AllowReverse() { c.ready.Store(true) }

// XID is one that no other Call of this connection has had lately, if all have theirs from here; what ClientConfig.Connected
// calls is to have it from here, since a cache of replies takes the same Call with the same XID for one sent again.
func (c *Conn) XID() uint32 { return c.xids.next() }

// RemoteAddr is the address of the peer, as the provider writes it.
func (c *Conn) RemoteAddr() string { return *c.remote.Load() }

// Done is closed when the connection is gone; Err tells why.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err is why the connection is gone: ErrClosed, or what verbs, or we, found
// wrong. nil while it stands. Of one that the peer ended in order it is verbs.ErrPeerDisconnected.
// Where the provider can say it (verbs.ReasonDisconnecter), a peer that ended the connection because of a broken rule or a
// time limit is verbs.ErrConnectionBroken; which rule is in the Err, Config.Events and Config.Logger of the other side only.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// Close ends the connection. Calls in progress return with ErrClosed; Close waits for
// them, and for handlers to answer the Requests they have, and then gives all memory and
// objects back. What handlers answer from then on is not sent (done tells), and what was handed over just before may not
// arrive: Server.Shutdown is for ending without that. It must not be called from a Handler or a done function, which it
// would wait for. Idempotent; the error says what could not be given back.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		c.post(engine.Event{Kind: engine.EventClose, Err: ErrClosed})
		<-c.ctx.Done()
		for range cap(c.slots) {
			<-c.slots // and no Call gets one any more
		}
		c.driver.stop() // no Request is left, and none comes
		c.handlers.Wait()
		c.closeErr = c.free()
	})
	return c.closeErr
}

// free gives back whatever exists.
func (c *Conn) free() error {
	c.cancel(ErrClosed)
	var errs []error
	if c.qp != nil {
		errs = append(errs, c.qp.Close())
	}
	for _, b := range c.memory {
		errs = append(errs, c.pool.Put(b))
	}
	if c.pool != nil {
		errs = append(errs, c.pool.Close())
	}
	for _, cq := range []verbs.CompletionQueue{c.sendCQ, c.cq} {
		if cq != nil {
			errs = append(errs, cq.Close())
		}
	}
	if c.pd != nil {
		errs = append(errs, c.pd.Close())
	}
	return errors.Join(errs...)
}
