package tcp

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/inflight"
	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// pending is a Call in flight.
type pending struct {
	caller   *caller
	out      message
	call     *oncrpc.Call
	waits    bool                       // for a place: it is in caller.line
	over     bool                       // there is a reply, or err
	ended    bool                       // done has its value, or it was put into caller.finished
	sent     bool                       // the peer may have received the Call, or a part of it
	err      error                      // nil: the reply is in call
	done     chan struct{}              // has room for one; of a Call that blocks
	finished func(*oncrpc.Reply, error) // of one that was submitted; nil: it blocks
	linked   inflight.Linked[pending]   // in caller.line or finished
	ctx      inflight.Watched[pending]
	due      inflight.Due[pending]
}

// newPending returns a pending for caller.pool.
func (c *caller) newPending() any {
	p := &pending{caller: c, done: make(chan struct{}, 1)}
	p.out.call = p
	return p
}

// caller makes Calls on a connection. The connection's mu guards what follows pool.
//
//	begin ──> waiting ──> a place ──> sent ──┬── reply ──────────────────────────────┐
//	             │                           ├── end: the connection is down ────────┤
//	             │                           └── abandon: context, deadline ─────────┤
//	             │                                  └──> abandoned, until a reply    │
//	             └── end ──> over <──────────────────────────────────────────────────┘
//
// A Call that is over wakes its caller, or goes to finished. Whatever ends Calls calls deliver
// afterwards without the lock, or is followed by the goroutine that reads, which does.
type caller struct {
	conn      *Conn
	ready     atomic.Bool // this side may make Calls
	pool      sync.Pool   // of *pending; its own, for the channels of testing/synctest
	calls     inflight.ByXID[pending]
	places    int                    // in use, of Config.MaxCalls
	line      inflight.List[pending] // those that wait for a place
	finished  inflight.Deliveries[pending]
	contexts  inflight.Contexts[pending]
	deadlines inflight.Deadlines[pending]
	abandoned xidSet
	cancels   cancels
	seen      machine.Vitals // Received counts records
}

// Call implements oncrpc.Carrier. On an accepted connection it needs AllowReverse.
func (c *Conn) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	p, err := c.prepare(ctx, call)
	if err != nil {
		return nil, err
	}
	if err := c.begin(ctx, p); err != nil {
		return nil, c.refused(p, err)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		c.giveUp(p, ctx.Err())
		<-p.done // comes at once: see interrupt
	}
	return c.result(p)
}

// result returns the result of a Call that is over, and keeps its pending for a later one.
func (c *caller) result(p *pending) (*oncrpc.Reply, error) {
	reply, err := &p.call.Reply, error(nil)
	if p.err != nil {
		reply, err = nil, &oncrpc.CallError{XID: p.call.XID(), MayHaveRun: p.sent, Err: p.err}
	}
	c.recycle(p)
	return reply, err
}

// prepare returns a pending for a Call.
func (c *caller) prepare(ctx context.Context, call *oncrpc.Call) (*pending, error) {
	err := oncrpc.CheckCall(call)
	if err != nil {
		return nil, err
	}
	switch size := call.Size(nil); {
	case ctx.Err() != nil:
		err = ctx.Err()
	case size > math.MaxInt32:
		err = fmt.Errorf("%w: %d bytes: a fragment has less than 2 GiB (RFC 5531 §11)", oncrpc.ErrMessage, size)
	case !c.ready.Load(): // RFC 8167 §6 has the rule for RDMA
		err = fmt.Errorf("%w before Conn.AllowReverse: call it when the upper layer knows that the peer serves them", oncrpc.ErrReverse)
	}
	if err != nil {
		return nil, &oncrpc.CallError{XID: call.XID(), Err: err}
	}
	p := c.pool.Get().(*pending)
	p.call, p.out.Message = call, call.Message
	return p, nil
}

// refused returns the error of a Call that did not begin.
func (c *caller) refused(p *pending, why error) error {
	xid := p.call.XID()
	c.recycle(p)
	return &oncrpc.CallError{XID: xid, Err: why}
}

