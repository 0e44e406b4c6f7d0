package machine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
)

var (
	errClosed  = errors.New("closed")
	errRefused = errors.New("refused")
	errLost    = errors.New("lost")
	errWrong   = errors.New("wrong address")
	errProcess = errors.New("limit of the process")
)

// conn is a connection that the test changes.
type conn struct {
	err    error
	room   int
	vitals machine.Vitals
}

func (c *conn) Err() error { return c.err }

// driven is a machine with a clock that the test sets, and the last effects.
type driven struct {
	*machine.Machine[*conn]
	t   *testing.T
	now time.Time
	fx  machine.Effects[*conn]
}

// Fields of events and effects, for short.
type (
	event   = machine.Event[*conn]
	effects = machine.Effects[*conn]
	call    = machine.Call[*conn]
)

// rulesOf returns rules with what a test does not set: pauses are not shortened.
func rulesOf(change func(r *machine.Rules[*conn])) machine.Rules[*conn] {
	r := machine.Rules[*conn]{
		Connections: 1, MinBackoff: time.Second, MaxBackoff: 4 * time.Second, DialFailures: -1,
		Room: func(c *conn) int { return c.room }, Full: "room", Vitals: func(c *conn) machine.Vitals { return c.vitals },
		Lasting:    func(err error) bool { return errors.Is(err, errWrong) },
		Disallowed: func(err error) bool { return errors.Is(err, errProcess) },
		Closed:     errClosed, Random: func(time.Duration) time.Duration { return 0 },
	}
	if change != nil {
		change(&r)
	}
	return r
}

func newDriven(t *testing.T, change func(r *machine.Rules[*conn])) *driven {
	return &driven{Machine: machine.New(rulesOf(change)), t: t, now: time.Unix(1e9, 0)}
}

// step passes an event, and returns the effects.
func (d *driven) step(ev event) effects {
	d.fx = d.Step(d.now, &ev)
	return d.fx
}

// ask makes a Call wait.
func (d *driven) ask() *call {
	c := new(call)
	d.step(event{Kind: machine.Ask, Call: c})
	return c
}

// dialled completes the attempt with a connection.
func (d *driven) dialled() *conn { return d.dialledWith(1) }

// dialledWith completes the attempt with a connection that has room for so many Calls.
func (d *driven) dialledWith(room int) *conn {
	c := &conn{room: room}
	d.step(event{Kind: machine.Dialled, Conn: c})
	return c
}

// connect makes a connection with no Call on it.
func (d *driven) connect() *conn {
	d.t.Helper()
	w := d.ask()
	if !d.fx.Dial {
		d.t.Fatal("no attempt to connect for a Call")
	}
	c := d.dialled()
	if w.Conn != c {
		d.t.Fatalf("the Call has %v, %v, want the new connection", w.Conn, w.Err)
	}
	d.step(event{Kind: machine.Release, Conn: c})
	return c
}

// fail fails the attempt.
func (d *driven) fail(err error) effects { return d.step(event{Kind: machine.Failed, Err: err}) }

// lose loses a connection.
func (d *driven) lose(c *conn, useful bool) effects {
	c.err = errLost
	return d.step(event{Kind: machine.Ended, Conn: c, Err: errLost, Useful: useful})
}

// wake lets the time come that the machine asked for.
func (d *driven) wake() effects {
	d.t.Helper()
	if d.fx.Wake.IsZero() {
		d.t.Fatal("the machine asks for no time")
	}
	d.now = d.fx.Wake
	return d.step(event{Kind: machine.Tick})
}

// pauses checks that an attempt follows after a pause, and lets it begin.
func (d *driven) pauses(want time.Duration) {
	d.t.Helper()
	start := d.now
	if !d.fx.Dial {
		d.wake()
	}
	if got := d.now.Sub(start); got != want || !d.fx.Dial {
		d.t.Fatalf("after %v an attempt begins %v, want one after %v", got, d.fx.Dial, want)
	}
}

// over reports whether a Call waits no more.
func (fx *driven) over(c *call) bool { return c.Conn != nil || c.Err != nil }
