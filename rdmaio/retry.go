package rdmaio

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// source provides connections to make Calls on: a Client or a Backchannel.
type source interface {
	// acquire returns a connection that is up. It waits for one, or returns why it cannot have one.
	// again says that the Call was on a connection that was lost.
	acquire(ctx context.Context, again bool) (*Conn, error)

	// release returns a connection to the source.
	release(*Conn)

	// turns reports whether the next connection has another version, in which the peer may accept a
	// Call that it refused with err, without executing it.
	turns(c *Conn, err error) bool
}

// retry makes a Call on a connection of src, and on a further one when that is lost. The XID stays
// the same, and Conn.Call registers keys of the new connection (RFC 8166 §4.5.5; R284, R286).
// losses is the number of times that the Call is sent again. resent counts the Calls sent again; a
// Call that waited for a credit when the connection was lost was not sent.
func retry(ctx context.Context, call *Call, src source, losses int, resent *atomic.Uint64, events func(Event)) (*Reply, error) {
	if err := call.Check(oncrpc.MsgCall); err != nil {
		return nil, &CallError{Err: err}
	}
	tries, before := machine.Tries{Losses: losses}, error(nil)
	for further := false; ; further = true {
		c, err := src.acquire(ctx, further)
		if err != nil {
			return nil, &CallError{XID: call.XID(), MayHaveRun: tries.MayHaveRun(), Err: err}
		}
		if further {
			if err := call.Again(ctx); err != nil {
				src.release(c)
				return nil, &CallError{XID: call.XID(), MayHaveRun: tries.MayHaveRun(), Err: err}
			}
		}
		reply, err := c.Call(ctx, call)
		src.release(c)
		ce, failed := errors.AsType[*CallError](err)
		if tries.MayHaveRun() && (!failed || ce.MayHaveRun) {
			resent.Add(1)
			if events != nil {
				events(&Resent{RPC: c.rpcOf(call.Inline), Reason: before})
			}
		}
		if !failed {
			return reply, err
		}
		again := tries.Failed(machine.TryFailure{
			MayHaveRun: ce.MayHaveRun, Up: c.Err() == nil, Lasting: lasting(ce.Err),
			Turns: func() bool { return src.turns(c, ce.Err) },
		})
		ce.MayHaveRun, before = tries.MayHaveRun(), ce.Err
		if !again {
			return nil, ce
		}
	}
}

// lasting reports whether a Call would fail in the same way on another connection, or was
// cancelled.
func lasting(err error) bool {
	var (
		fault *Fault
		peer  *PeerError
		size  *SizeError
		auth  *hostauth.Error
	)
	if errors.As(err, &auth) || errors.As(err, &fault) || errors.As(err, &peer) || errors.As(err, &size) {
		return true
	}
	for _, e := range []error{
		context.Canceled, context.DeadlineExceeded, ErrNoVersion, ErrMessage, ErrXIDInUse, ErrInvalidated, ErrReverse,
		verbs.ErrInvalidValue, verbs.ErrNotSupported, verbs.ErrDeviceRemoved, verbs.ErrTLS, verbs.ErrOtherProtocol,
		verbs.ErrProcessLimit,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
