package driver

import (
	"runtime"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// rounds is the number of times that a runner looks for more events before it hands over, so that a
// caller is not delayed without bound.
const rounds = 64

// Post brings an event to the engine. It has no effect after Stop.
func (d *Driver) Post(ev engine.Event) {
	d.mu.Lock()
	if d.stopped {
		d.mu.Unlock()
		return
	}
	d.queue = append(d.queue, ev)
	d.run(false)
}

// Queue is Post for a caller that may hold locks which Owner.Effects takes: another goroutine runs
// the engine. Events of one caller stay in order, with those that it posts, too.
func (d *Driver) Queue(ev engine.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	d.queue = append(d.queue, ev)
	if d.running || d.engine == nil {
		return
	}
	d.running = true
	go d.own()
}

// PostTogether queues an event, and lets other goroutines run before this one runs the engine, so
// that one post, and one write, is enough for all their events. If there is a runner, it handles
// the event with its own. So only this goroutine waits to be scheduled again, and no other waits
// for it. It leaves events that came after its own was taken in the queue: their posters come back
// with more, too.
func (d *Driver) PostTogether(ev engine.Event) {
	d.mu.Lock()
	if d.stopped {
		d.mu.Unlock()
		return
	}
	d.queue = append(d.queue, ev)
	if !d.running {
		taken := d.taken.Load()
		d.mu.Unlock()
		runtime.Gosched()
		if d.taken.Load() != taken {
			return // most calls return here, without the lock
		}
		d.mu.Lock()
	}
	if len(d.queue) == 0 {
		d.mu.Unlock()
		return
	}
	d.run(false)
}

// run serves events until the queue is empty, unless another goroutine is the runner. If reader is
// true, it runs functions of the Owner, too, while no caller polls: then this is the goroutine of
// the provider that handles the peer's messages, and not one of a caller that may have locks. The
// caller holds d.mu, and run releases it.
func (d *Driver) run(reader bool) {
	if d.running || d.engine == nil {
		d.mu.Unlock()
		return
	}
	d.running = true
	exited, more, rest := true, false, report{}
	defer func() {
		if exited {
			d.exited()
		} else if more {
			// Under constant load, or for functions of the Owner, a goroutine of the Driver
			// continues, and returns when the queue is empty. running remains true until then, and
			// Stop waits for that.
			go d.own()
		}
	}()
	more, rest = d.serve(rounds)
	for n := rounds; more && d.due && reader && n > 0 && !d.owner.Polling(); n-- {
		d.runFunctions()
		more, rest = d.serve(rounds)
	}
	exited = false
	if !more {
		d.rested(rest)
	}
}

// runOwn is the Driver's goroutine that is the runner (Driver.own). It runs the Owner's functions,
// too. If a function, or a handler in a step, exits the goroutine, another one continues.
func (d *Driver) runOwn() {
	exited, rest := true, report{}
	defer func() {
		if exited {
			d.exited()
		}
	}()
	if d.left.effects != nil {
		d.finish()
	}
	for more := true; more; {
		if d.due {
			d.runFunctions()
		} else {
			d.mu.Lock()
		}
		more, rest = d.serve(-1)
	}
	exited = false
	d.rested(rest)
}

// runFunctions runs the functions that are due, and returns with d.mu locked.
func (d *Driver) runFunctions() {
	d.owner.Run()
	d.due = false
	d.mu.Lock()
}

// exited lets another goroutine be the runner, in place of this one that a handler or function has
// exited. A handler may have left completions.
func (d *Driver) exited() {
	d.mu.Lock()
	d.look = d.look || !d.due // a function of the Owner leaves none
	d.mu.Unlock()
	go d.own()
}

// report has the things that a runner does when it is not the runner any more.
type report struct {
	faults  *Faults // new ones of the peer, or nil
	drained bool
}

// rested is called after serve has returned false. Another goroutine may be the runner.
func (d *Driver) rested(r report) {
	if r.faults != nil {
		d.owner.PeerFaults(*r.faults)
	}
	if r.drained {
		d.PostDrain()
	}
}

// serve is the runner's loop. It returns false when the queue is empty: there is no runner then,
// and the caller calls rested. It returns true after the given rounds, and when functions of the
// Owner are due: runOwn must continue. The caller holds d.mu, and serve releases it.
func (d *Driver) serve(rounds int) (more bool, _ report) {
	for ; len(d.queue) > 0 || d.look || d.due; rounds-- {
		if rounds == 0 || d.due {
			d.freeMemory()
			d.engine.ReadStats(&d.stats) // the queue may never be empty
			d.mu.Unlock()
			return true, report{}
		}
		batch, look := d.queue, d.look
		d.taken.Add(1)
		d.queue, d.spare, d.look = d.spare[:0], nil, false
		arm, armSends := look && !d.recvs.armed, look && d.sends.await && !d.sends.armed
		d.recvs.armed, d.sends.armed = d.recvs.armed || arm, d.sends.armed || armSends
		d.mu.Unlock()
		events, again := d.events[:0], false
		if look {
			events, again = d.gather(events, arm, armSends)
		}
		if len(events) == 0 {
			d.step(batch)
		} else {
			events = append(events, batch...)
			d.step(events)
			forget(events)
			d.events = events
		}
		forget(batch)
		d.mu.Lock()
		d.spare = batch[:0]
		d.look = d.look || again || d.sends.await && !d.sends.armed
	}
	d.freeMemory()
	d.running = false
	d.engine.ReadStats(&d.stats)
	r := report{d.faults.update(&d.stats), d.requests.drained()}
	d.idle.Broadcast()
	d.mu.Unlock()
	return false, r
}

// freeMemory frees memory of the runner before it leaves: what another one can use, and after a
// while without load the rest. d.mu must be held.
func (d *Driver) freeMemory() {
	if d.wcs != nil {
		wcPool.Put(d.wcs)
		d.wcs = nil
	}
	if d.trim && len(d.queue) == 0 {
		d.queue, d.spare, d.events, d.trim = nil, nil, nil, false
	}
}

// forget clears events, so that they keep no memory in use. Most batches have one event at most,
// for which clear is slow.
func forget(events []engine.Event) {
	switch len(events) {
	case 0:
	case 1:
		events[0] = engine.Event{}
	default:
		clear(events)
	}
}
