package machine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
)

// model has the knowledge of a driver: a simple account of the effects so far, from which follows
// which effects may come next.
type model struct {
	d     *driven
	rules machine.Rules[*conn]
	rnd   *rand.Rand

	useless bool // no connection brings a reply

	queue    []*call       // in order
	calls    map[*conn]int // of each connection that Calls can get
	leaving  []*conn       // dropped, or down; Ended must come
	dropped  map[*conn]bool
	dialling bool
	resting  time.Time // no attempt may begin before
	closed   bool
	made     int
	counted  machine.Stats
}

// Whatever comes in which order, one attempt is in progress at most, Calls are served in order on
// connections with room, none waits in vain or without a limit, and every connection is accounted
// for.
func TestRandomEventsAgreeWithAModel(t *testing.T) {
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var rules machine.Rules[*conn]
		var useless bool
		d := newDriven(t, func(r *machine.Rules[*conn]) {
			r.Connections = 1 + rnd.IntN(3)
			r.DialFailures = rnd.IntN(4) - 1
			r.WaitForServer, r.Keeps = rnd.IntN(2) == 0, rnd.IntN(4) == 0
			r.IdleTimeout = time.Duration(rnd.IntN(3)) * 10 * time.Second
			r.StuckTimeout = time.Duration(rnd.IntN(3)) * 4 * time.Second
			if useless = seed%4 == 0; useless {
				r.Connections, r.DialFailures, r.MaxBackoff = 3, 0, time.Minute
			}
			rules = *r
		})
		m := &model{useless: useless, d: d, rules: rules, rnd: rnd, calls: make(map[*conn]int), dropped: make(map[*conn]bool)}
		for n := range 300 {
			what, err := m.random()
			if err == nil {
				err = m.check()
			}
			if err != nil {
				t.Fatalf("seed %d, event %d (%s): %v; rules %+v", seed, n, what, err, m.rules)
			}
		}
	}
}

// random makes one random event.
func (m *model) random() (what string, err error) {
	d := m.d
	d.now = d.now.Add(time.Duration(m.rnd.IntN(3)) * 100 * time.Millisecond)
	switch m.rnd.IntN(12) {
	case 0, 1:
		return "call", m.call()
	case 2:
		return "cancel", m.cancel()
	case 3, 4:
		return "release", m.release()
	case 5:
		for c := range m.calls {
			c.room = m.rnd.IntN(4)
		}
		return "room", m.step(event{Kind: machine.Room})
	case 6, 7:
		return "attempt", m.attempt()
	case 8:
		return "loss", m.lose()
	case 9:
		return "end", m.end()
	case 10:
		if len(m.calls) > 0 && m.rnd.IntN(8) == 0 {
			c := m.one()
			m.leave(c)
			return "discard", m.step(event{Kind: machine.Discard, Conn: c})
		}
		fallthrough
	default:
		if m.rnd.IntN(40) == 0 && !m.closed {
			m.closed = true
			return "close", m.step(event{Kind: machine.Close})
		}
		return "time", m.time()
	}
}

// one returns a connection that Calls can get.
func (m *model) one() *conn {
	var all []*conn
	for _, c := range m.d.Conns() { // an order that the seed repeats
		if _, ok := m.calls[c]; ok {
			all = append(all, c)
		}
	}
	return all[m.rnd.IntN(len(all))]
}

func (m *model) call() error {
	c, crowded, ok := m.d.Take()
	if ok {
		if err := m.given(c); err != nil || len(m.queue) > 0 {
			return fmt.Errorf("Take: %w, %d wait", err, len(m.queue))
		}
		if crowded {
			return m.step(event{Kind: machine.Crowded})
		}
		return nil
	}
	w := new(call)
	m.queue = append(m.queue, w)
	return m.step(event{Kind: machine.Ask, Call: w})
}

// given counts a Call on a connection.
func (m *model) given(c *conn) error {
	n, ok := m.calls[c]
	if !ok || c.err != nil || m.rules.Connections > 1 && n >= c.room {
		return fmt.Errorf("a Call has a connection that is known %v, up %v, with %d Calls and room for %d", ok, c.err == nil, n, c.room)
	}
	for other, calls := range m.calls {
		if other.err == nil && calls < n && calls < other.room {
			return fmt.Errorf("a Call has a connection with %d Calls, another has %d", n, calls)
		}
	}
	m.calls[c]++
	return nil
}

func (m *model) cancel() error {
	if len(m.queue) == 0 {
		return nil
	}
	w := m.queue[m.rnd.IntN(len(m.queue))]
	err := m.step(event{Kind: machine.Cancel, Call: w, Err: context.Canceled})
	if err == nil && !m.d.over(w) {
		err = fmt.Errorf("a cancelled Call still waits")
	}
	return err
}

func (m *model) release() error {
	for _, c := range m.d.Conns() {
		if m.calls[c] > 0 {
			m.calls[c]--
			return m.step(event{Kind: machine.Release, Conn: c})
		}
	}
	return nil
}

