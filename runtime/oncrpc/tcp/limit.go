package tcp

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// shared holds the state that all connections of a server share.
type shared struct {
	budget admission.Budget
	places admission.Places[request]
	blocks admission.Blockers
	large  atomic.Int32 // see input
	ended  func(*Conn)  // called on another goroutine when a connection is down; may be nil
}

// alone returns the state of a connection that has no server. It has no limits.
func alone() *shared { return newShared(math.MaxInt, 0, 0) }

// newShared returns a state with limits: Config.MaxMemory, MaxReply and MaxHandlers.
func newShared(memory, reply, handlers int) *shared {
	s := &shared{places: admission.Places[request]{Most: handlers, Run: (*request).run}}
	if memory != math.MaxInt {
		s.budget.Most, s.budget.Reply = memory/3*2, reply
	}
	return s
}

// reservation counts the bytes that the record being read has from the server's budget.
type reservation struct {
	share *admission.Share // of its source
	bytes int
	held  atomic.Int64  // bytes, if they are many
	woken chan struct{} // has room for one: share may have memory, or the connection was called

	// Guarded by Conn.mu.
	since time.Time // when came was counted
	came  int64     // of records
}

// manyBytes is the least size of a record's memory for which a connection may be closed.
const manyBytes = 64 << 10

// wake makes a wait for memory look at the connection again.
func (r *reservation) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// give returns the bytes to the budget.
func (r *reservation) give() {
	r.share.Give(r.bytes)
	r.pass()
}

// pass forgets the bytes: a Request has them.
func (r *reservation) pass() {
	if r.bytes = 0; r.held.Load() != 0 {
		r.held.Store(0)
	}
}

// reserve takes n bytes from the server's budget for the record that is being read. With wait it
// waits for them, for RecordTimeout at most.
func (c *Conn) reserve(n int, wait bool) error {
	if n > 0 && !c.reserved.share.Take(n, nil) {
		if !wait {
			return ErrLimit
		}
		c.out.flush()
		if err := c.shared.awaitMemory(c, n); err != nil {
			return err
		}
	}
	if c.reserved.bytes += max(n, 0); c.reserved.bytes >= manyBytes {
		c.reserved.held.Store(int64(c.reserved.bytes))
	}
	return nil
}

// awaitMemory takes n bytes from the budget as soon as it has as many. The wait does not count as
// the peer's time: the times for the first message and for the record begin again.
func (s *shared) awaitMemory(c *Conn, n int) error {
	c.stopFirst()
	defer c.resumeTimes()
	w := &admission.Waiter{Owner: c, Call: c.reserved.wake}
	defer s.budget.Forget(w)
	var limit <-chan time.Time
	for !c.reserved.share.Take(n, w) {
		if c.called() {
			return fmt.Errorf("%w: Config.MaxMemory is used up, and it was called", ErrLimit)
		}
		if limit == nil && c.set.RecordTimeout > 0 {
			timer := time.NewTimer(c.set.RecordTimeout)
			defer timer.Stop()
			limit = timer.C
		}
		select {
		case <-c.reserved.woken:
		case <-c.ctx.Done():
			return c.Err()
		case <-limit:
			return fmt.Errorf("%w: no memory within Config.RecordTimeout (%v): Config.MaxMemory is used up", ErrLimit, c.set.RecordTimeout)
		}
	}
	return nil
}

// called reports whether Calls of this side are in progress: then the connection must read.
func (c *caller) called() bool {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	return c.calls.Len() > 0
}

// resumeTimes lets the times for the first message and for the record begin again.
func (c *Conn) resumeTimes() {
	c.in.renew()
	if c.began {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.startFirst()
	}
}

// awaitTicket waits until there is memory for the reply to a Request, of at most bound bytes unless
// that is negative. It returns false if the connection is closed during the wait.
func (r *request) awaitTicket(bound int) bool {
	if r.ticket.Admit(bound, nil) {
		return true
	}
	r.mayWait()
	return r.ticket.Await(bound, r.conn, r.conn.ctx.Done())
}

// stuck returns the size of unwritten replies if the peer reads too slowly, or 0.
func (s *serving) stuck(now time.Time) int {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if !admission.Stuck(s.unsent, batchBytes, c.out.began, now) {
		return 0
	}
	return s.unsent
}

// trickles returns the size of a record's memory if it is large and less than 64 KiB have come in
// slowTime. Otherwise it returns 0.
func (c *Conn) trickles(now time.Time) int64 {
	n, came := c.reserved.held.Load(), c.in.came.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r := &c.reserved; {
	case n == 0:
		r.since = time.Time{}
	case r.since.IsZero() || came-r.came >= progress:
		r.since, r.came = now, came
	case now.Sub(r.since) >= slowTime:
		return n
	}
	return 0
}

// slowTime is the time in which a record must make progress while others wait for memory.
const slowTime = 500 * time.Millisecond

// maxUnsent is a number of bytes. A connection with more bytes of unwritten replies serves no
// further Request until some are written.
const maxUnsent = 4 << 20

// full reports whether the connection must serve no further Request, because too many bytes of
// replies are not written. s.conn.mu must be held.
func (s *serving) full() bool { return s.unsent > maxUnsent }

// awaitRoom waits while the connection is full. It returns false if the connection is closed during
// the wait, or if a write has failed: then no reply can be sent.
func (s *serving) awaitRoom() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	for s.full() || s.conn.out.broken != nil {
		if s.conn.err == nil && s.conn.out.broken == nil {
			s.conn.wake.Wait()
		}
		if s.conn.err != nil || s.conn.out.broken != nil {
			return false
		}
	}
	return true
}
