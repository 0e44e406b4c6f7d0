package udp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/inflight"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// pending is a Call in progress. The Conn's mu guards it.
//
//	begin ──> waiting ──proceed: a place──> sent ──┬── reply ──────────────────────┐
//	             │                          ▲  │   ├── conclude: an error, Close ──┤
//	             │                 sendAgain└──┘   └── abandon: context, deadline ─┤
//	             └── conclude, abandon ────────────────────> over <────────────────┘
//
// A Call that is over wakes its caller, or goes to Conn.finished. Whatever ends Calls calls proceed
// afterwards without the lock.
type pending struct {
	call     *oncrpc.Call
	ctx      context.Context
	xid      uint32
	serial   uint64                     // another one each time when the memory is used again
	times    int                        // transmissions
	pause    time.Duration              // until the next one; zero: the Call is sent once
	waits    bool                       // for a place: it is in Conn.line
	renewing bool                       // a goroutine uses call
	over     bool                       // there is a reply, or err
	err      error                      // nil: the reply is in call
	done     chan struct{}              // has room for one; of a Call that blocks
	finished func(*oncrpc.Reply, error) // of one that was submitted; nil: it blocks
	linked   inflight.Linked[pending]   // in Conn.line or finished
	watched  inflight.Watched[pending]
	due      inflight.Due[pending]
	again    inflight.Due[pending]
}

func newPending() any { return &pending{done: make(chan struct{}, 1)} }

// Call implements oncrpc.Carrier. It sends the Call again until its reply comes, as
// Config.MinRetransmit says. A Call of more than MaxMessage bytes fails with ErrSize.
func (c *Conn) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if err := oncrpc.CheckCall(call); err != nil {
		return nil, err
	}
	p, err := c.begin(ctx, call, nil)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		c.mu.Lock()
		c.abandon(p, ctx.Err())
		c.mu.Unlock()
		go c.proceed() // not here: the caller may have locks
		<-p.done       // comes at once, or when Renew returns
	}
	return c.result(p)
}

// Submit implements oncrpc.Submitter. The rules of Call apply. Submit writes the datagram, if there
// is a place for the Call. A Call with Renew has a goroutine each time when it is sent again.
func (c *Conn) Submit(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	if err := oncrpc.CheckSubmit(ctx, call, done); err != nil {
		return err
	}
	_, err := c.begin(ctx, call, done)
	return err
}

// begin sends a Call for the first time, or makes it wait for a place. One that was submitted is
// given up when ctx is done, and at its deadline. Without a *oncrpc.CallError the Call has begun.
func (c *Conn) begin(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) (*pending, error) {
	xid := call.XID()
	err := checkSize(call)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, &oncrpc.CallError{XID: xid, Err: err}
	}
	p := c.pool.Get().(*pending)
	p.call, p.ctx, p.xid, p.finished, p.pause = call, ctx, xid, done, c.set.MinRetransmit
	if err := c.enter(p); err != nil {
		c.recycle(p)
		return nil, &oncrpc.CallError{XID: xid, Err: err}
	}
	return p, nil
}

// enter is begin for a pending. After an error the Call is not in progress.
func (c *Conn) enter(p *pending) error {
	c.mu.Lock()
	if err := c.Err(); err != nil {
		c.mu.Unlock()
		return err
	}
	if c.calls.Get(p.xid) != nil {
		c.mu.Unlock()
		return fmt.Errorf("%w: %#x", oncrpc.ErrXIDInUse, p.xid)
	}
	c.calls.Put(p.xid, p)
	c.serial++
	p.serial = c.serial
	if p.finished != nil {
		c.contexts.Watch(p.ctx, p, &p.watched)
		if at := p.call.Deadline; !at.IsZero() {
			c.deadlines.Add(at, p, &p.due)
		}
	}
	if c.places == c.set.MaxCalls {
		p.waits = true
		c.line.Push(p, &p.linked)
		c.mu.Unlock()
		return nil
	}
	d := c.first(p)
	c.mu.Unlock()
	if err := d.send(c.sock); err != nil && c.withdraw(d) {
		go c.proceed() // not here: the caller may have locks
		return err
	}
	return nil
}

// first gives a Call a place, and returns its first transmission. The lock must be held.
func (c *Conn) first(p *pending) datagram {
	c.places++
	if s := p.call.Steps; s != nil {
		s.Placed = time.Now()
	}
	return c.datagram(p)
}

// withdraw takes back a Call that could not be sent for the first time, and reports whether it was
// in progress still.
func (c *Conn) withdraw(d datagram) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.has(d) || d.of.times > 1 || d.of.renewing { // it is over, or sent again
		return false
	}
	c.remove(d.of)
	return true
}

