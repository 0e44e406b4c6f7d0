package machine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
)

// An attempt begins for a Call that waits and for one that found others, up to Connections, and
// always if the server may call and a connection was made. It waits for the end of a connection.
func TestAttemptBeginsOnlyWhenAConnectionIsWanted(t *testing.T) {
	two := func(r *machine.Rules[*conn]) { r.Connections = 2 }
	keeps := func(r *machine.Rules[*conn]) { r.Connections, r.Keeps = 2, true }
	for _, tt := range []struct {
		name  string
		rules func(r *machine.Rules[*conn])
		run   func(d *driven)
		want  bool
	}{
		{"nothing happened", nil, func(d *driven) { d.step(event{Kind: machine.Tick}) }, false},
		{"a Call waits", nil, func(d *driven) { d.ask() }, true},
		{"a second Call waits", nil, func(d *driven) { d.ask(); d.ask() }, false},
		{"a Call waits for room", two, func(d *driven) { d.connect().room = 0; d.ask() }, true},
		{"a Call found others", two, func(d *driven) { d.connect(); d.step(event{Kind: machine.Crowded}) }, true},
		{"all connections are there", two, func(d *driven) { d.connect().room = 0; d.ask(); d.dialled().room = 0; d.ask() }, false},
		{"one is down, and not known to be", two, func(d *driven) { d.connect().err = errLost; d.ask() }, false},
		{"it is known to be", two, func(d *driven) { c := d.connect(); d.ask(); d.lose(c, true) }, false},
		{"one that was dropped is not closed", two, func(d *driven) {
			d.step(event{Kind: machine.Discard, Conn: d.connect()})
			d.ask()
		}, false},
		{"it is closed then", two, func(d *driven) {
			c := d.connect()
			d.step(event{Kind: machine.Discard, Conn: c})
			d.ask()
			d.lose(c, true)
		}, true},
		{"a connection was lost, and no Call waits", nil, func(d *driven) { d.lose(d.connect(), true) }, false},
		{"the server may call, before the first Call", keeps, func(d *driven) { d.step(event{Kind: machine.Tick}) }, false},
		{"the server may call", keeps, func(d *driven) { c := d.connect(); d.now = d.now.Add(time.Hour); d.lose(c, true) }, true},
		{"the server has a connection to call", keeps, func(d *driven) { d.connect() }, false},
		{"the server may call, and was away", keeps, func(d *driven) {
			c := d.connect()
			d.now = d.now.Add(time.Hour)
			d.lose(c, true)
			d.fail(errRefused)
			d.wake()
		}, true},
		{"the server may call, at a limit of the process", keeps, func(d *driven) {
			c := d.connect()
			d.now = d.now.Add(time.Hour)
			d.lose(c, true)
			d.fail(errProcess)
			d.now = d.now.Add(time.Hour)
			d.step(event{Kind: machine.Tick})
		}, false},
		{"a Call waits at a limit of the process", keeps, func(d *driven) {
			c := d.connect()
			d.now = d.now.Add(time.Hour)
			d.lose(c, true)
			d.fail(errProcess)
			d.now = d.now.Add(time.Hour)
			d.ask()
		}, true},
		{"closed", nil, func(d *driven) { d.step(event{Kind: machine.Close}); d.ask() }, false},
		{"closed, and the server may call", keeps, func(d *driven) {
			c := d.connect()
			d.now = d.now.Add(time.Hour)
			d.step(event{Kind: machine.Close})
			d.lose(c, true)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDriven(t, tt.rules)
			if tt.run(d); d.fx.Dial != tt.want {
				t.Errorf("an attempt begins %v, want %v", d.fx.Dial, tt.want)
			}
		})
	}
}

// Pauses double up to the longest, also after connections without a reply. A connection with a
// reply resets them.
func TestPausesDoubleUntilAUsefulConnection(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.WaitForServer = true })
	d.ask()
	d.pauses(0)
	for _, pause := range []time.Duration{1, 2} {
		d.fail(errRefused)
		d.pauses(pause * time.Second)
	}
	for _, pause := range []time.Duration{4, 4} {
		c := d.dialled()
		c.err = errLost
		d.ask()
		d.lose(c, false)
		d.pauses(pause * time.Second)
	}
	for range 2 {
		c := d.dialled()
		c.err = errLost
		d.ask()
		d.lose(c, true)
		d.pauses(0)
	}
	d.fail(errRefused)
	d.pauses(time.Second)
	c := d.dialled()
	d.lose(c, true)
	d.ask()
	c = d.dialled() // made after others that were useful
	c.err = errLost
	d.ask()
	d.lose(c, false)
	d.pauses(time.Second)
}

