package tcp

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/places"
)

// shared holds the state that all connections of a server share.
type shared struct {
	budget budget
	places places.Places[request]
}

// alone returns the state of a connection that has no server. It has no limits.
func alone() *shared { return newShared(math.MaxInt, 0) }

// newShared returns a state with limits.
func newShared(memory, handlers int) *shared {
	return &shared{budget: budget{most: memory}, places: places.Places[request]{Most: handlers, Run: (*request).run}}
}

// reserve takes n bytes from the server's budget for the record that is read. It waits for them,
// for RecordTimeout at most.
func (c *Conn) reserve(n int) error {
	if n <= 0 {
		return nil
	}
	var limit <-chan time.Time
	for {
		freed, ok := c.shared.budget.take(n, c.reserved)
		if ok {
			c.reserved += n
			return nil
		}
		c.mu.Lock()
		calls := len(c.calls)
		c.mu.Unlock()
		if calls > 0 {
			return fmt.Errorf("%w: Config.MaxMemory is used up, and it was called", ErrLimit)
		}
		if limit == nil && c.set.RecordTimeout > 0 {
			timer := time.NewTimer(c.set.RecordTimeout)
			defer timer.Stop()
			limit = timer.C
		}
		select {
		case <-freed:
		case <-c.ctx.Done():
			return c.Err()
		case <-limit:
			return fmt.Errorf("%w: no memory within Config.RecordTimeout (%v): Config.MaxMemory is used up", ErrLimit, c.set.RecordTimeout)
		}
	}
}

// maxUnsent is a number of bytes. A connection with more bytes of unwritten replies serves no
// further Request until some are written.
const maxUnsent = 4 << 20

// full reports whether so many bytes of replies are not written that the connection must serve no
// further Request: more than maxUnsent, or than remains of the server's budget. It is not full
// without any. c.mu must be held.
func (c *Conn) full() bool {
	return c.unsent > 0 && (c.unsent > maxUnsent || c.unsent > c.shared.budget.remaining())
}

// awaitRoom waits while the connection is full. It returns false if the connection is closed during
// the wait, or if a write has failed: then no reply can be sent.
func (c *Conn) awaitRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.full() || c.out.broken != nil {
		if c.err == nil && c.out.broken == nil {
			c.wake.Wait()
		}
		if c.err != nil || c.out.broken != nil {
			return false
		}
	}
	return true
}

// budget bounds the memory that all connections of a server share.
type budget struct {
	most int

	mu      sync.Mutex
	used    int           // by Requests
	replies int           // bytes of replies that are not written
	freed   chan struct{} // closed and replaced when some is given back; nil: no reader waits
}

// take takes n bytes for a connection that has own bytes, unless it would then have more than
// remain. If so, it returns a channel that is closed when there may be more. Replies leave half of
// the budget, so that peers that do not read them do not keep out the Requests of others.
func (b *budget) take(n, own int) (freed <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own+n <= b.most-b.used-min(b.replies, b.most/2)-n {
		b.used += n
		return nil, true
	}
	if b.freed == nil {
		b.freed = make(chan struct{})
	}
	return b.freed, false
}

// add counts a reply of n bytes.
func (b *budget) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replies += n
}

// remaining returns the number of bytes that are not taken. It is negative if replies take more.
func (b *budget) remaining() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most - b.used - b.replies
}

// release gives back n bytes for a Request, and reply bytes for the reply.
func (b *budget) release(n, reply int) {
	if n == 0 && reply == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.replies -= reply
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}
