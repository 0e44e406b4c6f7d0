package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
)

// full returns a machine with connections that have room for so many Calls.
func full(t *testing.T, rooms ...int) (*driven, []*conn) {
	t.Helper()
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections = max(len(rooms), 1) })
	var conns []*conn
	for i := range rooms {
		if i == 0 {
			d.ask()
		} else {
			d.step(event{Kind: machine.Crowded})
		}
		conns = append(conns, d.dialled())
	}
	d.step(event{Kind: machine.Release, Conn: conns[0]})
	for i, n := range rooms {
		conns[i].room = n
	}
	return d, conns
}

// taken returns the numbers of the connections that so many further Calls get, -1 for none.
func (d *driven) taken(conns []*conn, n int) (list []int) {
	for range n {
		c, _, ok := d.Take()
		if !ok {
			c = nil
		}
		list = append(list, slices.Index(conns, c))
	}
	return list
}

// A Call gets the connection with the fewest Calls, of those that are up and have room. A single
// connection takes all.
func TestCallsGetTheLeastUsedConnection(t *testing.T) {
	d, conns := full(t, 2, 1, 3)
	if got := d.taken(conns, 7); !slices.Equal(got, []int{0, 1, 2, 0, 2, 2, -1}) {
		t.Errorf("the Calls are on the connections %v", got)
	}
	d, conns = full(t, 9, 9)
	conns[0].err = errLost
	if got := d.taken(conns, 2); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("after the first was lost the Calls are on the connections %v", got)
	}
	conns[1].err = errLost
	if got := d.taken(conns, 1); !slices.Equal(got, []int{-1}) {
		t.Errorf("after both were lost a Call is on connection %v", got)
	}
	d, conns = full(t, 1)
	if got := d.taken(conns, 3); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("the Calls are on the connections %v, want the only one", got)
	}
}

// Take says that a further connection would help when a Call finds others and there may be one
// more, until the machine knows.
func TestTakeSaysWhenConnectionsAreCrowded(t *testing.T) {
	d, _ := full(t, 9, 9)
	for range 3 {
		if _, crowded, ok := d.Take(); crowded || !ok {
			t.Errorf("with all connections: crowded %v, a connection %v", crowded, ok)
		}
	}
	d = newDriven(t, func(r *machine.Rules[*conn]) { r.Connections = 2 })
	c := d.connect()
	c.room = 9
	for i, want := range []bool{false, true, true} {
		if _, crowded, ok := d.Take(); crowded != want || !ok {
			t.Errorf("Call %d: crowded %v, want %v", i, crowded, want)
		}
	}
	if d.step(event{Kind: machine.Crowded}); !d.fx.Dial {
		t.Error("no attempt to make a further connection")
	}
	if _, crowded, _ := d.Take(); crowded {
		t.Error("crowded although the machine knows")
	}
	d.fail(errRefused)
	if _, crowded, _ := d.Take(); !crowded {
		t.Error("not crowded after the attempt has failed")
	}
	d = newDriven(t, func(r *machine.Rules[*conn]) { r.Connections = 2 })
	d.ask()
	d.ask()
	c = &conn{room: 2}
	if fx := d.step(event{Kind: machine.Dialled, Conn: c}); len(fx.Over) != 2 || !fx.Dial {
		t.Errorf("two Calls that waited share a connection: %+v", fx)
	}
}

// The queue is served from its head as far as there is room, no Call passes it, and Calls that left
// are not in it.
func TestQueueIsServedInOrder(t *testing.T) {
	d, conns := full(t, 0, 0)
	var calls []*call
	for range 6 {
		calls = append(calls, d.ask())
	}
	for _, i := range []int{1, 0, 0} {
		d.step(event{Kind: machine.Cancel, Call: calls[i], Err: context.Canceled})
	}
	if d.Waiting() != 4 || d.Stats().Delayed != 6 || !d.fx.Wake.IsZero() {
		t.Fatalf("%d wait, %+v", d.Waiting(), d.Stats())
	}
	for n, room := range []int{0, 1, 3} {
		conns[1].room = room
		if got := d.taken(conns, 1); got[0] != -1 {
			t.Error("a Call has passed the queue")
		}
		d.step(event{Kind: machine.Room})
		for i, c := range calls[2:] {
			if want := i < room; (c.Conn == conns[1]) != want || c.Err != nil {
				t.Errorf("step %d: Call %d has %v, %v, want %v", n, i, c.Conn, c.Err, want)
			}
		}
	}
	if d.step(event{Kind: machine.Release, Conn: conns[1]}); calls[5].Conn != conns[1] || len(d.fx.Over) != 1 {
		t.Error("the end of a Call serves no other")
	}
}