// Each pause is shortened at random, by at most half.
func TestPausesAreShortenedAtRandom(t *testing.T) {
	for _, part := range []time.Duration{0, 1, 2} {
		d := newDriven(t, func(r *machine.Rules[*conn]) {
			r.WaitForServer, r.Random = true, func(n time.Duration) time.Duration { return n * part / 2 }
		})
		d.ask()
		d.fail(errRefused)
		d.pauses(time.Second - part*time.Second/4)
		d.fail(errRefused)
		d.pauses(2*time.Second - part*time.Second/2)
	}
}

// Before the first connection a Call fails with its own attempt, and the pause before the next does
// not grow: the address may be wrong. A server that refused a connection counts as none.
func TestEachCallBeforeTheFirstConnectionHasAnAttempt(t *testing.T) {
	d := newDriven(t, nil)
	for range 3 {
		w := d.ask()
		if d.pauses(map[bool]time.Duration{true: 0, false: time.Second}[d.Stats().DialFailures == 0]); d.over(w) {
			t.Fatalf("the Call has %v before the attempt has failed", w.Err)
		}
		if d.fail(errRefused); w.Err != errRefused || len(d.fx.Over) != 1 || d.fx.Dial || !d.fx.Wake.IsZero() {
			t.Fatalf("the Call has %v, and the effects are %+v", w.Err, d.fx)
		}
	}
	w := d.ask()
	d.pauses(time.Second)
	c := d.dialled()
	c.err = errRefused
	again := d.ask()
	d.step(event{Kind: machine.Ended, Conn: c, Err: errRefused, Refused: true})
	if w.Conn != c || again.Err != errRefused {
		t.Errorf("after a connection that was refused the Calls have %v and %v", w.Err, again.Err)
	}
	d.ask()
	d.pauses(time.Second)
	if c = d.dialled(); d.lose(c, true).Dial {
		t.Error("an attempt begins without a Call")
	}
	w = d.ask()
	for range 5 {
		d.fail(errRefused)
		d.wake()
	}
	if d.over(w) || !d.fx.Dial {
		t.Errorf("after the first connection a Call ends with %v", w.Err)
	}
}

// A connection that the server refused is a failed attempt like those before it.
func TestRefusedConnectionIsAFailure(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.WaitForServer = true })
	d.ask()
	d.fail(errRefused)
	d.pauses(time.Second)
	c := d.dialled()
	d.ask()
	fx := d.step(event{Kind: machine.Ended, Conn: c, Err: errRefused, Refused: true})
	if fx.Failure == nil || *fx.Failure != (machine.Failure{InRow: 2, Err: errRefused, Pause: 2 * time.Second}) {
		t.Errorf("to log: %+v", fx.Failure)
	}
	if s := d.Stats(); s != (machine.Stats{Connects: 1, DialFailures: 2, Lost: 1, Delayed: 1}) {
		t.Errorf("%+v", s)
	}
}

// Attempts while a connection is up have separate pauses. Their failures fail no Call, and delay no
// attempt after the last connection was lost.
func TestFurtherAttemptsFailApart(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections, r.DialFailures = 2, 0 })
	c := d.connect()
	c.room = 0
	waits := d.ask()
	for i, pause := range []time.Duration{1, 2, 4, 4} {
		pause *= time.Second
		fx := d.fail(errWrong)
		if fx.Failure == nil || *fx.Failure != (machine.Failure{InRow: i + 1, Err: errWrong, Pause: pause}) || d.over(waits) {
			t.Fatalf("failure %d: %+v, the Call has %v", i, fx.Failure, waits.Err)
		}
		if i < 3 {
			d.pauses(pause)
		}
	}
	if d.lose(c, true); !d.fx.Dial {
		t.Fatal("the pause of further attempts delays the first")
	}
	d.fail(errRefused)
	if f := d.fx.Failure; *f != (machine.Failure{InRow: 5, Err: errRefused, Pause: time.Second}) || waits.Err != errRefused {
		t.Errorf("the first attempt failed: %+v, the Call has %v", f, waits.Err)
	}
	if s := d.Stats(); s.DialFailures != 5 {
		t.Errorf("%+v", s)
	}
}