// attempt completes the attempt to connect.
func (m *model) attempt() error {
	if !m.dialling {
		return nil
	}
	m.dialling = false
	if m.rnd.IntN(2) == 0 {
		return m.step(event{Kind: machine.Failed, Err: errRefused})
	}
	c := &conn{room: m.rnd.IntN(4)}
	m.made++
	if m.closed {
		m.leaving = append(m.leaving, c)
		m.dropped[c] = true
	} else {
		m.calls[c] = 0
	}
	return m.step(event{Kind: machine.Dialled, Conn: c})
}

func (m *model) lose() error {
	if len(m.calls) == 0 {
		return nil
	}
	if c := m.one(); c.err == nil {
		c.err = errLost
		c.vitals.Replied = !m.useless && m.rnd.IntN(2) == 0
	}
	return nil
}

// leave takes a connection from those for Calls.
func (m *model) leave(c *conn) {
	delete(m.calls, c)
	m.leaving = append(m.leaving, c)
	m.dropped[c] = true
}

// end reports that a connection is down or was dropped.
func (m *model) end() error {
	for _, c := range m.d.Conns() {
		if _, ok := m.calls[c]; ok && c.err != nil && len(m.leaving) == 0 {
			delete(m.calls, c)
			m.leaving = append(m.leaving, c)
		}
	}
	if len(m.leaving) == 0 {
		return nil
	}
	c := m.leaving[0]
	m.leaving, m.resting = m.leaving[1:], time.Time{} // it may have been useful
	if !m.dropped[c] && !m.closed {
		m.counted.Lost++
	}
	return m.step(event{Kind: machine.Ended, Conn: c, Err: c.err, Useful: c.vitals.Replied, Refused: m.rnd.IntN(10) == 0})
}

func (m *model) time() error {
	for c := range m.calls {
		c.vitals.Abandoned = m.rnd.IntN(2)
		c.vitals.Most = 1
	}
	if m.d.fx.Wake.IsZero() {
		return nil
	}
	if m.d.now.Before(m.d.fx.Wake) {
		m.d.now = m.d.fx.Wake
	}
	err := m.step(event{Kind: machine.Tick})
	if err == nil && !m.d.fx.Wake.IsZero() && !m.d.fx.Wake.After(m.d.now) {
		err = fmt.Errorf("the time that the machine asks for has passed")
	}
	return err
}

// step passes an event and takes the effects.
func (m *model) step(ev event) error {
	fx := m.d.step(ev)
	for _, c := range fx.Drop {
		if _, ok := m.calls[c]; ok {
			m.leave(c)
		} else if !m.closed {
			return fmt.Errorf("a connection is dropped that Calls could not get")
		}
	}
	next := 0
	for _, w := range fx.Over {
		i := slices.Index(m.queue, w)
		if i < 0 || (w.Conn == nil) == (w.Err == nil) {
			return fmt.Errorf("a Call is over with %v, %v; it waited %v", w.Conn, w.Err, i >= 0)
		}
		m.queue = slices.Delete(m.queue, i, i+1)
		if w.Conn != nil {
			if i != next {
				return fmt.Errorf("Call %d of the queue is served before others", i)
			}
			if err := m.given(w.Conn); err != nil {
				return err
			}
		}
	}
	if fx.Dial {
		if m.dialling || m.closed || len(m.d.Conns()) >= m.rules.Connections {
			return fmt.Errorf("an attempt begins: another does %v, closed %v, %d connections", m.dialling, m.closed, len(m.d.Conns()))
		}
		if m.d.now.Before(m.resting) && len(m.calls) == 0 {
			return fmt.Errorf("an attempt begins %v before the end of the pause", m.resting.Sub(m.d.now))
		}
		m.dialling = true
	}
	if f := fx.Failure; f != nil {
		if f.Pause > m.rules.MaxBackoff || f.Pause < m.rules.MinBackoff {
			return fmt.Errorf("a pause of %v", f.Pause)
		}
		if ev.Kind == machine.Failed && len(m.d.Conns()) == 0 {
			m.resting = m.d.now.Add(f.Pause)
		}
	}
	return nil
}

// check compares the machine with the model.
func (m *model) check() error {
	up := 0
	for c, n := range m.calls {
		if c.err != nil {
			continue
		}
		up++
		if len(m.queue) > 0 && (m.rules.Connections == 1 || n < c.room) {
			return fmt.Errorf("a Call waits although there is room")
		}
	}
	calls := 0
	for _, n := range m.calls {
		calls += n
	}
	if m.d.Waiting() != len(m.queue) || m.d.Calls() != calls {
		return fmt.Errorf("%d Calls wait, and %d have a connection, want %d and %d", m.d.Waiting(), m.d.Calls(), len(m.queue), calls)
	}
	down := len(m.calls) - up + len(m.leaving)
	if len(m.queue) > 0 && !m.dialling && down == 0 && up < m.rules.Connections && m.d.fx.Wake.IsZero() {
		return fmt.Errorf("%d Calls wait, and nothing is on its way", len(m.queue))
	}
	if m.closed && (len(m.queue) > 0 || len(m.calls) > 0) {
		return fmt.Errorf("after Close %d Calls wait, and there are %d connections", len(m.queue), len(m.calls))
	}
	s := m.d.Stats()
	if int(s.Connects) != m.made || s.Lost != m.counted.Lost {
		return fmt.Errorf("%+v, want %d made and %d lost", s, m.made, m.counted.Lost)
	}
	return nil
}
