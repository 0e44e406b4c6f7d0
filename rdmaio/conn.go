package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/driver"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Conn is one connection. All methods are safe for concurrent use.
//
//	Dial              a Server accepts
//	  |                     |
//	  +-----> setup <-------+
//	            |
//	            | both sides have posted Receives, know the terms and, with
//	            | Config.HostAuth, have authenticated
//	            v                  Server.Shutdown
//	            up ------------------------------------> draining
//	            |                                            |
//	            | Close, the peer closes, a fault            | the last handler
//	            v                                            v has answered
//	          down <-----------------------------------------+
//	            |
//	            | Close: Calls have returned, handlers have answered
//	            v
//	          freed
//
// Whatever closes a connection that is up also closes one in setup or draining. In setup it makes
// Dial return an error. The peer may be up earlier: a server serves its Calls during setup. When
// the connection is up, ConnUp is emitted and Call works. A draining connection gives no more Calls
// to handlers. When it is down, Done is closed, Err returns the reason, all Calls have failed and
// replies of handlers are discarded. When it is freed, Close returns. A Server frees its
// connections; the caller of Dial must call Close, also for a connection that is down.
type Conn struct {
	host
	pd     verbs.ProtectionDomain // its own: keys work on no other connection (R8)
	memory []*mrpool.Buffer       // of Receives, and of the first send buffer, which always exists

	caller     caller
	answerer   answerer
	extensions extensions

	onCredits atomic.Pointer[func()] // of the Client, called when there may be more usable credits

	remote atomic.Pointer[string]          // the peer's address, or while Dial runs the one dialled
	tls    atomic.Pointer[oncrpc.TLSState] // nil: not known yet

	closing  sync.Once
	closeErr error
}

// join connects the parts of a connection with what they share, and with its source's memory.
func (c *Conn) join(from admission.Source) {
	c.conn, c.share = c, c.shared.memory.Join(from)
	c.caller.host, c.answerer.host, c.answerer.kept.host, c.extensions.host = &c.host, &c.host, &c.host, &c.host
}

// largestMessage is the size in bytes of the largest message that the defaults of this package and
// package rpc lead to: data of oncrpc.DefaultMaxMessage, with headers and what a security layer
// adds. A connection must be able to keep memory of that size for the next Call, and to leave it to
// a cancelled one.
const largestMessage = oncrpc.DefaultMaxMessage + 64<<10

// keepBytes returns the largest amount of unused memory for Calls with chunks that a connection
// keeps beyond the peak of its load: one buffer for the largest message.
func keepBytes() uint64 { return uint64(mrpool.Size(largestMessage)) }

