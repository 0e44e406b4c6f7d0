package rdmaio

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
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

var _ oncrpc.Conn = (*Conn)(nil)

// join connects the parts of a connection with what they share, and with its source's memory.
func (c *Conn) join(from admission.Source) {
	c.conn, c.share, c.caller.submits.caller = c, c.shared.memory.Join(from), &c.caller
	c.answerer.shortage.waiter = admission.Waiter{Owner: c, Call: func() { c.answerer.shortage.wake(&c.host) }}
	c.caller.host, c.answerer.host, c.answerer.kept.host, c.extensions.host = &c.host, &c.host, &c.host, &c.host
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

// Close closes the connection and frees it. Calls in progress fail with ErrClosed. Close waits for
// them, for the done functions of Submit, and for the handlers to answer the Requests that they
// have; it cancels the context of each Request. If that takes 10 s, it logs a warning and waits
// further. Then it frees all memory and objects. The error says what could not be freed. Further
// calls return the same error.
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
		<-c.caller.slots.urgent
		c.caller.slots.close()
		c.driver.Stop() // no Request is left or will come
		c.shared.places.Leave(&c.answerer.requests)
		if w := c.answerer.row.Load(); w != nil {
			w.inline.Forget()
		}
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
