package rdmaio

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// driver brings events to the engine and carries out what it says. The mutex
// guards the queue only: it is never held while the engine runs, nor across a call of
// the provider, a handler or anything else. Who finds nobody running becomes the
// runner, and serves all events that come meanwhile (so posts of many callers
// go out together); all others put theirs in the queue and leave.
type driver struct {
	mu      sync.Mutex
	idle    sync.Cond // running became false
	queue   []engine.Event
	spare   []engine.Event // the queue before, when it is empty again
	poll    bool           // completions may be waiting
	running bool
	stopped bool
	busy    int // Requests delivered and not released

	draining bool // and there are to be no more
	stats    engine.Stats

	// The runner's.
	engine *engine.Engine
	wcs    [32]verbs.WC
	events []engine.Event
	timer  *time.Timer
	armed  atomic.Bool   // the timer is running
	due    time.Duration // for when
}

func (d *driver) init() { d.idle.L = &d.mu }

// post brings an event.
func (c *Conn) post(ev engine.Event) {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return
	}
	c.queue = append(c.queue, ev)
	c.run()
}

// postCall brings a Call. With others in progress, their callers are likely to bring one too: before this one runs the
// engine it lets other goroutines run, and one post (and with it one write) takes all that came.
// The event is in the queue meanwhile, so whoever runs the engine takes it along: only its own
// caller waits to be scheduled again, and for no more than itself.
func (c *Conn) postCall(ev engine.Event) {
	if cap(c.slots)-len(c.slots) == 1 {
		c.post(ev)
		return
	}
	c.mu.Lock()
	c.queue = append(c.queue, ev)
	if !c.running {
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	if len(c.queue) == 0 {
		c.mu.Unlock()
		return
	}
	c.run()
}

// notify is the completion queue's. It runs on a goroutine of the provider, or on
// that of whoever posted, maybe our own: then the runner is further up its stack.
func (c *Conn) notify() {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return
	}
	c.poll = true
	c.run()
}

// lost is the queue pair's Notify.
func (c *Conn) lost() { c.post(engine.Event{Kind: engine.EventBroken, Err: c.qp.Err()}) }

// rounds is how often a runner looks for more before it hands over: it has
// business of its own.
const rounds = 64

// run serves events until there are none, unless someone else does. It is
// called with mu locked, and returns with it unlocked.
func (c *Conn) run() {
	if c.running || c.engine == nil {
		c.mu.Unlock()
		return
	}
	c.running = true
	if c.serve(rounds) {
		// Under constant load only: a goroutine serves on, and ends when it finds
		// nothing to do. running remains true until then, which is what stop waits for.
		go func() {
			c.mu.Lock()
			c.serve(-1)
		}()
	}
}

// serve is the runner's loop; false if it came to the end, where mu is unlocked
// and nobody running, true if it had enough. mu is locked before and unlocked after.
func (c *Conn) serve(rounds int) (more bool) {
	for ; len(c.queue) > 0 || c.poll; rounds-- {
		if rounds == 0 {
			c.mu.Unlock()
			return true
		}
		batch, poll := c.queue, c.poll
		c.queue, c.spare, c.poll = c.spare[:0], nil, false
		c.mu.Unlock()
		if len(batch) > 0 {
			c.step(batch)
			clear(batch)
		}
		if poll {
			c.drain()
		}
		c.mu.Lock()
		c.spare = batch[:0]
	}
	c.running = false
	c.stats = c.engine.Stats()
	c.idle.Broadcast()
	c.mu.Unlock()
	return false
}

// drain takes what the completion queue has, in the way that misses nothing
// (see verbs.CompletionQueue).
func (c *Conn) drain() {
	for armed := false; ; {
		n, err := c.cq.Poll(c.wcs[:])
		switch {
		case err != nil:
			c.step([]engine.Event{{Kind: engine.EventBroken, Err: err}})
			return
		case n > 0:
			c.events = c.events[:0]
			for i := range n {
				c.events = append(c.events, engine.Event{Kind: engine.EventCompletion, WC: c.wcs[i]})
			}
			c.step(c.events)
		case armed:
			return
		default:
			if err := c.cq.Arm(false); err != nil {
				c.step([]engine.Event{{Kind: engine.EventBroken, Err: err}})
				return
			}
			armed = true
		}
	}
}

// step runs the engine and does what it says, in that order.
func (c *Conn) step(events []engine.Event) {
	f := c.engine.Step(time.Since(c.start), events)
	if len(f.Recvs) > 0 {
		if _, err := c.qp.PostRecv(f.Recvs); err != nil {
			c.refused(err)
		}
	}
	if len(f.Sends) > 0 {
		if _, err := c.qp.PostSend(f.Sends); err != nil {
			c.refused(err)
		}
	}
	if f.Fail != nil {
		// When this returns no memory is touched any more for this connection.
		_ = c.qp.Disconnect() // has no way to fail that we could do anything about
		c.set.Logger.Debug("rdmaio: connection ended", "queue_pair", c.qp.Num(), "reason", f.Fail)
		c.cancel(f.Fail)
		c.desert(f.Fail)
	}
	for _, b := range f.Return {
		c.giveBack(b)
	}
	for _, r := range f.Sinks {
		c.sink(r)
	}
	for _, r := range f.Deliver {
		c.deliver(r)
	}
	for _, call := range f.Done {
		call.Owner.(*slot).done <- struct{}{}
	}
	for _, r := range f.Release {
		c.release(r)
	}
	if f.Borrow > 0 {
		c.lend(f.Borrow)
	}
	if f.Deadline > 0 {
		c.wake(f.Deadline)
	}
}

// refused deals with a post that the provider did not take. If the connection
// has just ended, and lost is still to be called, that is the reason to tell.
func (c *Conn) refused(err error) {
	if why := c.qp.Err(); why != nil {
		err = why
	}
	c.post(engine.Event{Kind: engine.EventBroken, Err: err})
}

// wake arms the timer if it is not, or for later. A deadline that moved later since is
// seen when it fires: so a busy connection touches the timer once in a while only.
func (c *Conn) wake(at time.Duration) {
	if c.armed.Load() && c.due <= at {
		return
	}
	c.armed.Store(true)
	c.due = at
	in := at - time.Since(c.start)
	if c.timer == nil {
		c.timer = time.AfterFunc(in, func() {
			c.armed.Store(false)
			c.post(engine.Event{Kind: engine.EventTimer})
		})
		return
	}
	c.timer.Reset(in)
}

// stop waits until the engine, already ended, has nothing left to say, and lets nobody run it again.
func (d *driver) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.running || d.busy > 0 {
		d.idle.Wait()
	}
	d.stopped = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
