package tcp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// source provides connections to make Calls on: a Client or a Backchannel.
type source interface {
	// acquire returns a connection that is up. It waits for one, or returns an error with the
	// reason. again says that the Call was on a connection that was lost.
	acquire(ctx context.Context, again bool) (*Conn, error)

	// tryAcquire is acquire without a wait. ok is false if there is no connection now, and err is
	// set after Close.
	tryAcquire() (c *Conn, ok bool, err error)

	// release is called when the Call no longer uses the connection.
	release(*Conn)
}

// retrier makes Calls on connections from src. If the connection of a Call is lost, it makes the
// Call again on a further one, with the same XID. A Call does not count as sent if it was still in
// the queue when the connection was lost.
//
// A Call that is submitted needs no goroutine on its first connection. One that has to wait for a
// connection, and one that is made again, has a goroutine.
//
//	submit ──> on a connection ──┬──> done
//	   │                         └── lost ──┐
//	   └── no connection is up ─────────────┴──> goroutine: run ──> done
type retrier struct {
	src    source
	losses int           // the number of times that a Call is sent again
	again  atomic.Uint64 // Calls sent again
	pool   sync.Pool     // of *attempts, for Calls that are submitted

	mu      sync.Mutex
	running int       // goroutines
	idle    sync.Cond // running is 0
}

func newRetrier(src source, losses int) *retrier {
	r := &retrier{src: src, losses: losses}
	r.idle.L = &r.mu
	r.pool.New = newAttempts
	return r
}

// call makes a Call and waits for its reply.
func (r *retrier) call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if err := oncrpc.CheckCall(call); err != nil {
		return nil, err
	}
	a := attempts{retrier: r, ctx: ctx, call: call, tries: machine.Tries{Losses: r.losses}}
	return a.run()
}

// submit begins a Call.
func (r *retrier) submit(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	if err := oncrpc.CheckSubmit(ctx, call, done); err != nil {
		return err
	}
	c, ok, err := r.src.tryAcquire()
	if err != nil {
		return &oncrpc.CallError{XID: call.XID(), Err: err}
	}
	a := r.pool.Get().(*attempts)
	a.retrier, a.ctx, a.call, a.done, a.tries = r, ctx, call, done, machine.Tries{Losses: r.losses}
	if !ok {
		a.goOn()
		return nil
	}
	a.conn = c
	if err := c.Submit(ctx, call, a.finished); err != nil {
		r.src.release(c)
		if err, over := a.over(c, err); over { // done would submit again without end
			*a = attempts{finished: a.finished}
			r.pool.Put(a)
			return err
		}
		a.goOn()
	}
	return nil
}

// wait waits until no goroutine makes Calls.
func (r *retrier) wait() {
	r.mu.Lock()
	for r.running > 0 {
		r.idle.Wait()
	}
	r.mu.Unlock()
}

// attempts holds one Call, on one connection after the other.
type attempts struct {
	*retrier
	ctx     context.Context
	call    *oncrpc.Call
	tries   machine.Tries
	sent    bool // the Message that call has now, at least in part
	further bool // it was on a connection

	// Of a Call that was submitted.
	conn     *Conn // that it is on
	done     func(*oncrpc.Reply, error)
	finished func(*oncrpc.Reply, error) // attempts.ended, bound once
}

// newAttempts returns attempts for retrier.pool.
func newAttempts() any {
	a := new(attempts)
	a.finished = a.ended
	return a
}

// run makes the Call on one connection after the other.
func (a *attempts) run() (*oncrpc.Reply, error) {
	for {
		c, err := a.src.acquire(a.ctx, a.further)
		if err != nil {
			return nil, a.failed(err)
		}
		if a.sent {
			if err := a.call.Again(a.ctx); err != nil {
				a.src.release(c)
				return nil, a.failed(err)
			}
		}
		reply, err := c.Call(a.ctx, a.call)
		a.src.release(c)
		if err, over := a.over(c, err); over {
			return reply, err
		}
	}
}

// failed returns the error of a Call that is not on a connection.
func (a *attempts) failed(why error) error {
	return &oncrpc.CallError{XID: a.call.XID(), MayHaveRun: a.tries.MayHaveRun(), Err: why}
}

// over counts an attempt that is over on a connection, and reports whether the Call is, too.
func (a *attempts) over(c *Conn, err error) (_ error, over bool) {
	ce, failed := errors.AsType[*oncrpc.CallError](err)
	if a.tries.MayHaveRun() && (!failed || ce.MayHaveRun) {
		a.again.Add(1)
	}
	a.further = true
	if !failed {
		return err, true
	}
	a.sent = ce.MayHaveRun
	retried := a.tries.Failed(machine.TryFailure{
		MayHaveRun: ce.MayHaveRun, Up: c.Err() == nil,
		Lasting: a.ctx.Err() != nil || late(a.call, err) || errors.Is(err, oncrpc.ErrMessage) || errors.Is(err, ErrTLS) || failsAlone(err),
	})
	ce.MayHaveRun = a.tries.MayHaveRun()
	return ce, !retried
}

// late reports whether a Call has failed because of its deadline.
func late(call *oncrpc.Call, err error) bool {
	return !call.Deadline.IsZero() && errors.Is(err, context.DeadlineExceeded)
}

// ended is called when a Call that was submitted is over on its connection.
func (a *attempts) ended(reply *oncrpc.Reply, err error) {
	c := a.conn
	a.src.release(c)
	if err, over := a.over(c, err); over {
		a.finish(reply, err)
		return
	}
	a.goOn()
}

// goOn makes the Call on a goroutine.
func (a *attempts) goOn() {
	r := a.retrier
	r.mu.Lock()
	r.running++
	r.mu.Unlock()
	go func() {
		if at := a.call.Deadline; !at.IsZero() {
			var cancel context.CancelFunc
			a.ctx, cancel = context.WithDeadline(a.ctx, at)
			defer cancel()
		}
		reply, err := a.run()
		a.finish(reply, err)
		r.mu.Lock()
		if r.running--; r.running == 0 {
			r.idle.Broadcast()
		}
		r.mu.Unlock()
	}()
}

// finish keeps the attempts for a later Call, and calls done.
func (a *attempts) finish(reply *oncrpc.Reply, err error) {
	r, done := a.retrier, a.done
	*a = attempts{finished: a.finished}
	r.pool.Put(a)
	done(reply, err)
}
