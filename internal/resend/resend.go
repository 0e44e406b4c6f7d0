package resend

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Conn is a connection.
type Conn interface {
	oncrpc.Submitter

	// Err returns the reason why the connection is down, or nil while it is not.
	Err() error
}

// Source provides the connections of a Client or a Backchannel, to make Calls on.
type Source[C Conn] interface {
	// Acquire returns a connection that is up. It waits for one, or returns an error with the
	// reason. again says that the Call was on a connection that was lost.
	Acquire(ctx context.Context, again bool) (C, error)

	// TryAcquire is Acquire without a wait. Without a connection ok is false, and after Close there
	// is an error.
	TryAcquire() (c C, ok bool, err error)

	// Release is called when the Call no longer uses the connection.
	Release(C)
}

// Config configures New.
type Config[C Conn] struct {
	Source Source[C]
	Losses int // the number of times that a Call is sent again
	Most   int // the number of times that a Call is tried, sent or not; zero: no limit

	// Lasting reports whether a Call that failed with err, a *oncrpc.CallError, would fail in the
	// same way on another connection, was given up, or must not be sent on another one.
	Lasting func(ctx context.Context, call *oncrpc.Call, err error) bool

	// Tried is called after each try of a Call on c, before its connection is judged. It may change
	// the error, which is nil after a reply. If Tried is nil, nothing is called.
	Tried func(ctx context.Context, c C, call *oncrpc.Call, err *oncrpc.CallError)

	// Turns reports whether the next connection has another version, in which the peer may accept
	// a Call that it refused with err, without executing it. If nil, there is no other version.
	Turns func(c C, err error) bool

	// Resent is called when a Call was sent again on c. before is the error of the try before. If
	// nil, nothing is called.
	Resent func(c C, call *oncrpc.Call, before error)
}

// Retrier makes Calls on connections of a Source. If the connection of a Call is lost, it makes the
// Call again on a further one, with the same XID. A Call does not count as sent if it still waited
// when the connection was lost. All methods are safe for concurrent use.
//
// A Call that is submitted needs no goroutine on its first connection. One that has to wait for a
// connection, and one that is made again, has a goroutine. If its done function panics there, that
// is logged with slog.Error, since there is no connection to close.
//
//	Submit ──> on a connection ──┬──> done
//	   │                         └── lost ──┐
//	   └── no connection is up ─────────────┴──> goroutine: run ──> done
type Retrier[C Conn] struct {
	Config[C] // not to be changed

	again atomic.Uint64
	pool  sync.Pool // of *Attempts, for Calls that are submitted

	mu      sync.Mutex
	running int       // goroutines
	idle    sync.Cond // running is 0
}

// New returns a Retrier.
func New[C Conn](cfg Config[C]) *Retrier[C] {
	r := &Retrier[C]{Config: cfg}
	r.idle.L = &r.mu
	r.pool.New = func() any {
		a := new(attempts[C])
		a.finished = a.ended
		return a
	}
	return r
}

// Again returns the number of times that Calls were sent again.
func (r *Retrier[C]) Again() uint64 { return r.again.Load() }

// Call makes a Call and waits for its reply. The error is a *oncrpc.CallError.
func (r *Retrier[C]) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if err := oncrpc.CheckCall(call); err != nil {
		return nil, err
	}
	a := attempts[C]{Retrier: r, ctx: ctx, call: call, tries: machine.Tries{Losses: r.Losses}}
	return a.run()
}

// Submit begins a Call, as oncrpc.Submitter says. A Call that has to wait for a connection, and one
// that is made again, has a goroutine, on which done then runs.
func (r *Retrier[C]) Submit(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	if err := oncrpc.CheckSubmit(ctx, call, done); err != nil {
		return err
	}
	c, ok, err := r.Source.TryAcquire()
	if err != nil {
		return &oncrpc.CallError{XID: call.XID(), Err: err}
	}
	a := r.pool.Get().(*attempts[C])
	a.Retrier, a.ctx, a.call, a.done, a.tries = r, ctx, call, done, machine.Tries{Losses: r.Losses}
	if !ok {
		a.goOn()
		return nil
	}
	a.conn = c
	if err := c.Submit(ctx, call, a.finished); err != nil {
		r.Source.Release(c)
		if err, over := a.over(c, err); over { // done would submit again without end
			a.recycle()
			return err
		}
		a.goOn()
	}
	return nil
}

// Wait waits until no goroutine makes Calls. The Source must be closed.
func (r *Retrier[C]) Wait() {
	r.mu.Lock()
	for r.running > 0 {
		r.idle.Wait()
	}
	r.mu.Unlock()
}

// Late reports whether a Call has failed because of its deadline.
func Late(call *oncrpc.Call, err error) bool {
	return !call.Deadline.IsZero() && errors.Is(err, context.DeadlineExceeded)
}