// newConn makes a connection with a source that can be dialed or accepted, with its Receives
// posted. Close frees it.
func newConn(dev verbs.Device, set settings, role engine.Role, h Handler, with *shared, from admission.Source) (_ *Conn, err error) {
	credits := set.calls + set.serves
	recvs := credits + set.extraReceives()
	if set.Legacy && role == engine.Responder {
		recvs += set.serves // for RDMA_DONE
	}
	announce, err := set.extensions.announce()
	if err != nil {
		return nil, err
	}
	c := &Conn{host: host{set: set, role: role, shared: with, log: with.log, ends: with.ends, start: time.Now()}}
	c.join(from)
	c.answerer.handler = h
	c.caller.slots.allow(set.calls)
	versions := set.protocols(role, announce)
	c.agreed.offer(versions, set.firstRecv)
	c.caller.offered.abandoned.Most, c.caller.offered.replies.most = largestMessage, set.MaxReplyMemory
	c.caller.ready.Store(role == engine.Requester)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.caller.xids.Seed()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.free())
		}
	}()
	if c.pd, err = dev.AllocPD(); err != nil {
		return nil, err
	}
	c.pool = mrpool.New(c.pd, mrpool.Config{
		Heap: dev.Attributes().HeapMemory, KeepIdle: 2 * credits, KeepBytes: keepBytes(),
		KeepPeak: role == engine.Requester, // at a responder the peer decides, see ADR 0073
	})
	if c.driver, err = driver.New(dev, c.pd, owner{c}, recvs, set.SendQueue, max(1, 2*set.calls)); err != nil {
		return nil, err
	}
	c.qp = c.driver.QP()
	c.pool.UseQueuePair(c.qp)
	if !(set.NonBlocking && h != nil) && len(set.extensions.list) == 0 {
		// Otherwise code of the upper layer would run on the goroutines of callers.
		c.caller.lone.qp, _ = c.qp.(verbs.Progresser)
	}
	cfg := engine.Config{
		Role: role, Versions: versions, Calls: set.calls, Serves: set.serves, ReverseChunks: set.ReverseChunks, MaxErrors: set.MaxErrors,
		SendWRs: set.SendQueue, Limits: set.limits, ChainTimeout: set.WorkTimeout,
		Legacy: set.Legacy, DoneTimeout: set.WorkTimeout,
		OfferTimeout: set.OfferTimeout, OfferXID: c.caller.xids.Next(),
		ReceiveSize:  set.firstRecv,
		MaxContinued: set.MaxContinued, ContinueTimeout: set.WorkTimeout, Reserve: c.reserve, Memory: &with.joined,
	}
	if set.HostAuth.Mode != HostAuthOff {
		c.auth.prepare(&set.HostAuth, c.authTimeout, &cfg)
	}
	if cfg.DoneTimeout == 0 {
		cfg.DoneTimeout = defaultTimeout // a client must not keep access without a limit (R109)
	}
	// The memory of the Receives is the first, because a provider may size its memory by it.
	cfg.MaxBorrowed = credits - 1
	if dev.Attributes().LendReceives {
		cfg.Receives, cfg.ReceiveMost = recvs, set.InlineRecv
	} else if cfg.Recv, err = c.buffers(recvs, set.InlineRecv); err != nil {
		return nil, err
	}
	if cfg.Send, err = c.buffers(1, set.InlineSend); err != nil {
		return nil, err
	}
	c.driver.Start(engine.New(cfg))
	return c, nil
}

// buffers allocates and registers memory for n buffers of size bytes each.
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

// Dial connects to a server at an address in the form that the provider of dev defines. ctx bounds
// the call of Dial, not the connection. cfg may be nil. The caller must Close the connection.
func Dial(ctx context.Context, dev verbs.Device, addr string, cfg *Config) (*Conn, error) {
	c, _, err := dial(ctx, dev, addr, cfg)
	return c, err
}

// dial does the work of Dial. With an error, it also reports whether the server was reached and has
// not answered the version offered.
func dial(ctx context.Context, dev verbs.Device, addr string, cfg *Config) (_ *Conn, unanswered bool, _ error) {
	set, err := cfg.settings(dev)
	if err != nil {
		return nil, false, err
	}
	c, err := newConn(dev, set, engine.Requester, set.ReverseHandler, newShared(set), admission.Source{Local: true})
	if err != nil {
		set.emitFailed(addr, false, err)
		return nil, false, err
	}
	c.remote.Store(&addr) // a reverse Call may come, and ask for it, before Dial returns
	info, err := dev.Dial(ctx, addr, c.qp, set.params())
	if err != nil {
		err = explainRejection(err)
		set.emitFailed(addr, false, err)
		return nil, false, errors.Join(err, c.Close())
	}
	c.remote.Store(&info.RemoteAddr)
	c.negotiate(info.PrivateData)
	c.connected(info)
	c.driver.Post(engine.Event{Kind: engine.EventOpen})
	if err := c.agreed.await(ctx, c.ctx); err != nil {
		if errors.Is(err, ErrNoVersion) && set.HostAuth.Mode == HostAuthRequired {
			err = fmt.Errorf("%w (Config.HostAuth is required, which excludes version 1)", err)
		}
		set.emitFailed(addr, false, err)
		return nil, !errors.Is(err, ErrNoVersion), errors.Join(err, c.Close())
	}
	if err := c.auth.await(ctx, c.ctx); err != nil {
		set.emitFailed(addr, false, err)
		return nil, false, errors.Join(err, c.Close())
	}
	c.emitUp()
	return c, false, nil
}

