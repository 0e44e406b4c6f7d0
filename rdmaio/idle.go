package rdmaio

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// place is the place of a connection among those that Config.MaxConns allows.
type place struct {
	from admission.Source
	up   bool // false during setup
	left bool // another connection has it
}

// idleSince returns the time since when an accepted connection is idle: it has no Call of the peer,
// and its handlers may not call the client. ok is false if it is in use. The engine's clock begins
// with the driver.
func (c *Conn) idleSince() (since time.Time, ok bool) {
	st := c.driver.Stats()
	if c.caller.ready.Load() || st.Flow.InFlight > 0 || st.Reverse.InFlight > 0 || c.driver.Unanswered() > 0 || c.Err() != nil {
		return since, false
	}
	return c.driver.Began().Add(st.Used), true
}

// explainIdle adds the likely reason to the error of a connection that the server has closed while
// nothing was in progress. No disconnection carries a reason to its peer: libibverbs has no data
// with rdma_disconnect, and the errors of both versions are answers to a message (RFC 8166 §4.5,
// draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3).
func (c *Conn) explainIdle(why error) error {
	st := c.driver.Stats()
	unused := time.Since(c.driver.Began().Add(st.Used)).Round(time.Millisecond)
	if c.role != engine.Requester || !errors.Is(why, verbs.ErrPeerDisconnected) || st.Flow.InFlight+st.Reverse.InFlight > 0 || unused < admission.LeastUnused {
		return why
	}
	return fmt.Errorf("%w: it was unused for %v, and a server closes such a connection after its Config.IdleTimeout, or to make room at its Config.MaxConns: its log has the reason, and a Client connects again with the next Call",
		why, unused)
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
