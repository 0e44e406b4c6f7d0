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
		c.line.remove(p)
	} else {
		c.leave()
	}
	if p.finished == nil {
		p.done <- struct{}{}
		return
	}
	c.finished.push(p)
}

// leave gives the place of a Call to the first one that waits. c.conn.mu must be held.
func (c *caller) leave() {
	next := c.line.first
	if next == nil || c.conn.err != nil {
		c.places--
		return
	}
	next.waits = false
	c.line.remove(next)
	c.conn.enqueue(&next.out)
}

// deliver runs the functions of the Calls that are finished, unless another goroutine does. The
// connection's mu must not be held.
func (c *caller) deliver() {
	c.conn.mu.Lock()
	mine := c.finished.first != nil && !c.delivers
	c.delivers = c.delivers || mine
	c.conn.mu.Unlock()
	if mine {
		c.runAll()
	}
}

// runAll runs the functions until all have run. delivers is set.
func (c *caller) runAll() {
	for {
		for p := c.batch.first; p != nil; p = c.batch.first {
			c.batch.remove(p)
			c.run(p)
		}
		c.conn.mu.Lock()
		c.batch, c.finished = c.finished, pendings{}
		if c.batch.first == nil {
			c.delivers = false
			if c.conn.err != nil {
				c.conn.wake.Broadcast() // see finish
			}
			c.conn.mu.Unlock()
			return
		}
		c.conn.mu.Unlock()
	}
}

// run runs the function of a Call. If it panics, or exits its goroutine, the connection is closed;
// in the latter case another goroutine runs the functions that are left.
func (c *caller) run(p *pending) {
	finished := p.finished
	reply, err := c.result(p)
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		err := oncrpc.Panicked(v)
		c.conn.set.faults.Error("tcp: a done function of Submit panicked, its connection is closed",
			"peer", c.conn.RemoteAddr(), "panic", err.Value, "stack", err.Frames())
		c.conn.fail(err)
		if v == nil { // it exits the goroutine
			go c.runAll()
		}
	}()
	finished(reply, err)
	returned = true
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

// pendings is a list of Calls, first come, first served.
type pendings struct{ first, last *pending }

// push appends a Call.
func (l *pendings) push(p *pending) {
	p.prev, p.next = l.last, nil
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
}

// remove removes a Call from any place.
func (l *pendings) remove(p *pending) {
	if p.prev == nil {
		l.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.prev, p.next = nil, nil
}