// A useful first connection resets the pauses of first attempts only, and a useful further one all.
func TestUsefulConnectionEndsThePauses(t *testing.T) {
	for _, further := range []bool{false, true} {
		d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections = 2 })
		first := d.connect()
		for range 2 { // so that the next pause is 4 s
			d.step(event{Kind: machine.Crowded})
			d.fail(errRefused)
			d.now = d.now.Add(time.Minute)
		}
		d.step(event{Kind: machine.Crowded})
		second, want := d.dialled(), 4*time.Second
		if further {
			d.lose(second, true)
			want = time.Second
		} else {
			d.lose(first, true)
		}
		d.step(event{Kind: machine.Crowded})
		if d.fail(errRefused); d.fx.Failure.Pause != want {
			t.Errorf("further %v: a pause of %v, want %v", further, d.fx.Failure.Pause, want)
		}
	}
}

// After an attempt that taught another version the next one follows at once, but not twice in a
// row, and it counts as no failure.
func TestTurnsOnceWithoutPause(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.WaitForServer = true })
	d.ask()
	failures := uint64(0)
	for i, tt := range []struct{ turned, pauses bool }{
		{true, false}, {true, true}, {true, false}, {false, true}, {true, false}, {true, true}, {false, true},
	} {
		fx := d.step(event{Kind: machine.Failed, Err: errRefused, Turned: tt.turned})
		if tt.pauses {
			failures++
		}
		if fx.Dial == tt.pauses || (fx.Failure != nil) != tt.pauses || d.Stats().DialFailures != failures {
			t.Fatalf("attempt %d: the next begins at once %v, %d failures", i, fx.Dial, d.Stats().DialFailures)
		}
		if tt.pauses {
			d.wake()
		}
	}
}

// A Call waits through as many failures as DialFailures says, counted since it waits. A failure
// that would come each time fails it at once.
func TestCallsWaitThroughFailures(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.DialFailures = 2 })
	early := d.ask()
	d.fail(errRefused)
	late := d.ask()
	d.pauses(time.Second)
	d.fail(errRefused)
	d.pauses(2 * time.Second)
	if d.over(early) || d.over(late) {
		t.Errorf("after two failures: %v and %v", early.Err, late.Err)
	}
	d.fail(errRefused)
	if early.Err != errRefused || d.over(late) || d.Waiting() != 1 {
		t.Errorf("after three failures: %v and %v, %d wait", early.Err, late.Err, d.Waiting())
	}
	d.pauses(4 * time.Second)
	if d.fail(errWrong); late.Err != errWrong || d.Waiting() != 0 || !d.fx.Wake.IsZero() {
		t.Errorf("after a failure that comes each time: %v", late.Err)
	}
	w := d.ask() // the failures before do not count
	if d.over(w) || d.fx.Dial {
		t.Errorf("the next Call has %v during the pause", w.Err)
	}
	d.pauses(4 * time.Second)
	if d.fail(errWrong); w.Err != errWrong {
		t.Errorf("after a failure that comes each time: %v", w.Err)
	}
}

// A Call that waits through no failure fails at once during a pause. One that was on the connection
// whose loss began the pause waits, and has the next attempt.
func TestCallOfALostConnectionWaitsThroughItsPause(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, early := range []bool{false, true} { // early: the machine does not know of the loss
			d := newDriven(t, func(r *machine.Rules[*conn]) { r.DialFailures = 0 })
			c := d.connect()
			w := &call{Again: again}
			if early {
				c.err = errLost
				d.step(event{Kind: machine.Ask, Call: w})
			}
			d.lose(c, false)
			if !early {
				d.step(event{Kind: machine.Ask, Call: w})
			}
			if d.over(w) == again {
				t.Fatalf("again %t, early %t: it has %v during the pause", again, early, w.Err)
			}
			if !again {
				continue
			}
			d.pauses(time.Second)
			if d.fail(errRefused); w.Err != errRefused {
				t.Errorf("early %t: after a failure it has %v", early, w.Err)
			}
			w = &call{Again: true} // its connection did not begin this pause
			if d.step(event{Kind: machine.Ask, Call: w}); w.Err != errRefused {
				t.Errorf("early %t: during the pause of a failure it has %v", early, w.Err)
			}
		}
	}
}

// Without pauses, too, a Call that waits through no failure fails with the first.
func TestNoFailureIsWaitedThroughWithoutPauses(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.DialFailures, r.MinBackoff = 0, 0 })
	w := d.ask()
	if d.fail(errRefused); w.Err != errRefused || d.fx.Dial {
		t.Errorf("it has %v, an attempt begins %v", w.Err, d.fx.Dial)
	}
}

// While a connection is up, a Call that waits for room does not fail, whatever the reason why
// another connection is down.
func TestCallThatWaitsForRoomOutlastsConnections(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections, r.WaitForServer = 2, true })
	w := d.ask()
	d.fail(errRefused)
	d.pauses(time.Second)
	first, second := &conn{}, &conn{}
	d.step(event{Kind: machine.Dialled, Conn: first})
	d.step(event{Kind: machine.Dialled, Conn: second})
	first.err = errWrong
	if d.step(event{Kind: machine.Ended, Conn: first, Err: errWrong}); d.over(w) {
		t.Errorf("it has %v", w.Err)
	}
}

