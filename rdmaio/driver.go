package rdmaio

import (
	"cmp"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// driver brings events to the engine and carries out its effects. The mutex guards only the queue:
// it is not held while the engine runs, nor across a call of the provider, a handler or other code.
// A goroutine that brings an event while none runs the engine becomes the runner, and serves all
// events that arrive meanwhile, so that posts of many callers are sent together. All others queue
// their events and leave.
type driver struct {
	mu      sync.Mutex
	idle    sync.Cond // running became false
	queue   []engine.Event
	spare   []engine.Event // the last batch, empty again: the next queue
	look    bool           // completions may be waiting
	running bool

	// True while the completion queue of Receives, or that of the send queue, will notify of its
	// next completion.
	armed, sendsArmed bool

	stopped bool
	busy    int // Requests delivered and not released; the runner's, or guarded by mu without one

	unanswered atomic.Int64 // Requests that handlers have

	draining    atomic.Bool // handlers get no more Requests
	heard       atomic.Bool // a handler has had a Request
	drainPosted bool        // EventDrain was posted
	stats       engine.Stats

	// The runner's.
	engine *engine.Engine
	wcs    [32]verbs.WC
	events []engine.Event
	await  bool // Effects.Await: completions of the send queue are awaited
	timer  *time.Timer
	timing atomic.Bool   // the timer is running
	due    time.Duration // what it is set to, since Conn.start
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

// postCall posts a Call. While others are in progress, their callers are likely to bring more, and
// postTogether waits for them.
func (c *Conn) postCall(ev engine.Event) {
	if cap(c.slots)-len(c.slots) == 1 {
		c.post(ev)
		return
	}
	c.postTogether(ev)
}

// postReply posts the answer to a Request. While handlers have other Requests, more answers are
// likely, and postTogether waits for them.
func (c *Conn) postReply(r *Request) {
	ev := engine.Event{Kind: engine.EventReply, Request: r.req}
	if c.unanswered.Add(-1) == 0 {
		c.post(ev)
		return
	}
	c.postTogether(ev)
}

// postTogether queues an event, and lets other goroutines run before this one runs the engine, so
// that one post, and one write, takes all their events. A runner takes the event along meanwhile.
// So only this goroutine waits to be scheduled again, and no other waits for it.
func (c *Conn) postTogether(ev engine.Event) {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return
	}
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

// notify is called by the completion queue of Receives. It runs on a goroutine of the provider, or
// on that of a poster. That may be our own: then the runner is further up its stack.
func (c *Conn) notify() { c.arrived(&c.armed) }

// notifySent is called by the completion queue of the send queue.
func (c *Conn) notifySent() { c.arrived(&c.sendsArmed) }

func (c *Conn) arrived(armed *bool) {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return
	}
	*armed, c.look = false, true
	c.run()
}

// lost is the queue pair's Notify.
func (c *Conn) lost() { c.post(engine.Event{Kind: engine.EventBroken, Err: c.qp.Err()}) }

// rounds is the number of times that a runner looks for more events before it hands over, so that a
// caller is not delayed without bound.
const rounds = 64

// run serves events until there are none, unless another goroutine is the runner. It is called with
// mu locked, and returns with it unlocked.
func (c *Conn) run() {
	if c.running || c.engine == nil {
		c.mu.Unlock()
		return
	}
	c.running = true
	if c.serve(rounds) {
		// Under constant load a new goroutine continues, and ends when the queue is empty. running
		// remains true until then, and stop waits for that.
		go func() {
			c.mu.Lock()
			c.serve(-1)
		}()
	}
}

// serve is the runner's loop. It returns false when the queue is empty: there is no runner then. It
// returns true after the given rounds, and the caller must have it continued. It is called with mu
// locked, and returns with it unlocked.
func (c *Conn) serve(rounds int) (more bool) {
	for ; len(c.queue) > 0 || c.look; rounds-- {
		if rounds == 0 {
			c.mu.Unlock()
			return true
		}
		batch, look := c.queue, c.look
		c.queue, c.spare, c.look = c.spare[:0], nil, false
		arm, armSends := look && !c.armed, c.await && !c.sendsArmed
		c.armed, c.sendsArmed = c.armed || arm, c.sendsArmed || armSends
		c.mu.Unlock()
		events, again := c.events[:0], false
		if look {
			events, again = c.gather(events, arm, armSends)
		}
		if len(events) == 0 {
			c.step(batch)
		} else {
			events = append(events, batch...)
			c.step(events)
			clear(events)
			c.events = events
		}
		clear(batch)
		c.mu.Lock()
		c.spare = batch[:0]
		c.look = c.look || again || c.await && !c.sendsArmed
	}
	c.running = false
	faults := c.updateStats()
	drained := c.draining.Load() && c.busy == 0 && !c.drainPosted
	c.drainPosted = c.drainPosted || drained
	c.idle.Broadcast()
	c.mu.Unlock()
	if faults != nil {
		c.emit(faults)
	}
	if drained {
		c.postDrain()
	}
	return false
}

// gather appends the completions of both queues. It arms a queue, if needed, before it polls it, so
// that it misses nothing (see verbs.CompletionQueue). The send queue's is armed only while its
// completions are awaited, which is rare. Otherwise they are polled along with Receives. again
// reports that there may be more.
func (c *Conn) gather(events []engine.Event, arm, armSends bool) (_ []engine.Event, again bool) {
	var err error
	if armSends {
		err = c.sendCQ.Arm(false)
	}
	if arm && err == nil {
		err = c.cq.Arm(false)
	}
	n, got := 0, 0
	if err == nil {
		n, err = c.sendCQ.Poll(c.wcs[:])
	}
	if err == nil && n < len(c.wcs) {
		got, err = c.cq.Poll(c.wcs[n:])
		n += got
	}
	for i := range n {
		ev := engine.Event{Kind: engine.EventCompletion, WC: &c.wcs[i]}
		if s := ev.WC.Status; s != verbs.StatusSuccess && s != verbs.StatusFlushed {
			ev.Kind, ev.Err = engine.EventBroken, c.cause(ev.WC.Err())
			if i >= n-got {
				ev.WC = nil // of a Receive
			}
		}
		events = append(events, ev)
	}
	if err != nil {
		return append(events, engine.Event{Kind: engine.EventBroken, Err: err}), false
	}
	return events, n == len(c.wcs)
}

// step runs the engine and carries out its effects in the order that engine.Effects gives.
func (c *Conn) step(events []engine.Event) {
	f := c.engine.Step(time.Since(c.start), events)
	c.await = f.Await
	if len(f.Recvs) > 0 {
		if _, err := c.qp.PostRecv(f.Recvs); err != nil {
			_ = c.refused(err)
		}
	}
	if len(f.Sends) > 0 {
		if _, err := c.qp.PostSend(f.Sends); err != nil {
			err = c.refused(err)
			for _, r := range f.Release {
				r.Err = cmp.Or(r.Err, err) // its answer may be among them
			}
		}
	}
	if f.Fault != nil {
		c.log.Warn("rdmaio: a message broke a rule", "queue_pair", c.qp.Num(), "reason", translate(f.Fault))
	}
	if f.Fail != nil {
		why := translate(f.Fail)
		// When this returns no memory is touched any more for this connection.
		_ = verbs.Disconnect(c.qp, reason(why)) // there is no remedy if it fails
		c.ended(why)
		c.cancel(why)
		c.emitDown()
		c.failWaiting(why)
		c.dropWaiting()
	}
	for _, b := range f.Return {
		c.freeSendBuffer(b)
	}
	for _, r := range f.Assemble {
		c.queueAssembly(r)
	}
	if c.chunks.asks { // more was delivered, maybe
		c.grantWaiting()
	}
	for _, r := range f.Deliver {
		c.deliver(r)
	}
	for _, call := range f.Done {
		call.Owner.(*slot).done <- struct{}{}
	}
	for _, l := range f.Settled {
		c.dropLeftover(l.(*leftover))
	}
	for _, r := range f.Release {
		c.release(r)
	}
	if f.WantBuffers > 0 {
		c.growSendBuffers(f.WantBuffers)
	}
	if f.Deadline > 0 {
		c.wake(f.Deadline)
	}
}

// reason returns what the peer is given for the end of a connection: whether it was at fault.
func reason(why error) verbs.DisconnectReason {
	var fault *Fault
	switch {
	case errors.Is(why, ErrTimeout), errors.Is(why, ErrNoDone):
		return verbs.ReasonTime
	case errors.Is(why, ErrTooManyErrors), errors.Is(why, ErrInvalidated), errors.As(why, &fault):
		return verbs.ReasonRule
	}
	return verbs.ReasonDone
}

// ended logs why a connection is gone. Orderly closes are logged at Debug; for transport failures
// the provider's log has the details.
func (c *Conn) ended(why error) {
	for _, ours := range []error{ErrTimeout, ErrTooManyErrors, ErrInvalidated, ErrNoDone, engine.ErrInternal} {
		if errors.Is(why, ours) {
			c.ends.Warn("rdmaio: a connection was given up", "queue_pair", c.qp.Num(), "reason", why)
			return
		}
	}
	c.set.Logger.Debug("rdmaio: connection ended", "queue_pair", c.qp.Num(), "reason", why)
}

// refused ends the connection because the provider refused a post with err, and returns the cause.
func (c *Conn) refused(err error) error {
	err = c.cause(err)
	c.post(engine.Event{Kind: engine.EventBroken, Err: err})
	return err
}

// cause returns why the queue pair failed, after a completion or a post has shown that it did. A
// status does not give the message, its size, or the side at fault. Disconnect waits for a failure
// in progress. If there is none, failure itself is the cause.
func (c *Conn) cause(failure error) error {
	_ = c.qp.Disconnect() // the connection ends in any case
	if why := c.qp.Err(); why != nil && !errors.Is(why, verbs.ErrDisconnected) {
		return why
	}
	return failure
}

// wake sets the timer, unless it is set to an earlier time. If the deadline has moved to a later
// time, the engine asks for that when the timer fires. So a busy connection seldom sets the timer.
func (c *Conn) wake(at time.Duration) {
	if c.timing.Load() && c.due <= at {
		return
	}
	c.timing.Store(true)
	c.due = at
	in := at - time.Since(c.start)
	if c.timer == nil {
		c.timer = time.AfterFunc(in, func() {
			c.timing.Store(false)
			c.mu.Lock()
			c.look = true // completed work is not late
			c.mu.Unlock()
			c.post(engine.Event{Kind: engine.EventTimer})
		})
		return
	}
	c.timer.Reset(in)
}

// stop waits until the engine, already ended, has no more effects, and prevents further runs.
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