// A Call whose context is done leaves the queue, and its error names what it waited for. One that
// has a connection already keeps it.
func TestCancelledCallSaysWhatItWaitedFor(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(d *driven)
		says string
	}{
		{"connecting", func(*driven) {}, "context canceled"},
		{"after a failure", func(d *driven) { d.fail(errRefused) }, "context canceled with no connection: refused"},
		{"for room", func(d *driven) { d.dialled().room = 0 }, "context canceled: it waited for room, on one of 1 connections (ClientConfig.Connections)"},
	} {
		d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections, r.WaitForServer = 2, true })
		d.ask()
		tt.run(d)
		c := d.ask()
		d.step(event{Kind: machine.Cancel, Call: c, Err: context.Canceled})
		done := &call{}
		d.step(event{Kind: machine.Ask, Call: done, Err: context.Canceled})
		for _, c := range []*call{c, done} {
			if c.Err == nil || c.Err.Error() != tt.says || !errors.Is(c.Err, context.Canceled) {
				t.Errorf("%s: %v, want %q", tt.name, c.Err, tt.says)
			}
		}
	}
	d := newDriven(t, nil)
	c := d.ask()
	up := d.dialled()
	if d.step(event{Kind: machine.Cancel, Call: c, Err: context.Canceled}); c.Conn != up || c.Err != nil || len(d.fx.Over) != 0 {
		t.Errorf("a connection that came before has become %v, %v", c.Conn, c.Err)
	}
}

// A Call that leaves the queue during a pause takes the reason for an attempt with it.
func TestNoAttemptAfterTheLastCallHasLeft(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.WaitForServer = true })
	c := d.ask()
	d.fail(errRefused)
	if d.step(event{Kind: machine.Cancel, Call: c, Err: context.Canceled}); !d.fx.Wake.IsZero() {
		t.Error("the machine asks for the end of the pause")
	}
	d.ask()
	d.pauses(time.Second)
}

// A connection was useful if it brought a reply, or was idle, or, as the first one, if others have
// brought a reply since. One that the server may need is short if it ends within its pause.
func TestUsefulAndShortConnectionsAreToldApart(t *testing.T) {
	for _, tt := range []struct {
		name           string
		replies        bool
		further        bool
		since          bool // another that was useful is gone
		up             bool // another is up that was useful
		keeps, lasting bool
		want           string
	}{
		{name: "no reply", want: "ended without a reply"},
		{name: "a reply", replies: true},
		{name: "another is gone", since: true},
		{name: "another is up", up: true},
		{name: "a further one, another is gone", further: true, since: true, want: "ended without a reply"},
		{name: "a further one, another is up", further: true, up: true, want: "ended without a reply"},
		{name: "a further one with a reply", further: true, replies: true},
		{name: "short", replies: true, keeps: true, want: "ended soon"},
		{name: "not short", replies: true, keeps: true, lasting: true},
		{name: "useless and not short", keeps: true, lasting: true, want: "ended without a reply"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDriven(t, func(r *machine.Rules[*conn]) { r.Connections, r.Keeps, r.DialFailures = 2, tt.keeps, 0 })
			it, other := d.connectFurther(), d.connectFurther()
			if tt.further {
				it, other = other, it
			}
			if other.vitals.Replied = tt.up; !tt.up {
				d.lose(other, tt.since)
			}
			if d.now = d.now.Add(time.Second - 1); tt.lasting {
				d.now = d.now.Add(1)
			}
			if d.lose(it, tt.replies); tt.up && !tt.further {
				d.lose(other, false) // a further one, whose pause delays no first one
			}
			if tt.further && !tt.up {
				d.dialled() // so that there may be a further one
			}
			if tt.further {
				if d.step(event{Kind: machine.Crowded}); d.fx.Dial == (tt.want != "") {
					t.Errorf("an attempt begins at once %v, want a pause %v", d.fx.Dial, tt.want != "")
				}
				return
			}
			w := d.ask()
			if tt.want == "" && d.over(w) || tt.want != "" && (w.Err == nil || !strings.Contains(w.Err.Error(), tt.want) || !errors.Is(w.Err, errLost)) {
				t.Errorf("the next Call has %v, want %q", w.Err, tt.want)
			}
		})
	}
}

// connectFurther makes a connection, whether others are up or not.
func (d *driven) connectFurther() *conn {
	d.step(event{Kind: machine.Ask, Call: new(call)})
	if !d.fx.Dial {
		d.step(event{Kind: machine.Crowded})
	}
	c := d.dialled()
	d.step(event{Kind: machine.Release, Conn: c})
	return c
}

