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
	look    bool           // completions may be waiting
	running bool

	// The completion queues will tell when something comes: that of Receives, and that of the send queue.
	armed, sendsArmed bool

	stopped bool
	busy    int // Requests delivered and not released; the runner's, and everybody's while there is none

	unanswered atomic.Int64 // Requests that handlers have

	draining    atomic.Bool // there are to be no more of them
	heard       atomic.Bool // there were some
	drainPosted bool        // EventDrain was posted
	stats       engine.Stats

	// The runner's.
	engine *engine.Engine
	wcs    [32]verbs.WC
	events []engine.Event
	await  bool // somebody waits for the send queue
	timer  *time.Timer
	timing atomic.Bool   // the timer is running
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

// postCall posts a Call. With others in progress, their callers are likely to bring one too.
func (c *Conn) postCall(ev engine.Event) {
	if cap(c.slots)-len(c.slots) == 1 {
		c.post(ev)
		return
	}
	c.postTogether(ev)
}

// postReply posts the answer to a Request. With others at handlers, these are likely to be answered too.
func (c *Conn) postReply(r *Request) {
	ev := engine.Event{Kind: engine.EventReply, Request: r.req}
	if c.unanswered.Add(-1) == 0 {
		c.post(ev)
		return
	}
	c.postTogether(ev)
}

// postTogether posts an event, and lets other goroutines run before this one runs the engine: so one post (and
// with it one write) takes all that they bring. The event is in the queue meanwhile, so whoever runs the engine takes it
// along: only this goroutine waits to be scheduled again, and for no more than itself.
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

// notify is that of the completion queue of Receives. It runs on a goroutine of the provider, or on
// that of whoever posted, maybe our own: then the runner is further up its stack.
func (c *Conn) notify() { c.arrived(&c.armed) }

// notifySent is that of the completion queue of the send queue.
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

// gather appends what the completion queues have. They are armed first, if they are not, and looked into then, so that
// nothing is missed (see verbs.CompletionQueue). That of the send queue is armed only while somebody waits for it: mostly
// nobody does, and what is in it comes along with what the peer has sent. again says that there may be more.
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

// step runs the engine and does what it says, in that order.
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
		_ = verbs.Disconnect(c.qp, reason(why)) // has no way to fail that we could do anything about
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

// ended tells why a connection is gone. Of those that a peer or its owner ends nobody needs to know, and of broken
// ones the provider tells more.
func (c *Conn) ended(why error) {
	for _, ours := range []error{ErrTimeout, ErrTooManyErrors, ErrInvalidated, ErrNoDone, engine.ErrInternal} {
		if errors.Is(why, ours) {
			c.ends.Warn("rdmaio: a connection was given up", "queue_pair", c.qp.Num(), "reason", why)
			return
		}
	}
	c.set.Logger.Debug("rdmaio: connection ended", "queue_pair", c.qp.Num(), "reason", why)
}

// refused ends the connection for a post that the provider did not take, and returns why.
func (c *Conn) refused(err error) error {
	err = c.cause(err)
	c.post(engine.Event{Kind: engine.EventBroken, Err: err})
	return err
}

// cause returns why the queue pair failed, where a completion or a post shows that it did: a status
// names neither the message nor its size, nor whose fault it was. Disconnect waits for an end that has begun; if
// none has, the failure itself is the cause.
func (c *Conn) cause(failure error) error {
	_ = c.qp.Disconnect() // the connection ends in any case
	if why := c.qp.Err(); why != nil && !errors.Is(why, verbs.ErrDisconnected) {
		return why
	}
	return failure
}

// wake arms the timer if it is not, or for later. A deadline that moved later since is
// seen when it fires: so a busy connection touches the timer once in a while only.
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
			c.look = true // what is complete is not late
			c.mu.Unlock()
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
