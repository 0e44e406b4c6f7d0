package rdmaio

import (
	"fmt"
	"maps"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// place is the place of a connection among those that Config.MaxConns allows.
type place struct {
	from admission.Source
	up   bool // false during setup
	left bool // another connection has it
}

// newPause is the time in which a connection without a message does not make room for another one:
// its first Call may be on its way.
const newPause = time.Second

// idleSince returns the time since when an accepted connection is idle: it has no Call of the peer,
// and its handlers may not call the client. ok is false if it is in use. The engine's clock begins
// with the driver.
func (c *Conn) idleSince() (since time.Time, ok bool) {
	st := c.driver.Stats()
	if c.caller.ready.Load() || st.Flow.InFlight > 0 || st.Reverse.InFlight > 0 || c.driver.Unanswered() > 0 || c.Err() != nil {
		return since, false
	}
	since = c.driver.Began().Add(st.Used)
	return since, st.Received > 0 || time.Since(since) >= newPause
}

// retire closes a connection that was idle a moment ago. If Calls have come since, their handlers
// answer first.
func (c *Conn) retire(why error) {
	if c.driver.StartDrain(why) {
		c.driver.PostDrain()
	}
}

// since is admission.Unused.Since. s.mu must be held.
func (s *Server) since(c *Conn) (since time.Time, ok bool) {
	if p := s.conns[c]; p == nil || !p.up || p.left {
		return since, false
	}
	return c.idleSince()
}

// makeRoom closes the connection that has been idle for longest, for one more. It reports whether
// there was one.
func (s *Server) makeRoom() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	c, ok := s.unused.Longest(maps.Keys(s.conns), time.Now())
	if !ok {
		return false
	}
	p := s.conns[c]
	p.left = true
	s.limits.Leave(p.from)
	s.displaced++
	c.retire(fmt.Errorf("%w, the one idle for longest: the server has as many as Config.MaxConns allows (%d)", ErrIdle, s.set.MaxConns))
	return true
}

// watchIdle closes idle connections after Config.IdleTimeout. It runs while there are connections.
func (s *Server) watchIdle() {
	limit := s.set.IdleTimeout
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) == 0 || s.draining {
		s.watch = nil
		return
	}
	expired, next := s.unused.Expired(maps.Keys(s.conns), limit, time.Now())
	for _, c := range expired {
		s.idleCloses++
		c.retire(fmt.Errorf("%w for Config.IdleTimeout (%v)", ErrIdle, limit))
	}
	s.watch.Reset(next)
}