// proceed sends the Calls that wait while there are places, and runs the functions of those that
// are over. The lock must not be held.
func (c *Conn) proceed() {
	for {
		c.mu.Lock()
		p := c.line.First()
		if p == nil || c.places == c.set.MaxCalls {
			c.mu.Unlock()
			break
		}
		p.waits = false
		c.line.Remove(&p.linked)
		d := c.first(p)
		c.mu.Unlock()
		c.transmit(d)
	}
	c.finished.Deliver()
}

// remove makes a Call one that is not in progress. The lock must be held.
func (c *Conn) remove(p *pending) {
	c.calls.Remove(p.xid)
	c.contexts.Forget(&p.watched)
	c.deadlines.Remove(&p.due)
	c.resends.Remove(&p.again)
	if !p.waits {
		c.places--
		return
	}
	p.waits = false
	c.line.Remove(&p.linked)
}

// conclude completes a Call that has its reply, or fails it. The lock must be held.
func (c *Conn) conclude(p *pending, why error) {
	c.remove(p)
	if s := p.call.Steps; s != nil && why == nil {
		s.Answered = time.Now()
	}
	p.over, p.err = true, why
	if !p.renewing {
		c.settle(p)
	}
}

// settle gives back the memory of a Call that is over. The lock must be held.
func (c *Conn) settle(p *pending) {
	if p.finished == nil {
		p.done <- struct{}{}
		return
	}
	c.finished.Push(p, &p.linked)
}

// abandon gives up a Call, unless it is over. The lock must be held.
func (c *Conn) abandon(p *pending, why error) {
	if !p.over {
		c.conclude(p, unanswered(why, p.times))
	}
}

// unanswered returns the error of a Call whose context ended when it had been sent so many times.
// Nothing says why a datagram has no answer.
func unanswered(why error, times int) error {
	if times == 0 || !errors.Is(why, context.DeadlineExceeded) {
		return why
	}
	return fmt.Errorf("%w: no answer to a Call that was sent %d times: the network loses datagrams, or the server is slow, or ignores Calls beyond its limits (Config.MaxRequests, MaxMemory and ReplyRate there)", why, times)
}

// result returns the result of a Call that is over, and keeps its pending for a later one.
func (c *Conn) result(p *pending) (*oncrpc.Reply, error) {
	reply, err := &p.call.Reply, error(nil)
	if p.err != nil {
		reply, err = nil, &oncrpc.CallError{XID: p.xid, MayHaveRun: p.times > 0, Err: p.err}
	}
	c.recycle(p)
	return reply, err
}

// recycle keeps a pending for a later Call. Its serial stays, for datagrams that are being written.
func (c *Conn) recycle(p *pending) {
	p.call, p.ctx, p.finished, p.err = nil, nil, nil, nil
	p.times, p.over = 0, false
	c.pool.Put(p)
}

// run runs the function of a Call.
func (c *Conn) run(p *pending) {
	finished := p.finished
	finished(c.result(p))
}

// faulted closes the Conn, because a function has panicked with v or exited its goroutine.
func (c *Conn) faulted(v any) {
	err := oncrpc.Panicked(v)
	c.set.faults.Error("udp: a done function of Submit panicked, its Conn is closed",
		"peer", c.RemoteAddr(), "panic", err.Value, "stack", err.Frames())
	c.down(err)
}

// endsWith gives up the Calls of a context that is done.
func (c *Conn) endsWith(of *inflight.Context[pending]) {
	c.mu.Lock()
	for p := of.First(); p != nil; p = of.First() {
		c.abandon(p, of.Err())
	}
	c.mu.Unlock()
	c.proceed()
}

// expire gives up the Calls whose deadlines have passed.
func (c *Conn) expire() {
	c.mu.Lock()
	for p := c.deadlines.Expired(time.Now()); p != nil; p = c.deadlines.Expired(time.Now()) {
		c.abandon(p, context.DeadlineExceeded)
	}
	c.mu.Unlock()
	c.proceed()
}

// receive completes the Call that a datagram answers.
func (c *Conn) receive(b []byte) {
	xid, typ, ok := oncrpc.Peek(b)
	c.mu.Lock()
	p := c.calls.Get(xid)
	if !ok || typ != oncrpc.MsgReply || p == nil || p.waits {
		c.stats.StrayReplies++
		c.mu.Unlock()
		return
	}
	r := &p.call.Reply
	*r = oncrpc.Reply{Items: r.Items[:0]}
	r.Message = append(p.call.ReplyBuf[:0:len(p.call.ReplyBuf)], b...)
	c.conclude(p, nil)
	c.mu.Unlock()
	c.proceed()
}

// fail fails the Calls that were sent.
func (c *Conn) fail(why error) {
	c.mu.Lock()
	c.calls.All(func(p *pending) {
		if !p.waits {
			c.conclude(p, why)
		}
	})
	c.mu.Unlock()
	c.proceed()
}
