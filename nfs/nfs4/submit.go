package nfs4

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Submit makes a COMPOUND as Do does, and does not wait for it. done gets the error of Do, once. It
// may run before Submit returns, and runs where oncrpc.Submitter says: it must not block, and may
// submit COMPOUNDs. c belongs to the Session until then.
//
// A COMPOUND in flight has no goroutine. One that waits for anything but its reply has one: for a
// free slot, a session, or to be made again.
func (s *Session) Submit(ctx context.Context, c *Compound, done func(error)) {
	if !s.submit(ctx, c, done) {
		go func() { done(s.Do(ctx, c)) }()
	}
}

// submission is a COMPOUND that was submitted.
type submission struct {
	s        *Session
	c        *Compound
	at       *session
	ctx      context.Context
	sent     time.Time
	done     func(error)
	answered func(error) // finish, bound once
}

// submit begins a COMPOUND, unless it would have to wait.
func (s *Session) submit(ctx context.Context, c *Compound, done func(error)) bool {
	s.mu.Lock()
	at := s.now
	s.mu.Unlock()
	if at == nil || len(c.ops)+1 > at.limits.MaxOperations {
		return false
	}
	slot, seq, highest, ok := at.slots.try()
	if !ok {
		return false
	}
	sub := c.sub
	if sub == nil {
		sub = &submission{c: c}
		sub.answered = sub.finish
		c.sub = sub
	}
	sub.s, sub.at, sub.ctx, sub.sent, sub.done = s, at, ctx, time.Now(), done
	c.ctx.resent.Store(false)
	c.number(at, slot, seq, highest)
	s.prepare(ctx, c)
	if s.cfg.MaxWait > 0 {
		c.opt.Deadline = sub.sent.Add(s.cfg.MaxWait)
	}
	if err := s.nfs.SubmitAtMost(&c.ctx, nfs42.ProcCompound, (*arguments)(c), (*results)(c), &c.opt, c.most(), sub.answered); err != nil {
		sub.finish(err)
	}
	return true
}

// finish takes the end of the call.
func (sub *submission) finish(err error) {
	s, c, at, ctx, done := sub.s, sub.c, sub.at, sub.ctx, sub.done
	use, verdict, err := s.judge(at, c, c.ended(err))
	if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errTooLong, err)
	}
	sub.at, sub.ctx, sub.done = nil, nil, nil
	s.release(at, c.seq.SlotID, c.seq.SequenceID, use, sub.sent)
	if verdict == lost {
		s.lose(at)
		if c.ctx.resent.Load() && !c.repeatable(len(c.ops)) {
			verdict, err = settled, fmt.Errorf("%w: %w", ErrReplyLost, err)
		}
	}
	if verdict == settled {
		done(err)
		return
	}
	go func() {
		if verdict == again {
			if waited := s.pause(ctx, 0); waited != nil {
				done(errors.Join(err, waited))
				return
			}
		}
		done(s.Do(ctx, c))
	}()
}

// resends notes which COMPOUNDs a carrier sends again.
type resends struct{ oncrpc.Carrier }

// callContext is the context of a call, with the note.
type callContext struct {
	context.Context
	resent atomic.Bool
	call   *oncrpc.Call
	again  func(context.Context) (oncrpc.Message, error) // renew, bound once
}

// renew is Call.Renew.
func (c *callContext) renew(context.Context) (oncrpc.Message, error) {
	c.resent.Store(true)
	return c.call.Message, nil
}

// watch makes a call note that it is sent again.
func (c *callContext) watch(call *oncrpc.Call) {
	if c.again == nil {
		c.again = c.renew
	}
	c.call, call.Renew = call, c.again
}

// Call implements oncrpc.Carrier.
func (r resends) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if c, ok := ctx.(*callContext); ok {
		c.watch(call)
		ctx = c.Context
	}
	return r.Carrier.Call(ctx, call)
}

// Submit implements oncrpc.Submitter.
func (r resends) Submit(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	if c, ok := ctx.(*callContext); ok {
		c.watch(call)
		ctx = c.Context // which a carrier may keep longer than the call
	}
	return oncrpc.Submit(ctx, r.Carrier, call, done)
}
