package sim

import (
	"errors"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// Errors of the client's connections.
var (
	errNoDial   = errors.New("sim: the server does not answer")
	errFinished = errors.New("sim: the client is closed")
	errFull     = errors.New("sim: the server has as many connections as it serves")
	errGivenUp  = errors.New("sim: the caller has given up")
)

// redial drives the machine that decides about the client's connections, as reconnect.Pool does:
//
//	acquire, release, cancel ──┐                 ┌──> dial: a link more, or a failure
//	an end is down ────────────┼──> machine.Step ┼──> an end is closed
//	timer ─────────────────────┘                 └──> RPCs that wait go on, or fail
type redial struct {
	w       *world
	machine *machine.Machine[*end]
	waiting map[*machine.Call[*end]]*rpc
	wake    time.Time // when the machine wants a Tick
}

// epoch is the machine's time at the start. The zero time means never.
var epoch = time.Unix(1e9, 0)

func newRedial(w *world) *redial {
	d := &w.draw.rules
	r := &redial{w: w, waiting: make(map[*machine.Call[*end]]*rpc)}
	r.machine = machine.New(machine.Rules[*end]{
		Connections: d.connections, MinBackoff: 100 * time.Millisecond, MaxBackoff: 2 * time.Second,
		DialFailures: d.dialFailures, WaitForServer: d.waits, IdleTimeout: d.idle, StuckTimeout: d.stuck,
		Keeps: w.draw.credits[1] > 0,
		Room:  func(e *end) int { return min(e.calls, e.eng.Credits()) }, Full: "a credit",
		Vitals: (*end).vitals, Lasting: func(err error) bool { return errors.Is(err, engine.ErrNoVersion) },
		Closed: errFinished,
		Random: func(n time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(n) + 1)) },
	})
	return r
}

// Err implements machine.Conn.
func (e *end) Err() error { return e.err }

// vitals returns the counts from which the machine judges a connection, as rdmaio.Conn does.
func (e *end) vitals() machine.Vitals {
	s := e.eng.Stats()
	return machine.Vitals{Received: s.Received, Replied: s.Replies > 0, Abandoned: s.Abandoned, Most: min(s.Granted, e.calls)}
}

// acquire lets an RPC go on with a connection, now or when there is one.
func (r *redial) acquire(p *rpc) {
	e, crowded, ok := r.machine.Take()
	if !ok {
		p.waits = &machine.Call[*end]{Again: p.tries > 0 && !r.w.cfg.Bugs.ForgetLoss}
		if p.tries == 0 {
			p.failures = r.machine.Stats().DialFailures
		}
		r.waiting[p.waits] = p
		r.step(&machine.Event[*end]{Kind: machine.Ask, Call: p.waits})
		return
	}
	if crowded {
		r.step(&machine.Event[*end]{Kind: machine.Crowded})
	}
	r.w.start(p, e)
}

// cancel makes an RPC that waits give up.
func (r *redial) cancel(p *rpc) {
	r.step(&machine.Event[*end]{Kind: machine.Cancel, Call: p.waits, Err: errGivenUp})
}

// release takes back the connection of an RPC.
func (r *redial) release(e *end) { r.step(&machine.Event[*end]{Kind: machine.Release, Conn: e}) }

// room is called when an end may have more credits.
func (r *redial) room() {
	if r.machine.Waiting() > 0 {
		r.w.after(0, "client has room", func() { r.step(&machine.Event[*end]{Kind: machine.Room}) })
	}
}

// ended is called when an end of the client is down. The client notices that a little later.
func (r *redial) ended(e *end) {
	if !e.dialled {
		r.w.after(r.w.soon(), "client has no connection", func() { r.step(&machine.Event[*end]{Kind: machine.Failed, Err: e.err}) })
		return
	}
	r.w.after(r.w.soon(), e.name+" is noticed", func() {
		r.step(&machine.Event[*end]{Kind: machine.Ended, Conn: e, Err: e.err, Useful: e.vitals().Replied})
	})
}

// close closes all connections. No further RPC is made.
func (r *redial) close() { r.step(&machine.Event[*end]{Kind: machine.Close}) }

// step passes an event to the machine and does what it says.
func (r *redial) step(ev *machine.Event[*end]) {
	w := r.w
	fx := r.machine.Step(epoch.Add(w.now), ev)
	w.note("client: %d connections, %d wait, dial %v, %d drop, %d over", len(r.machine.Conns()), r.machine.Waiting(), fx.Dial, len(fx.Drop), len(fx.Over))
	if fx.Dial {
		w.after(w.soon(), "client dials", r.dial)
	}
	for _, e := range fx.Drop {
		w.after(0, e.name+" is dropped", func() { e.close(errClosed) })
	}
	for _, c := range fx.Over {
		r.over(c)
	}
	if !fx.Wake.Equal(r.wake) {
		r.setTimer(fx.Wake)
	}
}

// over is called for an RPC that no longer waits.
func (r *redial) over(c *machine.Call[*end]) {
	p := r.waiting[c]
	delete(r.waiting, c)
	p.waits = nil
	r.w.after(0, "client continues", func() {
		switch {
		case errors.Is(c.Err, errGivenUp):
			r.w.finish(p, p.givenUp)
		case errors.Is(c.Err, engine.ErrNoVersion):
			r.w.finish(p, "no version")
		case c.Err != nil:
			if p.tries > 0 && !errors.Is(c.Err, errFinished) && r.machine.Stats().DialFailures == p.failures {
				r.w.fail("RPC %d is not made again after a loss, and no attempt to connect has failed: %v", p.tag, c.Err)
			}
			r.w.finish(p, "no connection")
		default:
			r.w.start(p, c.Conn)
		}
	})
}

// setTimer makes the next Tick come at a time.
func (r *redial) setTimer(at time.Time) {
	if r.wake = at; at.IsZero() {
		return
	}
	r.w.after(at.Sub(epoch)-r.w.now+r.w.late(), "client's timer", func() {
		if r.wake.Equal(at) {
			r.wake = time.Time{}
			r.step(&machine.Event[*end]{Kind: machine.Tick})
		}
	})
}

// dial makes a connection, or fails.
func (r *redial) dial() {
	if r.w.chance(NoDial) {
		r.step(&machine.Event[*end]{Kind: machine.Failed, Err: errNoDial})
		return
	}
	if !r.w.door.enter() {
		r.step(&machine.Event[*end]{Kind: machine.Failed, Err: errFull})
		return
	}
	r.w.door.add(r.w.newLink().ends[1])
}

// dialled is called when an end of the client knows the version of its connection.
func (r *redial) dialled(e *end) {
	e.dialled = true
	r.w.after(0, e.name+" is ready", func() { r.step(&machine.Event[*end]{Kind: machine.Dialled, Conn: e}) })
}