// A connection without Calls is dropped after IdleTimeout, counted from the last Call. The end of
// an idle connection is not a failure.
func TestIdleConnectionIsDropped(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.IdleTimeout, r.DialFailures = time.Minute, 0 })
	start := d.now
	d.ask()
	c := d.dialled()
	d.wake() // a Call is in progress
	if len(d.fx.Drop) != 0 || d.now.Sub(start) != time.Minute {
		t.Fatalf("after %v: %+v", d.now.Sub(start), d.fx)
	}
	d.now = d.now.Add(50 * time.Second)
	d.step(event{Kind: machine.Release, Conn: c})
	d.wake()
	if len(d.fx.Drop) != 0 {
		t.Fatal("dropped 10 s after a Call")
	}
	d.wake()
	if took := d.now.Sub(start); !slices.Equal(d.fx.Drop, []*conn{c}) || took != 170*time.Second || !d.fx.Wake.IsZero() {
		t.Fatalf("after %v: %+v", took, d.fx)
	}
	d.step(event{Kind: machine.Ended, Conn: c})
	if w := d.ask(); !d.fx.Dial || d.over(w) {
		t.Errorf("the next Call has %v", w.Err)
	}
	if s := d.Stats(); s != (machine.Stats{Connects: 1, IdleCloses: 1}) {
		t.Errorf("%+v", s)
	}
	c = d.dialled()
	d.step(event{Kind: machine.Release, Conn: c})
	d.now = d.now.Add(time.Hour)
	if d.lose(c, true); d.Stats().Lost != 1 || !d.fx.Wake.IsZero() {
		t.Errorf("%+v, next at %v", d.Stats(), d.fx.Wake)
	}
}

// A connection that is down takes no Call, delays none, and is neither idle nor stuck: it was lost.
func TestLostConnectionIsNeitherUpNorIdle(t *testing.T) {
	d := newDriven(t, func(r *machine.Rules[*conn]) { r.IdleTimeout, r.StuckTimeout = time.Minute, time.Hour })
	c := d.connect()
	c.err = errLost
	if d.wake(); len(d.fx.Drop) != 0 || !d.fx.Wake.IsZero() {
		t.Errorf("%d connections are dropped, the next check is at %v", len(d.fx.Drop), d.fx.Wake)
	}
	if d.ask(); d.fx.Delayed || d.Stats().Delayed != 0 {
		t.Error("a Call without a connection counts as delayed")
	}
}

// With no limits, and for a server that may call, a connection without Calls stays.
func TestConnectionWithoutLimitsStays(t *testing.T) {
	for _, r := range []machine.Rules[*conn]{{}, {IdleTimeout: time.Minute, Keeps: true}} {
		d := newDriven(t, func(all *machine.Rules[*conn]) { all.IdleTimeout, all.Keeps = r.IdleTimeout, r.Keeps })
		if d.connect(); !d.fx.Wake.IsZero() {
			t.Errorf("%v, keeps %v: the machine asks for a time", r.IdleTimeout, r.Keeps)
		}
	}
}

// A connection is useless if cancelled Calls leave none to make, whatever else the peer sends, or
// if nothing comes from it. It is dropped when it was useless for StuckTimeout.
func TestStuckConnectionIsDropped(t *testing.T) {
	for _, tt := range []struct {
		name            string
		abandoned, most int
		silent, want    bool
	}{
		{"no cancelled Call", 0, 8, true, false},
		{"one of eight", 1, 8, false, false},
		{"one of eight, nothing comes", 1, 8, true, true},
		{"all", 8, 8, false, true},
		{"more than all", 9, 8, false, true},
	} {
		d := newDriven(t, func(r *machine.Rules[*conn]) { r.StuckTimeout = 4 * time.Second })
		c := d.connect()
		c.vitals = machine.Vitals{Received: 7, Abandoned: tt.abandoned, Most: tt.most}
		start, looks := d.now, 0
		for n := range 3 { // a message that came before the first look does not count at the next
			if looks++; n == 0 && tt.silent {
				d.wake()
			}
			if !tt.silent {
				c.vitals.Received++
			}
			d.wake()
		}
		if got := len(d.fx.Drop) == 1; got != tt.want {
			t.Errorf("%s: after %v dropped %v, want %v", tt.name, d.now.Sub(start), got, tt.want)
		}
		if tt.want {
			if s := d.Stats(); s.Stuck != 1 || s.Lost != 0 {
				t.Errorf("%s: %+v", tt.name, s)
			}
			continue
		}
		c.vitals = machine.Vitals{Received: c.vitals.Received, Abandoned: 9, Most: 9}
		for n := range 3 {
			if n == 1 {
				c.vitals.Abandoned = 0 // a late reply
			}
			d.wake()
			c.vitals.Abandoned = 9
		}
		if len(d.fx.Drop) != 0 {
			t.Errorf("%s: dropped before it was useless for StuckTimeout", tt.name)
		}
		if d.wake(); len(d.fx.Drop) != 0 {
			t.Errorf("%s: dropped after half of StuckTimeout", tt.name)
		}
		if d.wake(); len(d.fx.Drop) != 1 {
			t.Errorf("%s: not dropped", tt.name)
		}
	}
}

