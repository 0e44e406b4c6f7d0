package rdmaio

import (
	"context"
	"errors"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/inflight"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

var _ oncrpc.Submitter = (*Conn)(nil)

// Submit implements oncrpc.Submitter. The rules of Call apply; a Call beyond the credits waits as a
// record in memory, and nothing limits how many do. done runs on a goroutine of the connection,
// which does nothing else while it runs, and never within Submit. That is the goroutine that has
// read the reply, if the device has one for each connection (DeviceAttributes.ReaderNotifies).
// Calls that are submitted in done functions leave in one list of posts, after the last of the
// replies that came together.
//
// A Call that has to wait for something else than a credit and its reply has a goroutine: before
// the peer's version is known, when the memory windows of the queue pair or Config.MaxReplyMemory
// are used up, when the peer has refused its shape, and until its keys are invalid with a device
// that a peer can delay (verbs.Revoker).
func (c *Conn) Submit(ctx context.Context, call *Call, done func(*Reply, error)) error {
	if err := oncrpc.CheckSubmit(ctx, call, done); err != nil {
		return err
	}
	var end *CallEnd
	if c.set.Events != nil {
		end = c.caller.begun(call)
	}
	err := c.caller.submits.submit(ctx, call, done, end)
	if err == nil {
		return nil
	}
	err = &CallError{XID: call.XID(), Err: err}
	if end != nil {
		end.emit(nil, err)
	}
	return err
}

// allow permits n Calls at a time.
func (c *submitter) allow(n int) {
	c.slots.allow(n)
	c.slots.contexts.Done, c.slots.deadlines.Due = c.endsWith, c.expire
}

// submit gives a Call a slot, and begins it if there is a place.
func (c *submitter) submit(ctx context.Context, call *Call, done func(*Reply, error), end *CallEnd) error {
	if err := c.permitted(ctx); err != nil {
		return err
	}
	if terms := c.agreed.Load(); terms.known {
		if err := c.served(terms); err != nil {
			return err
		}
	}
	l := &c.slots
	l.mu.Lock()
	if l.lost != nil {
		l.mu.Unlock()
		return l.lost
	}
	s := l.unusedSlot()
	s.rpc, s.end = call, end
	if s.submit == nil {
		s.submit = new(submission)
	}
	s.submit.ctx, s.submit.done, s.submit.state = ctx, done, starting
	l.watch(s)
	waits := !l.place(s)
	if waits {
		s.submit.state = waiting
	}
	l.mu.Unlock()
	if waits {
		c.waits.Add(1)
		c.limitReached(LimitCredits)
		return nil
	}
	c.begin(s)
	return nil
}

// begin prepares and posts a Call that has a place. Another goroutine runs the engine: this one may
// have locks that functions of the upper layer take.
func (c *submitter) begin(s *slot) {
	placed(s.rpc)
	s.shape = shape{}
	s.reset()
	o := offering{caller: c.caller, slot: s, call: s.rpc, terms: c.agreed.Load(), now: true}
	if !o.terms.known || o.prepare(s.submit.ctx) != nil {
		c.block(s, nil)
		return
	}
	l := &c.slots
	l.mu.Lock()
	if s.submit.why != nil {
		l.mu.Unlock()
		c.block(s, nil)
		return
	}
	c.lone.submitted()
	sent(s.rpc)
	s.submit.state = posted
	c.driver.Queue(engine.Event{Kind: engine.EventCall, Call: &s.call})
	l.mu.Unlock()
	c.lone.resume()
}

// complete completes the Calls in answers. The runner of the engine calls it, and must not wait.
func (c *submitter) complete() {
	l := &c.slots
	l.mu.Lock()
	for _, s := range c.answers {
		s.submit.state = over // so that nothing gives it up any more
	}
	l.mu.Unlock()
	for _, s := range c.answers {
		c.lone.end()
		c.end(s)
	}
	clear(c.answers)
	c.answers = c.answers[:0]
}

// end completes a Call that has its answer.
func (c *submitter) end(s *slot) {
	cause := c.answered(s, s.submit.why)
	ok, err := c.concludeNow(s)
	if err != nil {
		cause = err
	}
	if !ok {
		c.block(s, cause)
		return
	}
	if cause = c.outcome(s, cause); cause == nil {
		c.report(s, nil, false)
	} else if _, refused := errors.AsType[*PeerError](cause); refused {
		c.block(s, cause) // it may be sent again in another shape
	} else {
		c.report(s, s.failed(cause), false)
	}
}

// report completes a Call, and begins the one that gets its place. If wake is true, another
// goroutine runs the functions that are due.
func (c *submitter) report(s *slot, err error, wake bool) {
	l := &c.slots
	l.mu.Lock()
	next := l.leave()
	l.report(s, err)
	if wake {
		c.wake()
	}
	l.mu.Unlock()
	c.beginNext(next)
}

// beginNext begins a Call that has waited for a place. It does nothing if s is nil.
func (c *submitter) beginNext(s *slot) {
	if s == nil {
		return
	}
	c.waited(s)
	c.begin(s)
}

// waited records how long a Call has waited for a place.
func (c *submitter) waited(s *slot) {
	if s.end != nil {
		s.end.Waited = time.Since(c.start) - s.end.Took
	}
}

// wake makes a goroutine of the driver run the functions that are due.
func (c *submitter) wake() { c.driver.Queue(engine.Event{Kind: engine.EventEffects}) }

// block gives a Call a goroutine, because it has to wait. Its state is starting, or over: then it
// has an answer, and cause is its error so far.
func (c *submitter) block(s *slot, cause error) {
	l := &c.slots
	l.mu.Lock()
	l.forget(s)
	answered := s.submit.state == over
	if !answered {
		cause = s.submit.why
	}
	s.submit.state = blocking
	l.mu.Unlock()
	go c.finish(s, answered, cause)
}

// finish makes a Call that has a place and maybe its answer.
func (c *submitter) finish(s *slot, answered bool, cause error) {
	ctx := s.submit.ctx
	if at := s.rpc.Deadline; !at.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, at)
		defer cancel()
	}
	switch err := c.conclude(s); {
	case err != nil:
		cause = err
	case answered:
		cause = c.outcome(s, cause)
	case cause == nil:
		if cause = c.settled(ctx); cause == nil {
			cause = c.attempt(ctx, s)
		}
	}
	c.report(s, c.goOn(ctx, s, cause), true)
}

