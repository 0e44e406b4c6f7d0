package resend

import (
	"context"
	"errors"
	"log/slog"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// attempts holds one Call, on one connection after the other.
type attempts[C Conn] struct {
	*Retrier[C]
	ctx     context.Context
	call    *oncrpc.Call
	tries   machine.Tries
	made    int   // tries that failed
	sent    bool  // the Message that call has now, at least in part
	further bool  // it was on a connection
	before  error // of the last one

	// Of a Call that was submitted.
	conn     C // that it is on
	done     func(*oncrpc.Reply, error)
	finished func(*oncrpc.Reply, error) // attempts.ended, bound once
}

// run makes the Call on one connection after the other.
func (a *attempts[C]) run() (*oncrpc.Reply, error) {
	for {
		c, err := a.Source.Acquire(a.ctx, a.further)
		if err != nil {
			return nil, a.failed(err)
		}
		if a.sent {
			if err := a.call.Again(a.ctx); err != nil {
				a.Source.Release(c)
				return nil, a.failed(err)
			}
		}
		reply, err := c.Call(a.ctx, a.call)
		a.Source.Release(c)
		if err, over := a.over(c, err); over {
			return reply, err
		}
	}
}

// failed returns the error of a Call that is not on a connection.
func (a *attempts[C]) failed(why error) error {
	return &oncrpc.CallError{XID: a.call.XID(), MayHaveRun: a.tries.MayHaveRun(), Err: why}
}

// over counts an attempt that is over on a connection, and reports whether the Call is, too.
func (a *attempts[C]) over(c C, err error) (_ error, over bool) {
	if err == nil && !a.further && a.Tried == nil {
		return nil, true
	}
	ce, failed := errors.AsType[*oncrpc.CallError](err)
	if a.Tried != nil {
		a.Tried(a.ctx, c, a.call, ce)
	}
	if a.tries.MayHaveRun() && (!failed || ce.MayHaveRun) {
		a.again.Add(1)
		if a.Resent != nil {
			a.Resent(c, a.call, a.before)
		}
	}
	a.further = true
	if !failed {
		return err, true
	}
	a.sent = ce.MayHaveRun
	a.made++
	retried := a.tries.Failed(machine.TryFailure{
		MayHaveRun: ce.MayHaveRun, Up: c.Err() == nil,
		Lasting: a.Lasting(a.ctx, a.call, ce) || a.made == a.Most,
		Turns:   func() bool { return a.Turns != nil && a.Turns(c, ce.Err) },
	})
	ce.MayHaveRun, a.before = a.tries.MayHaveRun(), ce.Err
	return ce, !retried
}

// ended is called when a Call that was submitted is over on its connection.
func (a *attempts[C]) ended(reply *oncrpc.Reply, err error) {
	c := a.conn
	a.Source.Release(c)
	if err, over := a.over(c, err); over {
		a.finish(reply, err)
		return
	}
	a.goOn()
}

// goOn makes the Call on a goroutine.
func (a *attempts[C]) goOn() {
	r := a.Retrier
	r.mu.Lock()
	r.running++
	r.mu.Unlock()
	go func() {
		defer r.leave()
		if at := a.call.Deadline; !at.IsZero() {
			var cancel context.CancelFunc
			a.ctx, cancel = context.WithDeadline(a.ctx, at)
			defer cancel()
		}
		reply, err := a.run()
		returned := false
		defer func() {
			if !returned {
				panicked := oncrpc.Panicked(recover())
				slog.Error("oncrpc: a done function of Submit panicked", "panic", panicked.Value, "stack", panicked.Frames())
			}
		}()
		a.finish(reply, err)
		returned = true
	}()
}

// leave counts a goroutine less. It is deferred, since a done function may exit the goroutine.
func (r *Retrier[C]) leave() {
	r.mu.Lock()
	if r.running--; r.running == 0 {
		r.idle.Broadcast()
	}
	r.mu.Unlock()
}

// finish keeps the attempts for a later Call, and calls done.
func (a *attempts[C]) finish(reply *oncrpc.Reply, err error) {
	done := a.done
	a.recycle()
	done(reply, err)
}

// recycle keeps the attempts for a later Call.
func (a *attempts[C]) recycle() {
	r := a.Retrier
	*a = attempts[C]{finished: a.finished}
	r.pool.Put(a)
}