// recycle keeps a pending for a later Call.
func (c *caller) recycle(p *pending) {
	p.call, p.finished, p.err = nil, nil, nil
	p.out.Message, p.out.state = oncrpc.Message{}, idle
	p.over, p.ended, p.sent = false, false, false
	c.pool.Put(p)
}

// begin makes a Call wait for a place, or queues it for the writer. One that was submitted is given
// up when ctx is done, and at its deadline.
func (c *caller) begin(ctx context.Context, p *pending) error {
	xid := p.call.XID()
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if c.conn.err != nil {
		return c.conn.err
	}
	if c.conn.plainOnly() {
		return fmt.Errorf("%w: the client has not begun TLS, and Config.TLS.Mode is TLSRequired", ErrTLS)
	}
	if c.calls.Get(xid) != nil || c.abandoned.has(xid) {
		return fmt.Errorf("%w: %#x", oncrpc.ErrXIDInUse, xid)
	}
	if c.calls.Put(xid, p); c.calls.Len() == 1 {
		c.conn.resume() // the connection must not stop reading
	}
	c.conn.cancels.outbox.Forget(xid) // of an earlier Call with this XID
	if p.finished != nil {
		c.contexts.Watch(ctx, p, &p.ctx)
		if at := p.call.Deadline; !at.IsZero() {
			c.deadlines.Add(at, p, &p.due)
		}
	}
	if c.places == c.conn.set.MaxCalls {
		p.waits = true
		c.line.Push(p, &p.linked)
		return nil
	}
	c.places++
	c.send(p)
	return nil
}

// send queues a Call that has a place. c.conn.mu must be held.
func (c *caller) send(p *pending) {
	if s := p.call.Steps; s != nil {
		s.Placed = time.Now()
	}
	c.conn.enqueue(&p.out)
}

// reply completes the Call that a record answers. It reports whether the Call keeps the record's
// memory.
func (c *caller) reply(xid uint32, rec []byte) (kept bool) {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if c.cancelReply(xid, rec) { // it says nothing of the Calls that wait: see vitals
		return false
	}
	c.seen.Received++
	p := c.calls.Get(xid)
	if p == nil || p.out.state < writing { // of a cancelled Call, or of none
		if !c.abandoned.remove(xid) {
			c.conn.counts.strayReplies++
		}
		return false
	}
	r := &p.call.Reply
	*r = oncrpc.Reply{Items: r.Items[:0]}
	if n := len(rec); n <= len(p.call.ReplyBuf) {
		r.Message = p.call.ReplyBuf[:n:n]
		copy(r.Message, rec)
	} else {
		r.Message, kept = rec, true
	}
	c.seen.Replied = true
	if s := p.call.Steps; s != nil {
		s.Answered = time.Now()
	}
	c.conclude(p, nil)
	return kept
}

// end finishes a Call without a reply. c.conn.mu must be held.
func (c *caller) end(p *pending, why error) {
	switch p.out.state {
	case queued:
		c.conn.out.queue.remove(&p.out)
	case writing, sent:
		p.sent = !hasNotRun(why)
	}
	c.conclude(p, why)
}

// conclude completes a Call that has its reply, or fails it. c.conn.mu must be held.
func (c *caller) conclude(p *pending, why error) {
	c.calls.Remove(p.call.XID())
	c.contexts.Forget(&p.ctx)
	c.deadlines.Remove(&p.due)
	p.over, p.err = true, why
	p.settle()
}

// abandon gives up a Call that has not come to its end, unless it is over. c.conn.mu must be held.
func (c *caller) abandon(p *pending, why error) {
	if !p.over {
		xid := p.call.XID()
		c.end(p, why)
		if p.sent {
			c.abandoned.add(xid)
			c.cancelCall(xid)
		}
	}
	if p.out.state == writing {
		c.conn.out.interrupt()
	}
}

// giveUp abandons a Call whose caller no longer waits. It runs no functions of other Calls: the
// caller may have locks that they take.
func (c *caller) giveUp(p *pending, why error) {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	c.abandon(p, why)
}
