package driver

import (
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// completions is a completion queue.
type completions struct {
	cq    verbs.CompletionQueue
	reads bool // DeviceAttributes.ReaderNotifies
	armed bool // it will notify of its next completion; guarded by mu
	await bool // Effects.Await, of the send queue; the runner's
}

// arrived is called by a completion queue. It runs on the provider's goroutine, or on one that
// posts. The latter may be the runner's own: then the runner is further up the stack.
func (d *Driver) arrived(c *completions) {
	d.mu.Lock()
	if d.stopped {
		d.mu.Unlock()
		return
	}
	c.armed, d.look = false, true
	d.run(c.reads)
}

// lost is the queue pair's Notify.
func (d *Driver) lost() { d.Post(engine.Event{Kind: engine.EventBroken, Err: d.qp.Err()}) }

// gather appends the completions of both queues. It arms a queue, if needed, before it polls it, so
// that it misses nothing (see verbs.CompletionQueue). The send queue's is armed only while its
// completions are awaited, which is rare. Otherwise they are polled along with Receives. again
// reports that there may be more.
func (d *Driver) gather(events []engine.Event, arm, armSends bool) (_ []engine.Event, again bool) {
	var err error
	if armSends {
		err = d.sends.cq.Arm(false)
	}
	if arm && err == nil {
		err = d.recvs.cq.Arm(false)
	}
	if d.wcs == nil {
		d.wcs = wcPool.Get().(*[polled]verbs.WC)
	}
	n, got := 0, 0
	if err == nil {
		n, err = d.sends.cq.Poll(d.wcs[:])
	}
	if err == nil && n < len(d.wcs) {
		got, err = d.recvs.cq.Poll(d.wcs[n:])
		n += got
	}
	for i := range n {
		ev := engine.Event{Kind: engine.EventCompletion, WC: &d.wcs[i]}
		if s := ev.WC.Status; s != verbs.StatusSuccess && s != verbs.StatusFlushed {
			ev.Kind, ev.Err = engine.EventBroken, d.cause(ev.WC.Err())
			if i >= n-got {
				ev.WC = nil // of a Receive
			}
		}
		events = append(events, ev)
	}
	if err != nil {
		return append(events, engine.Event{Kind: engine.EventBroken, Err: err}), false
	}
	return events, n == len(d.wcs)
}

// cause returns why the queue pair failed, after a completion or a post has shown that it did. A
// status does not give the message, its size, or the side at fault. Disconnect waits for a failure
// in progress. Otherwise failure itself is the cause.
func (d *Driver) cause(failure error) error {
	_ = d.qp.Disconnect() // the connection is lost in any case
	if why := d.qp.Err(); why != nil && !errors.Is(why, verbs.ErrDisconnected) {
		return why
	}
	return failure
}
