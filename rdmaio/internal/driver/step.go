package driver

import (
	"cmp"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// left is the part of a step that the runner has not carried out yet.
type left struct {
	effects *engine.Effects // nil between steps
	stage   stage
	changed bool // Driver.credits, by this step
}

// stage is the next thing to do for the effects of a step.
type stage uint8

const (
	postRecvs stage = iota
	postSends
	disconnect
	carryOut
	serve
)

// step runs the engine and carries out its effects in the order that engine.Effects gives.
//
// Each of them may run a handler, of this connection or, in a post, of its peer, and that may exit
// the goroutine. Then runOwn calls finish again, which continues:
//
//	Step ──> postRecvs ──> postSends ──> disconnect ──> carryOut ──> serve ──> the next Step
//	              │            │             │                         │  ^
//	              └────────────┴── a handler exits: another goroutine ─┴──┘
func (d *Driver) step(events []engine.Event) {
	f := d.engine.Step(time.Since(d.start), events)
	d.sends.await = f.Await
	credits := int64(d.engine.Credits())
	changed := d.credits.Load() != credits
	if changed { // before a caller wakes, which may look at them
		d.credits.Store(credits)
	}
	d.left = left{f, postRecvs, changed}
	d.finish()
}

// finish carries out the effects that are left of a step.
func (d *Driver) finish() {
	left := &d.left
	f := left.effects
	if left.stage == postRecvs {
		left.stage = postSends
		if len(f.Recvs) > 0 {
			if _, err := d.qp.PostRecv(f.Recvs); err != nil {
				_ = d.refused(err)
			}
		}
	}
	if left.stage == postSends {
		left.stage = disconnect
		if len(f.Sends) > 0 {
			if _, err := d.qp.PostSend(f.Sends); err != nil {
				err = d.refused(err)
				for _, r := range f.Release {
					r.Err = cmp.Or(r.Err, err) // its answer may be among them
				}
			}
		}
	}
	if left.stage == disconnect {
		if f.Fault != nil {
			d.owner.Fault(f.Fault)
		}
		if f.Fail != nil {
			// When this returns no memory is touched any more for this connection.
			_ = verbs.Disconnect(d.qp, d.owner.Ending(f.Fail)) // there is no remedy if it fails
		}
		left.stage = carryOut
	}
	if left.stage == carryOut {
		d.owner.Effects(f)
		left.stage = serve
	}
	d.owner.Serve(f)
	left.effects = nil
	if left.changed {
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
