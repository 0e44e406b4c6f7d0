package driver

import (
	"cmp"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// step runs the engine and carries out its effects in the order that engine.Effects gives.
func (d *Driver) step(events []engine.Event) {
	f := d.engine.Step(time.Since(d.start), events)
	d.await = f.Await
	credits := int64(d.engine.Credits())
	changed := d.credits.Load() != credits
	if changed { // before a caller wakes, which may look at them
		d.credits.Store(credits)
	}
	if len(f.Recvs) > 0 {
		if _, err := d.qp.PostRecv(f.Recvs); err != nil {
			_ = d.refused(err)
		}
	}
	if len(f.Sends) > 0 {
		if _, err := d.qp.PostSend(f.Sends); err != nil {
			err = d.refused(err)
			for _, r := range f.Release {
				r.Err = cmp.Or(r.Err, err) // its answer may be among them
			}
		}
	}
	if f.Fault != nil {
		d.owner.Fault(f.Fault)
	}
	if f.Fail != nil {
		// When this returns no memory is touched any more for this connection.
		_ = verbs.Disconnect(d.qp, d.owner.Ending(f.Fail)) // there is no remedy if it fails
	}
	d.owner.Effects(f)
	if changed {
		d.owner.CreditsChanged()
	}
	d.due = d.owner.Due()
	if f.Deadline > 0 {
		d.alarm.wake(f.Deadline, d.start)
	}
}

// refused closes the connection because the provider refused a post with err, and returns the
// cause.
func (d *Driver) refused(err error) error {
	err = d.cause(err)
	d.Post(engine.Event{Kind: engine.EventBroken, Err: err})
	return err
}

// fired is called by the alarm.
func (d *Driver) fired() {
	d.alarm.running.Store(false)
	d.mu.Lock()
	d.look = true // completed work is not late
	d.trim = true
	d.mu.Unlock()
	d.Post(engine.Event{Kind: engine.EventTimer})
}
