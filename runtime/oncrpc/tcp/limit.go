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
func alone() *shared { return &shared{budget: budget{most: math.MaxInt}} }

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

// budget bounds the memory of all connections of a server.
type budget struct {
	most int

	mu    sync.Mutex
	used  int
	freed chan struct{} // closed and replaced when some is given back; nil: no reader waits
}

// take takes n bytes for a connection that has own bytes, unless it would then have more than
// remain. If so, it returns a channel that is closed when there may be more.
func (b *budget) take(n, own int) (freed <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own+n <= b.most-b.used-n {
		b.used += n
		return nil, true
	}
	if b.freed == nil {
		b.freed = make(chan struct{})
	}
	return b.freed, false
}

// release gives back n bytes.
func (b *budget) release(n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}
