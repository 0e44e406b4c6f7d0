package tcp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// source provides connections to make Calls on: a Client or a Backchannel.
type source interface {
	// acquire returns a connection that is up. It waits for one, or returns an error with the
	// reason. again says that the Call was on a connection that was lost.
	acquire(ctx context.Context, again bool) (*Conn, error)

	// release is called when the Call no longer uses the connection.
	release(*Conn)
}

// retry makes a Call on a connection from src. If that is lost, it makes the Call again on a
// further one, with the same XID. losses is the number of times that the Call is sent again. again
// counts the Calls sent again. A Call does not count as sent if it was still in the queue when the
// connection was lost.
func retry(ctx context.Context, call *oncrpc.Call, src source, losses int, again *atomic.Uint64) (*oncrpc.Reply, error) {
	if call == nil {
		return nil, &oncrpc.CallError{Err: fmt.Errorf("%w: the Call is nil", oncrpc.ErrMessage)}
	}
	if err := call.Check(oncrpc.MsgCall); err != nil {
		return nil, &oncrpc.CallError{Err: err}
	}
	tries := machine.Tries{Losses: losses}
	sent := false // the Message that call has now, at least in part
	for further := false; ; further = true {
		c, err := src.acquire(ctx, further)
		if err != nil {
			return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: tries.MayHaveRun(), Err: err}
		}
		if sent {
			if err := call.Again(ctx); err != nil {
				src.release(c)
				return nil, &oncrpc.CallError{XID: call.XID(), MayHaveRun: tries.MayHaveRun(), Err: err}
			}
		}
		reply, err := c.Call(ctx, call)
		src.release(c)
		ce, failed := errors.AsType[*oncrpc.CallError](err)
		if tries.MayHaveRun() && (!failed || ce.MayHaveRun) {
			again.Add(1)
		}
		if !failed {
			return reply, err
		}
		sent = ce.MayHaveRun
		retried := tries.Failed(machine.TryFailure{
			MayHaveRun: ce.MayHaveRun, Up: c.Err() == nil,
			Lasting: ctx.Err() != nil || errors.Is(err, oncrpc.ErrMessage) || errors.Is(err, ErrTLS) || failsAlone(err),
		})
		if ce.MayHaveRun = tries.MayHaveRun(); !retried {
			return nil, ce
		}
	}
}
