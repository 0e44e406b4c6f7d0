package tcp

import (
	"context"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/inflight"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

var _ oncrpc.Submitter = (*Conn)(nil)

// Submit implements oncrpc.Submitter. On an accepted connection it needs AllowReverse. Calls that
// are submitted in done functions leave in one write, after the last of the replies that one read
// has brought.
func (c *Conn) Submit(ctx context.Context, call *oncrpc.Call, done func(*oncrpc.Reply, error)) error {
	if err := oncrpc.CheckSubmit(ctx, call, done); err != nil {
		return err
	}
	p, err := c.prepare(ctx, call)
	if err != nil {
		return err
	}
	p.finished = done
	if err := c.begin(ctx, p); err != nil {
		return c.refused(p, err)
	}
	return nil
}

// settle gives back a Call's memory when it is over and its message is not being written. The
// connection's mu must be held.
func (p *pending) settle() {
	if !p.over || p.ended || p.out.state == writing {
		return
	}
	p.ended = true
	c := p.caller
	if p.waits {
		p.waits = false
		c.line.Remove(&p.linked)
	} else {
		c.leave()
	}
	if p.finished == nil {
		p.done <- struct{}{}
		return
	}
	c.finished.Push(p, &p.linked)
}

// leave gives the place of a Call to the first one that waits. c.conn.mu must be held.
func (c *caller) leave() {
	next := c.line.First()
	if next == nil || c.conn.err != nil {
		c.places--
		return
	}
	next.waits = false
	c.line.Remove(&next.linked)
	c.send(next)
}

// deliver runs the functions of the Calls that are finished, unless another goroutine does. The
// connection's mu must not be held.
func (c *caller) deliver() { c.finished.Deliver() }

// run runs the function of a Call.
func (c *caller) run(p *pending) {
	finished := p.finished
	reply, err := c.result(p)
	finished(reply, err)
}

// faulted closes the connection, because a function has panicked with v or exited its goroutine.
func (c *caller) faulted(v any) {
	err := oncrpc.Panicked(v)
	c.conn.set.faults.Error("tcp: a done function of Submit panicked, its connection is closed",
		"peer", c.conn.RemoteAddr(), "panic", err.Value, "stack", err.Frames())
	c.conn.fail(err)
}

// allRan is called when all functions have run. c.conn.mu must be held.
func (c *caller) allRan() {
	if c.conn.err != nil {
		c.conn.wake.Broadcast() // see finish
	}
}

// endsWith gives up the Calls of a context that is done.
func (c *caller) endsWith(of *inflight.Context[pending]) {
	c.conn.mu.Lock()
	for p := of.First(); p != nil; p = of.First() {
		c.abandon(p, of.Err())
	}
	c.conn.mu.Unlock()
	c.deliver()
}

// expire gives up the Calls whose deadlines have passed.
func (c *caller) expire() {
	c.conn.mu.Lock()
	for p := c.deadlines.Expired(time.Now()); p != nil; p = c.deadlines.Expired(time.Now()) {
		c.abandon(p, context.DeadlineExceeded)
	}
	c.conn.mu.Unlock()
	c.deliver()
}
