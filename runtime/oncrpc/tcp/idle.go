package tcp

import (
	"fmt"
	"maps"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// Idle connections of a server. A connection is idle while it has no Request and no part of one,
// unless the server may call the client (Conn.AllowReverse).
//
//	in use ──the last answer is written──> idle ──the next Call──> in use
//	                                        │
//	                                        └──IdleTimeout, or room is needed──> retired ──> down
//
// A connection that retires ends with an empty record, as one that is rejected begins with it. It
// says that the client's Calls in progress were not executed (ADR 0182).

// idleSince returns the time since when the connection is idle, or since when a client that has
// closed its direction had no answer: it may have gone. ok is false if it is in use.
func (s *serving) idleSince() (since time.Time, ok bool) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.half.ended {
		return s.half.since, s.conn.err == nil
	}
	return s.unused, s.idle()
}

// idle reports whether the connection is idle. s.conn.mu must be held.
func (s *serving) idle() bool {
	c := s.conn
	return c.err == nil && !s.draining && s.requests == 0 && !c.ready.Load() && !c.switching && !c.in.partial.Load()
}

// rest notes that the connection may have become idle. s.conn.mu must be held.
func (s *serving) rest() {
	if s.conn.accepted && s.requests == 0 {
		s.unused = time.Now()
	}
}

// noteDrop notes that a Request was dropped.
func (s *serving) noteDrop() {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.dropped = true
}

// retire closes the connection with a reason, unless it is in use now. It reports whether it does.
// The client learns that its Calls in progress were not executed, unless a handler has dropped
// some.
func (s *serving) retire(why error) bool {
	c := s.conn
	c.mu.Lock()
	if !s.idle() {
		c.mu.Unlock()
		return false
	}
	s.draining = true // no Call that comes now is executed
	if s.dropped || c.seen.Received == 0 {
		c.mu.Unlock()
		c.fail(why)
		return true
	}
	defer c.mu.Unlock()
	goodbye := &request{conn: c, memory: memories.Get().(*[]byte), ticket: c.reserved.share.Ticket(0), done: func(error) { c.fail(why) }}
	goodbye.out.request = goodbye
	s.requests++
	s.bytes += cap(*goodbye.memory)
	c.enqueue(&goodbye.out)
	return true
}

// place is the place of a connection among those that Config.MaxConns allows.
type place struct {
	source admission.Source
	left   bool // another connection has it
	late   bool // its peer had closed its direction before: admission.Late counts it
}

// makeRoom closes the connection that has been idle for longest, for one more. It reports whether
// there was one. s.mu must be held.
func (s *Server) makeRoom() bool {
	for {
		c, ok := s.unused.Longest(maps.Keys(s.conns), time.Now())
		if !ok {
			return false
		}
		p := s.conns[c]
		why := fmt.Errorf("%w: the server has as many connections as Config.MaxConns allows (%d), and this one was idle for longest", ErrIdle, s.set.MaxConns)
		if p == nil || p.left || !c.retire(why) && !c.half.makeRoom(why) {
			continue
		}
		p.left = true
		s.limits.Leave(p.source)
		s.stats.Displaced++
		return true
	}
}

// since is admission.Unused.Since.
func (s *Server) since(c *Conn) (since time.Time, ok bool) {
	if p := s.conns[c]; p == nil || p.left {
		return since, false
	}
	return c.idleSince()
}

// watchIdle closes idle connections after Config.IdleTimeout. It runs while there are connections.
func (s *Server) watchIdle() {
	limit := s.set.IdleTimeout
	s.mu.Lock()
	if len(s.conns) == 0 {
		s.watch = nil
		s.mu.Unlock()
		return
	}
	expired, next := s.unused.Expired(maps.Keys(s.conns), limit, time.Now())
	s.watch.Reset(next)
	s.mu.Unlock()
	closed := 0
	for _, c := range expired {
		if c.retire(fmt.Errorf("%w for Config.IdleTimeout (%v)", ErrIdle, limit)) {
			closed++
		}
	}
	s.mu.Lock()
	s.stats.IdleCloses += uint64(closed)
	s.mu.Unlock()
}
