package machine

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// wanted reports whether an attempt to connect must begin, or follow a pause.
func (m *Machine[C]) wanted() bool {
	n := len(m.links)
	if m.closed || m.dialling || n >= m.rules.Connections || len(m.ending) > 0 {
		return false
	}
	for _, l := range m.links {
		if !l.isUp() {
			return false // Ended will come
		}
	}
	return len(m.queue) > 0 || m.further || n == 0 && m.keeps()
}

// keeps reports whether a connection must be made again because the server may call (R279, R292).
// The first one is for a Call.
func (m *Machine[C]) keeps() bool {
	return m.rules.Keeps && m.stats.Connects > 0 && (m.rules.Disallowed == nil || !m.rules.Disallowed(m.failed))
}

// attemptFailed begins the pause after an attempt that failed. further says that another connection
// was up.
func (m *Machine[C]) attemptFailed(now time.Time, ev *Event[C], further bool, fx *Effects[C]) {
	if !m.conclude(now, ev.Err, further, ev.Turned) {
		return
	}
	m.stats.DialFailures++
	m.inRow++
	b := &m.more
	if !further {
		b = &m.first
		m.failures++
	}
	if !m.closed {
		fx.Failure = &Failure{InRow: m.inRow, Err: ev.Err, Pause: max(b.next.Sub(now), 0)}
	}
}

// ended forgets a connection, and begins a pause if it was of no use.
func (m *Machine[C]) ended(now time.Time, ev *Event[C], fx *Effects[C]) {
	l := m.find(ev.Conn)
	if l == nil {
		i := slices.IndexFunc(m.ending, func(l *link[C]) bool { return l.conn == ev.Conn })
		if i < 0 {
			return
		}
		l = m.ending[i]
	} else if m.drop(ev.Conn); !m.closed {
		m.stats.Lost++
	}
	m.ending = slices.DeleteFunc(m.ending, func(e *link[C]) bool { return e == l })
	if ev.Refused {
		m.good--
		m.inRow = max(m.inRow, l.inRow)
		m.attemptFailed(now, ev, l.further, fx)
		return
	}
	m.conclude(now, m.judge(now, l, ev), l.further, ev.Turned)
}

// Reasons for a pause after a connection that was made.
var (
	errUseless = errors.New("the connection before this one ended without a reply")
	errShort   = errors.New("the connection before this one ended soon")
)

// judge returns why there must be a pause after a connection, or nil.
func (m *Machine[C]) judge(now time.Time, l *link[C], ev *Event[C]) (why error) {
	useful := l.idle || ev.Useful
	if useful {
		m.useful++
	}
	if !l.further {
		useful = useful || m.useful != l.before || slices.ContainsFunc(m.links, func(l *link[C]) bool { return m.rules.Vitals(l.conn).Replied })
	}
	switch {
	case !useful:
		why = errUseless
	case m.rules.Keeps && now.Sub(l.made) < max(m.first.last, m.rules.MinBackoff):
		why = errShort // it is replaced although no Call waits
	}
	if why != nil && ev.Err != nil {
		why = fmt.Errorf("%w: %w", why, ev.Err)
	}
	return why
}

// conclude is called after an attempt to connect or a connection, and reports whether a pause
// follows. why is nil if the connection was useful.
func (m *Machine[C]) conclude(now time.Time, why error, further, turned bool) (pauses bool) {
	m.further = false
	turned = turned && !m.turned
	switch m.turned = turned; {
	case why == nil:
		m.first = backoff{}
		if further {
			m.more = backoff{}
		}
		return false
	case turned: // with another version, at once
		return false
	case further:
		pause(m.rules, &m.more, now)
		if !m.isUp() {
			m.failed = why // the first one paused before, and a Call can give up
		}
	default:
		if m.isUntried() {
			m.first = backoff{}
		}
		pause(m.rules, &m.first, now)
		m.failed = why
	}
	return true
}
