package machine

import (
	"slices"
	"time"
)

// link is a connection.
type link[C Conn] struct {
	conn  C
	calls int       // on it
	used  time.Time // when calls became 0; zero: there was no Call
	made  time.Time

	further bool   // others were up when it was made
	before  uint64 // Machine.useful then
	inRow   int    // Machine.inRow then
	idle    bool   // it was dropped because it was idle
	givenUp bool   // it was among Effects.Drop

	idleAt, lookAt time.Time // of the next checks; zero: none
	health         health
}

// isUp reports whether the connection has not ended.
func (l *link[C]) isUp() bool { return l.conn.Err() == nil }

// isUp reports whether there is a connection, with or without room.
func (m *Machine[C]) isUp() bool { return slices.ContainsFunc(m.links, (*link[C]).isUp) }

// best returns the connection with the fewest Calls, of those that take one more, or nil.
func (m *Machine[C]) best() (best *link[C]) {
	for _, l := range m.links {
		if (best == nil || l.calls < best.calls) && m.takesMore(l) {
			best = l
		}
	}
	return best
}

// takesMore reports whether a further Call may use a connection.
func (m *Machine[C]) takesMore(l *link[C]) bool {
	return l.isUp() && (m.rules.Connections == 1 || l.calls < m.rules.Room(l.conn))
}

// serve gives connections to the Calls at the head of the queue while there is room.
func (m *Machine[C]) serve(fx *Effects[C]) {
	for len(m.queue) > 0 {
		l := m.best()
		if l == nil {
			return
		}
		l.calls++
		m.further = m.further || m.isCrowded(l)
		c := m.queue[0]
		m.queue[0] = nil
		m.queue = m.queue[1:]
		c.Conn = l.conn
		fx.Over = append(fx.Over, c)
	}
}

// release takes back a connection that a Call used, unless it was dropped.
func (m *Machine[C]) release(now time.Time, conn C) {
	if l := m.find(conn); l != nil {
		if l.calls--; l.calls == 0 {
			l.used = now
		}
	}
}

// find returns the link of a connection for Calls, or nil.
func (m *Machine[C]) find(conn C) *link[C] {
	for _, l := range m.links {
		if l.conn == conn {
			return l
		}
	}
	return nil
}

// drop takes a connection from the Calls, and reports whether they had it. Ended must follow.
func (m *Machine[C]) drop(conn C) bool {
	l := m.find(conn)
	if l == nil {
		return false
	}
	m.links = slices.DeleteFunc(m.links, func(e *link[C]) bool { return e == l })
	m.ending = append(m.ending, l)
	return true
}

// check drops the connections that are idle or stuck.
func (m *Machine[C]) check(now time.Time, fx *Effects[C]) {
	for _, l := range slices.Clone(m.links) {
		count := &m.stats.Stuck
		switch {
		case !l.isUp():
			l.idleAt, l.lookAt = time.Time{}, time.Time{} // Ended will come
			continue
		case isDue(now, l.lookAt) && m.isStuck(now, l):
		case isDue(now, l.idleAt) && m.isIdle(now, l):
			l.idle, count = true, &m.stats.IdleCloses
		default:
			continue
		}
		*count++
		m.drop(l.conn)
		l.giveUp(fx)
	}
}

// giveUp makes the driver give up a connection, unless it has to already.
func (l *link[C]) giveUp(fx *Effects[C]) {
	if !l.givenUp {
		l.givenUp = true
		fx.Drop = append(fx.Drop, l.conn)
	}
}

// isDue reports whether the time of a check has come.
func isDue(now, at time.Time) bool { return !at.IsZero() && !now.Before(at) }

// isIdle reports whether a connection had no Call for IdleTimeout. Otherwise it sets the time of
// the next check.
func (m *Machine[C]) isIdle(now time.Time, l *link[C]) bool {
	left := m.rules.IdleTimeout
	if l.calls == 0 {
		left -= now.Sub(l.used)
	}
	l.idleAt = now.Add(left)
	return left <= 0
}

// lookTime is the time between two looks at the health of a connection.
func (m *Machine[C]) lookTime() time.Duration { return max(m.rules.StuckTimeout/2, 1) }

// isStuck reports whether a connection has become useless, and sets the time of the next look.
func (m *Machine[C]) isStuck(now time.Time, l *link[C]) bool {
	l.lookAt = now.Add(m.lookTime())
	return l.health.look(m.rules.Vitals(l.conn))
}

// Vitals are the counts by which a connection is judged.
type Vitals struct {
	Received  uint64 // grows with everything that arrives
	Replied   bool   // a Call got a reply
	Abandoned int    // cancelled Calls that have no reply
	Most      int    // Calls that the connection can have; cancelled ones count
}

// health finds out whether a connection has become useless. Its method look is called every half
// StuckTimeout.
type health struct {
	received uint64 // at the last look
	times    int    // in a row that it looked useless
}

// look reports whether a connection has been useless for StuckTimeout: cancelled Calls have no
// reply, and either there are as many as the connection can have, or nothing at all has come from
// the peer.
func (h *health) look(now Vitals) bool {
	silent := now.Received == h.received
	h.received = now.Received
	if now.Abandoned == 0 || now.Abandoned < now.Most && !silent {
		h.times = 0
		return false
	}
	h.times++
	return h.times > 2
}

// backoff is the pauses between attempts to connect. In the zero backoff there are no pauses.
type backoff struct {
	last time.Duration // the last pause
	next time.Time     // its end
}

// pause begins a pause that is twice as long as the last. It is shortened by up to half, so that
// many Clients do not come back at once.
func pause[C Conn](r Rules[C], b *backoff, now time.Time) {
	var shortened time.Duration
	b.last, shortened = NextPause(b.last, r.MinBackoff, r.MaxBackoff, r.Random)
	b.next = now.Add(shortened)
}

// NextPause returns the pause that follows one of last, twice as long and within least and most,
// and the same shortened by up to half: random returns a random time of 0 to n.
func NextPause(last, least, most time.Duration, random func(n time.Duration) time.Duration) (pause, shortened time.Duration) {
	pause = min(max(2*last, least), most)
	return pause, pause - random(pause/2)
}

// pauses reports whether the pause is not over.
func (b *backoff) pauses(now time.Time) bool { return now.Before(b.next) }
