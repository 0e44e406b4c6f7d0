package machine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// over fails a Call that waits.
func (c *Call[C]) over(err error, fx *Effects[C]) {
	c.Err = err
	fx.Over = append(fx.Over, c)
}

// ask puts a Call in the queue.
func (m *Machine[C]) ask(ev *Event[C], fx *Effects[C]) {
	c := ev.Call
	if m.closed {
		c.over(m.rules.Closed, fx)
		return
	}
	if m.isUp() {
		m.stats.Delayed++
		fx.Delayed = true
	}
	c.failures = m.failures
	m.queue = append(m.queue, c)
	if ev.Err != nil {
		m.cancel(c, ev.Err, fx)
	}
}

// cancel fails a Call whose context is done, unless it no longer waits.
func (m *Machine[C]) cancel(c *Call[C], why error, fx *Effects[C]) {
	i := slices.Index(m.queue, c)
	if i < 0 {
		return
	}
	m.queue = slices.Delete(m.queue, i, i+1)
	switch {
	case m.isUp():
		why = fmt.Errorf("%w: it waited for %s, on one of %d connections (ClientConfig.Connections)", why, m.rules.Full, len(m.links))
	case m.failed != nil:
		why = fmt.Errorf("%w with no connection: %w", why, m.failed)
	}
	c.over(why, fx)
}

// givesUp reports whether a waiting Call fails with the last attempt to connect. While a connection
// is up, failures to make a further one end no Call.
func (m *Machine[C]) givesUp(now time.Time, c *Call[C]) bool {
	if m.failed == nil || m.isUp() {
		return false
	}
	if m.rules.DialFailures == 0 && len(m.links)+len(m.ending) == 0 && m.first.pauses(now) && !(c.Again && m.hasLost()) {
		return true
	}
	n := m.failures - c.failures
	return n > 0 && (m.rules.Lasting(m.failed) || n > m.patience())
}

// hasLost reports whether the pause follows a connection, not a failure to connect. A Call that was
// on that connection waits, or Retransmits would have no effect on it.
func (m *Machine[C]) hasLost() bool {
	return errors.Is(m.failed, errUseless) || errors.Is(m.failed, errShort)
}

// patience returns the number of failures through which a Call waits.
func (m *Machine[C]) patience() uint64 {
	switch {
	case m.rules.DialFailures >= 0:
		return uint64(m.rules.DialFailures)
	case m.isUntried():
		return 0
	}
	return math.MaxUint64
}

// isUntried reports whether the address may be wrong, so that each Call has its own attempt to
// connect and the error.
func (m *Machine[C]) isUntried() bool {
	return m.rules.DialFailures < 0 && m.good == 0 && !m.rules.WaitForServer
}
