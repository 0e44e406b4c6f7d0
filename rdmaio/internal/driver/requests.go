package driver

import (
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// requests counts the Requests of the Owner. It says when a connection that drains can be closed.
//
//	open ── StartDrain ──> draining ── after the last Request ──> posted
type requests struct {
	busy       int          // begun and not ended; the runner's, or guarded by mu without one
	unanswered atomic.Int64 // begun and not answered
	begun      atomic.Bool  // there was one
	draining   atomic.Bool  // no more are begun
	reason     error        // for EventDrain
	posted     bool         // EventDrain was posted, or is about to be
}

// begin counts a Request, unless the connection drains.
func (q *requests) begin() bool {
	if q.draining.Load() {
		return false
	}
	q.busy++
	q.unanswered.Add(1)
	if !q.begun.Load() {
		q.begun.Store(true)
	}
	return true
}

// drain begins to drain. It reports whether there is no Request, which only the caller knows for
// sure: running says that there is a runner, which may be about to begin or end one.
func (q *requests) drain(why error, running bool) (idle bool) {
	q.reason = why
	q.draining.Store(true)
	idle = !running && q.busy == 0
	q.posted = q.posted || idle
	return idle
}

// drained reports whether the runner must call PostDrain, at most once. Driver.mu must be held.
func (q *requests) drained() bool {
	if q.draining.Load() && q.busy == 0 && !q.posted {
		q.posted = true
		return true
	}
	return false
}

// BeginRequest counts a Request that is about to be delivered. It returns false if the connection
// drains, and the Request must not be delivered. Only the Owner may call it, from Effects.
func (d *Driver) BeginRequest() bool { return d.requests.begin() }

// EndRequest counts out a Request that BeginRequest counted. Only the Owner may call it, from
// Effects.
func (d *Driver) EndRequest() { d.requests.busy-- }

// Unanswered returns the number of Requests that BeginRequest counted and that have no answer.
func (d *Driver) Unanswered() int { return int(d.requests.unanswered.Load()) }

// HadRequest reports whether BeginRequest has ever counted a Request.
func (d *Driver) HadRequest() bool { return d.requests.begun.Load() }

// PostReply posts the answer to a Request that BeginRequest counted. While others are not answered,
// more answers are likely, and PostTogether waits for them. If more are certain, because the
// caller's goroutine runs the connection's next handler, another goroutine runs the engine when
// this one waits, with all answers that were posted by then.
func (d *Driver) PostReply(r *engine.Request, more bool) {
	ev := engine.Event{Kind: engine.EventReply, Request: r}
	switch {
	case d.requests.unanswered.Add(-1) == 0:
		d.Post(ev)
	case more:
		d.Queue(ev)
	default:
		d.PostTogether(ev)
	}
}

// StartDrain makes BeginRequest return false from now on. It reports whether all Requests are done:
// then the caller must call PostDrain. Otherwise the runner does so after the last one. why is the
// reason with which the connection is closed.
func (d *Driver) StartDrain(why error) (idle bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests.drain(why, d.running)
}

// PostDrain makes the engine close the connection when everything that was posted has completed.
func (d *Driver) PostDrain() {
	d.mu.Lock()
	why := d.requests.reason
	d.mu.Unlock()
	d.Post(engine.Event{Kind: engine.EventDrain, Err: why})
}
