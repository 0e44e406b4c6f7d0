package rdmaio

import (
	"fmt"
	"slices"
	"time"
)

// link is a connection of a Client that Calls may use.
type link struct {
	conn  *Conn
	users int       // Calls on it
	used  time.Time // when users became 0; zero: there was no Call

	further bool   // others were up when it was made
	useful  uint64 // links.useful then
}

// links are the connections of a Client, and the Calls that wait for one. Client.mu guards them.
//
// With several connections a Call gets one on which a credit is free, the one with the fewest Calls
// if there is a choice. All Calls that find none wait in one queue, whichever connection has the
// next free credit. A single connection takes all Calls: they wait for credits there.
//
//	acquire ──> queue is empty, a credit is free ──> on a connection ──> release
//	   │                                                  ▲                 │
//	   └──> queue ──── a credit is free again, ───────────┘ <───────────────┘
//	                   or there is a further connection
type links struct {
	most  int // ClientConfig.Connections
	all   []*link
	queue []*waiter

	useful uint64 // number of closed or lost connections that brought a reply
}

// waiter is a Call in the queue. ready is closed when it has a link.
type waiter struct {
	link     *link
	ready    chan struct{}
	failures uint64 // Client.failures when it began to wait
}

// take counts a Call on a connection and returns it. It returns nil if the Call must wait.
func (s *links) take() *link {
	if len(s.queue) > 0 {
		return nil
	}
	l := s.best()
	if l != nil {
		l.users++
	}
	return l
}

// best returns the connection with the fewest Calls, of those that take one more, or nil.
func (s *links) best() (best *link) {
	for _, l := range s.all {
		if (best == nil || l.users < best.users) && s.takesMore(l) {
			best = l
		}
	}
	return best
}

// takesMore reports whether a further Call may use a connection.
func (s *links) takesMore(l *link) bool {
	return l.isUp() && (s.most == 1 || l.users < l.conn.caller.usableCredits())
}

// isUp reports whether there is a connection, with or without a free credit.
func (s *links) isUp() bool { return slices.ContainsFunc(s.all, (*link).isUp) }

// isUp reports whether the connection has not ended.
func (l *link) isUp() bool { return l.conn.Err() == nil }

// isUseful reports whether the connection has brought a reply.
func (l *link) isUseful() bool { return l.conn.Stats().Replies > 0 }

// wait appends a Call to the queue.
func (s *links) wait() *waiter {
	w := &waiter{ready: make(chan struct{})}
	s.queue = append(s.queue, w)
	return w
}

// leave removes a Call from the queue.
func (s *links) leave(w *waiter) {
	if i := slices.Index(s.queue, w); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	}
}

// serve gives connections to the Calls at the head of the queue while there are free credits.
func (s *links) serve() {
	for len(s.queue) > 0 {
		l := s.best()
		if l == nil {
			return
		}
		l.users++
		w := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		w.link = l
		close(w.ready)
	}
}

// of returns the link of a connection, or nil if the Client has dropped it.
func (s *links) of(c *Conn) *link {
	for _, l := range s.all {
		if l.conn == c {
			return l
		}
	}
	return nil
}

// drop removes a connection, and reports whether it was there.
func (s *links) drop(l *link) bool {
	i := slices.Index(s.all, l)
	if i < 0 {
		return false
	}
	s.all = slices.Delete(s.all, i, i+1)
	return true
}

// waited returns the error of a Call whose context ended, with cause, in the queue.
func (s *links) waited(cause error) error {
	return fmt.Errorf("%w: it waited for a credit; the Calls of %d connections had all of them (ClientConfig.Connections, Config.Credits)",
		cause, len(s.all))
}