// expire gives up the Calls whose deadlines have passed.
func (c *submitter) expire() {
	l := &c.slots
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := l.deadlines.Expired(time.Now()); s != nil; s = l.deadlines.Expired(time.Now()) {
		c.abandon(s, context.DeadlineExceeded)
	}
}

// endsWith gives up the Calls of a context that is done.
func (c *submitter) endsWith(of *inflight.Context[slot]) {
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	for s := of.First(); s != nil; s = of.First() {
		c.abandon(s, of.Err())
	}
}

// abandon gives up a Call that was submitted and has no answer. slots.mu must be held.
func (c *submitter) abandon(s *slot, why error) {
	c.slots.forget(s)
	switch s.submit.state {
	case waiting:
		c.drop(s, why)
		c.wake()
	case starting:
		s.submit.why = why
	case posted:
		s.submit.why = why
		c.driver.Queue(s.cancel())
	}
}

// drop fails a Call that waits for a place. slots.mu must be held.
func (c *submitter) drop(s *slot, why error) {
	c.waited(s)
	c.slots.line.remove(s)
	c.slots.report(s, &CallError{XID: s.rpc.XID(), Err: why})
}

// lose fails the Calls that wait for a place, because the connection is down. The runner of the
// engine calls it.
func (c *submitter) lose(why error) {
	l := &c.slots
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = why
	for s := l.line.first; s != nil; {
		next := s.next
		if s.state() == waiting {
			c.drop(s, why)
		}
		s = next
	}
}

// runFunctions runs the functions that are due, of Calls that are over. Only one goroutine at a
// time calls it. If a function exits that, it is called again.
func (c *submitter) runFunctions() {
	l := &c.slots
	for {
		for c.ran < len(c.running) {
			e := c.running[c.ran]
			c.ran++
			c.run(&e)
		}
		l.mu.Lock()
		for range c.running {
			l.returned()
		}
		clear(c.running)
		c.running, l.ends, c.ran = l.ends, c.running[:0], 0
		if len(c.running) == 0 {
			l.due.Store(false)
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
}

// run runs the function of a Call. If that panics, or exits its goroutine, the connection is
// closed.
func (c *submitter) run(e *ended) {
	reply := &e.call.Reply
	if e.err != nil {
		reply = nil
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		err := oncrpc.Panicked(recover())
		c.set.faults.Error("rdmaio: a done function of Submit panicked, its connection is closed",
			"peer", c.conn.RemoteAddr(), "queue_pair", c.qp.Num(), "panic", err.Value, "stack", err.Frames())
		c.fail(err)
	}()
	if e.end != nil {
		e.end.emit(reply, e.err)
	}
	e.done(reply, e.err)
	returned = true
}