// A connection that was dropped takes no Calls, and counts for nothing when it ends.
func TestDroppedConnectionIsForgotten(t *testing.T) {
	d, conns := full(t, 9, 9)
	d.taken(conns, 2)
	d.step(event{Kind: machine.Discard, Conn: conns[0]})
	d.step(event{Kind: machine.Discard, Conn: conns[0]})
	d.step(event{Kind: machine.Release, Conn: conns[0]})
	d.step(event{Kind: machine.Release, Conn: new(conn)})
	if got := d.taken(conns, 2); !slices.Equal(got, []int{1, 1}) || !slices.Equal(d.Conns(), conns[1:]) {
		t.Errorf("the Calls are on the connections %v, %d are left", got, len(d.Conns()))
	}
	for range 2 {
		d.step(event{Kind: machine.Ended, Conn: conns[0]})
	}
	if s := d.Stats(); s != (machine.Stats{Connects: 2}) {
		t.Errorf("%+v", s)
	}
	conns[1].err = errLost
	d.ask()
	if d.lose(conns[1], true); !d.fx.Dial {
		t.Error("no attempt after the last connection")
	}
	c := d.dialled() // Calls that still use the lost one are not counted here
	d.step(event{Kind: machine.Release, Conn: conns[1]})
	if d.step(event{Kind: machine.Release, Conn: c}); d.Stats().Lost != 1 {
		t.Errorf("%+v", d.Stats())
	}
}

// Close fails all Calls and drops all connections, also one that comes later.
func TestCloseEndsEverything(t *testing.T) {
	d, conns := full(t, 0, 0)
	waits := d.ask()
	fx := d.step(event{Kind: machine.Close})
	if waits.Err != errClosed || !slices.Equal(fx.Drop, conns) || fx.Dial || !fx.Wake.IsZero() {
		t.Errorf("the Call has %v, the effects are %+v", waits.Err, fx)
	}
	if _, _, ok := d.Take(); ok {
		t.Error("a Call has a connection")
	}
	if late := d.ask(); late.Err != errClosed || d.fx.Delayed {
		t.Errorf("a later Call has %v", late.Err)
	}
	if again := d.step(event{Kind: machine.Close}); len(again.Drop)+len(again.Over) != 0 {
		t.Errorf("a second Close: %+v", again)
	}
	d, conns = full(t, 1, 1)
	d.step(event{Kind: machine.Discard, Conn: conns[0]}) // the caller may not have closed it yet
	if d.step(event{Kind: machine.Close}); !slices.Equal(d.fx.Drop, conns) {
		t.Errorf("Close drops %d connections, want the discarded one, too", len(d.fx.Drop))
	}
	d = newDriven(t, nil)
	d.ask()
	d.step(event{Kind: machine.Close})
	c := d.dialled()
	if !slices.Equal(d.fx.Drop, []*conn{c}) || d.fx.Dial {
		t.Errorf("a connection after Close: %+v", d.fx)
	}
	if d.lose(c, false); d.Stats().Lost != 0 || d.fx.Dial || !d.fx.Wake.IsZero() {
		t.Errorf("its end: %+v, %+v", d.Stats(), d.fx)
	}
	d = newDriven(t, nil)
	d.ask()
	d.step(event{Kind: machine.Close})
	if fx := d.fail(context.Canceled); fx.Failure != nil || fx.Dial {
		t.Errorf("an attempt that Close has cancelled: %+v", fx)
	}
}

// Example of a rule that a reader may look for: the events of one Call from begin to end.
func ExampleMachine_Step() {
	m := machine.New(rulesOf(nil))
	now := time.Unix(0, 0)
	c := new(call)
	fx := m.Step(now, &event{Kind: machine.Ask, Call: c})
	fmt.Println("dial:", fx.Dial)
	fx = m.Step(now, &event{Kind: machine.Dialled, Conn: new(conn)})
	fmt.Println("served:", len(fx.Over) == 1 && fx.Over[0] == c)
	m.Step(now, &event{Kind: machine.Release, Conn: c.Conn})
	// Output:
	// dial: true
	// served: true
}