// A connection that was made clears the failures before it, and the wish for a further one.
func TestConnectionEndsFailuresAndWishes(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections, r.WaitForServer = 3, true })
	d.ask()
	d.fail(errRefused)
	d.pauses(time.Second)
	c := d.dialled()
	d.step(event{Kind: machine.Crowded})
	if second := d.dialled(); d.fx.Dial || d.lose(second, true).Dial {
		t.Error("a connection more is wanted although no Call has asked since")
	}
	d.lose(c, true)
	w := d.ask()
	if d.step(event{Kind: machine.Cancel, Call: w, Err: context.Canceled}); w.Err != context.Canceled {
		t.Errorf("a Call that connects has the failure before: %v", w.Err)
	}
	if d.fail(errRefused); d.fx.Failure.InRow != 1 {
		t.Errorf("%d failures in a row, want the first", d.fx.Failure.InRow)
	}
}

// A Call that waits through no failure fails during a pause, with the reason for it, but not before
// it is known whether there must be one.
func TestNoWaitDuringPause(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.DialFailures = 0 })
	w := d.ask()
	if d.fail(errRefused); w.Err != errRefused {
		t.Errorf("with the first failure: %v", w.Err)
	}
	if w = d.ask(); w.Err != errRefused || d.fx.Dial {
		t.Errorf("during the pause: %v, an attempt begins %v", w.Err, d.fx.Dial)
	}
	d.now = d.now.Add(time.Second)
	c := d.connect()
	c.err = errLost
	if w = d.ask(); d.over(w) {
		t.Errorf("before the end of the connection is known: %v", w.Err)
	}
	if d.lose(c, false); w.Err == nil || d.fx.Dial {
		t.Errorf("during the pause after it: %v", w.Err)
	}
}

// The first connection ended without a reply. A further one was made after that, and is lost before
// the pause is over: the Call that gives up then has a reason.
func TestCallThatGivesUpAfterFurtherConnectionsHasTheReason(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections, r.DialFailures = 2, 0 })
	first := d.connect()
	d.step(event{Kind: machine.Crowded})
	second := d.dialled()
	d.lose(first, false)
	d.step(event{Kind: machine.Crowded})
	if !d.fx.Dial {
		t.Fatal("no attempt to make a further connection")
	}
	third := d.dialled()
	d.lose(second, false)
	d.lose(third, false)
	if c := d.ask(); !errors.Is(c.Err, errLost) {
		t.Errorf("the Call has %v, %v, want the loss of the last connection", c.Conn, c.Err)
	}
}

// A failure that a later connection made good ends no Call.
func TestCallWaitsThroughAFailureBeforeUsefulConnections(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections, r.DialFailures = 2, 0 })
	first := d.connect()
	first.room = 0
	c := d.ask()
	second := d.dialledWith(0)
	first.err = errLost
	d.step(event{Kind: machine.Ended, Conn: first, Err: errLost, Refused: true})
	if !d.fx.Dial {
		t.Fatal("no attempt to make a further connection")
	}
	third := d.dialledWith(0)
	d.lose(second, true)
	d.lose(third, true)
	if len(d.fx.Over) > 0 {
		t.Fatalf("the Call is over with %v, %v", c.Conn, c.Err)
	}
	if fourth := d.dialled(); c.Conn != fourth {
		t.Errorf("the Call has %v, %v, want the next connection", c.Conn, c.Err)
	}
}

// Without patience a Call fails with the pause after a useless connection, but not before the event
// Ended of the others that are down, because there is no pause after a useful one.
func TestCallWaitsForTheEndsOfAllConnections(t *testing.T) {
	for _, useful := range []bool{true, false} {
		d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections, r.DialFailures = 2, 0 })
		first := d.connect()
		d.step(event{Kind: machine.Crowded})
		further := d.dialled()
		first.err, further.err = errLost, errLost
		d.lose(first, false)
		c := d.ask()
		if d.over(c) || d.fx.Dial {
			t.Fatalf("before the end of the further connection: the Call has %v, an attempt %v", c.Err, d.fx.Dial)
		}
		d.lose(further, useful)
		if d.fx.Dial != useful || (c.Err == nil) != useful {
			t.Errorf("useful %v: an attempt %v, the Call has %v", useful, d.fx.Dial, c.Err)
		}
	}
}
