package driver

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"

// BeginRequest counts a Request that is about to be delivered. It returns false if the connection
// drains, and the Request must not be delivered. Only the Owner may call it, from Effects.
func (d *Driver) BeginRequest() bool {
	if d.draining.Load() {
		return false
	}
	d.busy++
	d.unanswered.Add(1)
	if !d.begun.Load() {
		d.begun.Store(true)
	}
	return true
}

// EndRequest ends a Request that BeginRequest counted. Only the Owner may call it, from Effects.
func (d *Driver) EndRequest() { d.busy-- }

// Unanswered returns the number of Requests that BeginRequest counted and that have no answer.
func (d *Driver) Unanswered() int { return int(d.unanswered.Load()) }

// HadRequest reports whether BeginRequest has ever counted a Request.
func (d *Driver) HadRequest() bool { return d.begun.Load() }

// PostReply posts the answer to a Request that BeginRequest counted. While others are not answered,
// more answers are likely, and PostTogether waits for them.
func (d *Driver) PostReply(r *engine.Request) {
	ev := engine.Event{Kind: engine.EventReply, Request: r}
	if d.unanswered.Add(-1) == 0 {
		d.Post(ev)
		return
	}
	d.PostTogether(ev)
}

// StartDrain makes BeginRequest return false from now on. It reports whether all Requests have
// ended: then the caller must call PostDrain. Otherwise the runner does so after the last one. The
// connection ends with why.
func (d *Driver) StartDrain(why error) (idle bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drainReason = why
	d.draining.Store(true)
	idle = !d.running && d.busy == 0
	d.drainPosted = d.drainPosted || idle
	return idle
}

// PostDrain makes the engine end the connection when everything that was posted has completed.
func (d *Driver) PostDrain() {
	d.mu.Lock()
	why := d.drainReason
	d.mu.Unlock()
	d.Post(engine.Event{Kind: engine.EventDrain, Err: why})
}

// drained reports whether the runner must call PostDrain, at most once. d.mu must be held.
func (d *Driver) drained() bool {
	if d.draining.Load() && d.busy == 0 && !d.drainPosted {
		d.drainPosted = true
		return true
	}
	return false
}
