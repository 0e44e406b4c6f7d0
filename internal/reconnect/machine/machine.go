package machine

import (
	"slices"
	"time"
)

// Machine is the state of a Client. See the documentation of the package for its states.
type Machine[C Conn] struct {
	rules  Rules[C]
	closed bool
	stats  Stats
	queue  []*Call[C]
	links  []*link[C] // for Calls; a link that is down is among them until Ended
	ending []*link[C] // dropped; Ended has not come
	useful uint64     // connections that ended and brought a reply

	dialling bool
	further  bool    // a Call found others on its connection, and there may be one more
	first    backoff // for attempts while no connection is up
	more     backoff // for attempts while one is
	turned   bool    // the last attempt that ended has turned
	failed   error   // of the last attempt while no connection was up
	failures uint64  // number of such attempts that failed
	inRow    int     // failed attempts since the last connection was made
	good     int     // connections made and not refused
	wake     time.Time
}

// New returns a machine without connections.
func New[C Conn](rules Rules[C]) *Machine[C] { return &Machine[C]{rules: rules} }

// Stats returns the counts.
func (m *Machine[C]) Stats() Stats { return m.stats }

// Conns returns the connections that Calls can get, and those that are down.
func (m *Machine[C]) Conns() (list []C) {
	for _, l := range m.links {
		list = append(list, l.conn)
	}
	return list
}

// Calls returns the number of Calls on connections that were not dropped.
func (m *Machine[C]) Calls() (n int) {
	for _, l := range m.links {
		n += l.calls
	}
	return n
}

// Waiting returns the number of Calls in the queue.
func (m *Machine[C]) Waiting() int { return len(m.queue) }

// Take gives a Call a connection if there is one with room and no other Call waits. Otherwise the
// event Ask must follow. If crowded, the event Crowded must follow, because a further connection
// would help.
func (m *Machine[C]) Take() (conn C, crowded, ok bool) {
	if len(m.queue) > 0 {
		return conn, false, false
	}
	l := m.best()
	if l == nil {
		return conn, false, false
	}
	l.calls++
	return l.conn, !m.further && m.isCrowded(l), true
}

// Closed returns the error of Calls after Close, and nil before.
func (m *Machine[C]) Closed() error {
	if m.closed {
		return m.rules.Closed
	}
	return nil
}

// isCrowded reports whether Calls share a connection although there may be one more.
func (m *Machine[C]) isCrowded(l *link[C]) bool {
	return l.calls > 1 && len(m.links) < m.rules.Connections
}

// Step takes an event.
func (m *Machine[C]) Step(now time.Time, ev *Event[C]) (fx Effects[C]) {
	switch ev.Kind {
	case Release:
		m.release(now, ev.Conn)
		if len(m.queue) == 0 { // nothing else can have changed
			fx.Wake = m.wake
			return fx
		}
	case Ask:
		m.ask(ev, &fx)
	case Cancel:
		m.cancel(ev.Call, ev.Err, &fx)
	case Crowded:
		m.further = true
	case Dialled:
		m.dialling = false
		m.add(now, ev.Conn, &fx)
	case Failed:
		m.dialling = false
		m.attemptFailed(now, ev, m.isUp(), &fx)
	case Ended:
		m.ended(now, ev, &fx)
	case Discard:
		m.drop(ev.Conn)
	case Tick:
		m.check(now, &fx)
	case Close:
		m.close(&fx)
	}
	m.settle(now, &fx)
	return fx
}

// settle does what the state asks for now.
func (m *Machine[C]) settle(now time.Time, fx *Effects[C]) {
	m.serve(fx)
	m.queue = slices.DeleteFunc(m.queue, func(c *Call[C]) bool {
		if !m.givesUp(now, c) {
			return false
		}
		c.over(m.failed, fx)
		return true
	})
	m.wake = time.Time{}
	if m.wanted() {
		b := &m.first
		if m.isUp() {
			b = &m.more
		}
		if m.dialling = !b.pauses(now); m.dialling {
			fx.Dial = true
		} else {
			m.wake = b.next
		}
	}
	for _, l := range m.links {
		for _, at := range []time.Time{l.idleAt, l.lookAt} {
			if !at.IsZero() && (m.wake.IsZero() || at.Before(m.wake)) {
				m.wake = at
			}
		}
	}
	fx.Wake = m.wake
}

// add takes a new connection.
func (m *Machine[C]) add(now time.Time, conn C, fx *Effects[C]) {
	l := &link[C]{conn: conn, made: now, further: m.isUp(), before: m.useful, inRow: m.inRow}
	if m.rules.IdleTimeout > 0 && !m.rules.Keeps {
		l.idleAt = now.Add(m.rules.IdleTimeout)
	}
	if m.rules.StuckTimeout > 0 {
		l.lookAt = now.Add(m.lookTime())
	}
	m.links = append(m.links, l)
	m.failed, m.further, m.inRow = nil, false, 0
	m.stats.Connects++
	m.good++
	if m.closed {
		m.close(fx)
	}
}

// close fails the Calls that wait and drops all connections.
func (m *Machine[C]) close(fx *Effects[C]) {
	m.closed = true
	for _, c := range m.queue {
		c.over(m.rules.Closed, fx)
	}
	m.queue = nil
	m.ending, m.links = append(m.ending, m.links...), nil
	for _, l := range m.ending {
		l.giveUp(fx)
	}
}