// AllowReverse permits Call on an accepted connection. The upper layer calls it when it knows that
// the peer serves reverse Calls, because a peer that does not may lose the connection (RFC 8167 §6;
// R280). RFC 8166 has no way to find out; an NFSv4.1 server, for example, knows after
// CREATE_SESSION or BIND_CONN_TO_SESSION on the connection. The permission lasts until the
// connection is closed. It has no effect without Config.ReverseCredits or on a connection of Dial,
// which needs no permission.
func (c *Conn) AllowReverse() { c.caller.ready.Store(true) }

// XID returns the next transaction ID. It is unique if all Calls on the connection use it. Calls
// made in ClientConfig.Connected must use it: a server's reply cache takes the same Call with the
// same XID for a retransmission.
func (c *Conn) XID() uint32 { return c.caller.xids.Next() }

// RemoteAddr returns the address of the peer in the provider's form.
func (c *Conn) RemoteAddr() string { return *c.remote.Load() }

// Done returns a channel that is closed when the connection is down. Err then returns the reason.
func (c *Conn) Done() <-chan struct{} { return c.ctx.Done() }

// Err returns the reason why the connection is down, or nil while it is not.
//
// The reason is ErrClosed if this side closed it, verbs.ErrPeerDisconnected if the peer closed it,
// and otherwise the error that this package or the provider found. verbs.ErrConnectionBroken can
// mean that the peer closed the connection because this side broke a rule or a time limit
// (verbs.ReasonDisconnecter). Only the peer knows which: see Err, Config.Events and Config.Logger
// there.
func (c *Conn) Err() error { return context.Cause(c.ctx) }

// Close closes the connection and frees it. Calls in progress return ErrClosed. Close waits for
// them and for the handlers to answer the Requests that they have; it cancels the context of each
// Request. If that takes 10 s, it logs a warning and waits further. Then it frees all memory and
// objects. The error says what could not be freed. Further calls return the same error.
//
// Replies made after Close are discarded, and their done functions get an error. Replies made just
// before may be lost. Use Server.Shutdown to avoid both. Close must not be called from a Handler or
// a done function, for which it would wait.
func (c *Conn) Close() error {
	defer time.AfterFunc(closeWarning, func() { c.set.warnClose(c.driver.Unanswered(), c.RemoteAddr()) }).Stop()
	return c.finish()
}

// closeWarning is the time after which Close logs that it still waits.
const closeWarning = 10 * time.Second

// warnClose logs that Close still waits for handlers.
func (s *settings) warnClose(requests int, of string) {
	s.faults.Warn("rdmaio: Close waits for handlers to answer and to return: Request.Context is done; a dump of all goroutines shows them",
		"at", of, "unanswered", requests)
}

// finish is Close without the warning.
func (c *Conn) finish() error {
	c.closing.Do(func() {
		c.end()
		<-c.ctx.Done()
		for range cap(c.caller.slots.free) {
			<-c.caller.slots.free // so that no Call gets one any more
		}
		c.driver.Stop() // no Request is left or will come
		c.shared.places.Leave(&c.answerer.requests)
		c.closeErr = c.free()
	})
	return c.closeErr
}

// end begins to close the connection. Close must follow.
func (c *Conn) end() { c.fail(ErrClosed) }

// free frees all memory and objects that exist.
func (c *Conn) free() error {
	c.cancel(ErrClosed)
	c.auth.stop()
	defer c.share.Leave()
	var errs []error
	if c.driver != nil {
		errs = append(errs, c.driver.Close())
	}
	for _, b := range c.memory {
		errs = append(errs, c.pool.Put(b))
	}
	if c.pool != nil {
		errs = append(errs, c.pool.Close())
	}
	if c.pd != nil {
		errs = append(errs, c.pd.Close())
	}
	return errors.Join(errs...)
}
