package rdmaio

import (
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/lograte"
	"github.com/rpcrdma/rpcrdma/internal/places"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// shared holds the state that all connections of a server share.
type shared struct {
	memory budget
	joined joinedMemory
	places places.Places[request]
	faults *slog.Logger // for errors and panics of handlers
	log    *slog.Logger // for records that peers can cause

	// ends is for why a connection ended. It has a rate limit of its own, so that peers cannot hide
	// these records behind others.
	ends *slog.Logger
}

// newShared returns a state without limits.
func newShared(set settings) *shared {
	return &shared{
		places: places.Places[request]{Run: (*request).run},
		faults: lograte.New(set.faults), log: lograte.New(set.Logger), ends: lograte.New(set.Logger),
	}
}

// budget is an amount of memory in bytes. The zero budget has no limit.
type budget struct {
	most int64
	used atomic.Int64
}

// reserve takes n bytes if that many are left, and reports whether it did.
func (b *budget) reserve(n int) bool {
	if used := b.used.Add(int64(n)); b.most == 0 || used <= b.most {
		return true
	}
	b.used.Add(int64(-n))
	return false
}

// release returns n bytes.
func (b *budget) release(n int) { b.used.Add(int64(-n)) }

// left returns the number of bytes that may still be taken.
func (b *budget) left() int {
	if b.most == 0 {
		return math.MaxInt
	}
	return int(max(b.most-b.used.Load(), 0))
}

// freeMemory is the number of bytes that a connection may take for Calls with chunks before the
// peer has delivered any. With what a first message adds, this fills a buffer of 32 KiB.
// perDelivered is the number of bytes that it may take for each byte delivered. Buffers are up to a
// quarter longer than their contents, so a peer can make the server use 64 KiB, and four bytes for
// each byte that it delivers.
const (
	freeMemory   = 31 << 10
	perDelivered = 3
)

// chunkMemory is the memory of a connection's Calls with chunks. Only the runner of the engine uses
// it.
//
// A header of 100 bytes can name a MiB, so memory follows the bytes that arrived (freeMemory,
// perDelivered). A Call that is longer begins in a short buffer and moves to a longer one when that
// is full. One Call at a time does so, and all further ones wait behind it. So memory waits for the
// peer only, never for a handler: a Call that was delivered has added more to the allowance than it
// uses.
type chunkMemory struct {
	used    int
	waiting []*engine.Request
	growing *engine.Request // does not have all of its memory yet
	asks    bool            // the growing Call waits for more
}

// queueAssembly gives a Call with chunks an assembly buffer, or lets it wait for one. The Call
// keeps its Receive meanwhile, so that a peer that wants too much at a time slows down only itself
// (R309).
func (c *Conn) queueAssembly(q *engine.Request) {
	m := &c.chunks
	fits := c.fits(q)
	switch {
	case q == m.growing:
		m.asks = true
	case fits && m.growing == nil && len(m.waiting) == 0:
		m.growing, m.asks = q, true
	default:
		m.waiting = append(m.waiting, q)
		if !fits {
			c.limitReached(LimitMaxConnMemory)
		}
	}
	c.grantWaiting()
}

// fits reports whether a Call with chunks may begin. The only one of a connection always may. A
// connection may use at most as much as remains after it, so n greedy connections still leave
// 1/(n+1) of the budget, and a Call of another client is not refused because of them (R309).
func (c *Conn) fits(q *engine.Request) bool {
	m := &c.chunks
	return m.used == 0 || m.used+q.AssemblySize <= min(c.set.MaxConnMemory, c.shared.memory.left())
}

// grantWaiting gives memory to the growing Call and to those that wait, in their order, while there
// is enough.
func (c *Conn) grantWaiting() {
	m := &c.chunks
	for {
		if m.growing == nil && len(m.waiting) > 0 && c.fits(m.waiting[0]) {
			m.growing, m.asks = m.waiting[0], true
			m.waiting = m.waiting[1:]
		}
		if !m.asks {
			return
		}
		q := m.growing
		n := c.allowed(q)
		if n < min(q.AssemblySize, q.AssemblyFilled+freeMemory) {
			return // too little for a round trip: the bytes on their way will allow more
		}
		m.asks = false
		if n == q.AssemblySize {
			m.growing = nil
		}
		c.grant(q, n)
	}
}

// allowed returns the number of bytes that the growing Call may have now.
func (c *Conn) allowed(q *engine.Request) int {
	more := freeMemory + perDelivered*int64(c.driver.Delivered()) - int64(c.chunks.used)
	return int(min(int64(q.AssemblySize), int64(q.AssemblyFilled)+more))
}

// grant gives a Call an assembly buffer of n bytes, and moves the bytes there that the Call has
// already.
func (c *Conn) grant(q *engine.Request, n int) {
	ev := engine.Event{Kind: engine.EventAssembly, Request: q}
	r, _ := q.Owner.(*request)
	have := 0
	if r != nil {
		have = r.assemblyBytes
	}
	if !c.shared.memory.reserve(n - have) {
		c.limitReached(LimitMaxMemory)
		ev.Err = fmt.Errorf("%w: a Call needs %d bytes, Config.MaxMemory is %d", ErrMemory, q.AssemblySize, c.set.MaxMemory)
	} else if b, err := c.pool.Buffer(q.AssemblyLead + n); err != nil {
		c.shared.memory.release(n - have)
		ev.Err = err
	} else {
		c.chunks.used += n - have
		if r == nil {
			r = newRequest(c, q)
			q.Owner = r
		} else {
			copy(b.Bytes[q.AssemblyLead:], q.Assembly.Bytes[:q.AssemblyFilled])
			ev.Err = c.pool.Discard(r.assembly)
		}
		r.assembly, r.assemblyBytes = b, n
		q.Assembly = engine.Buffer{MR: b.MR, Offset: q.AssemblyLead, Bytes: b.Bytes[q.AssemblyLead:]}
	}
	if ev.Err != nil {
		if c.chunks.growing == q {
			c.chunks.growing = nil
		}
		c.log.Warn("rdmaio: a call was refused", "queue_pair", c.qp.Num(), "reason", ev.Err)
	}
	c.driver.Post(ev)
}

// reclaim takes back the memory of a Call and grants it to those that wait.
func (c *Conn) reclaim(n int) {
	c.shared.memory.release(n)
	c.chunks.used -= n
	c.grantWaiting()
}

// failWaiting fails the Calls that wait for memory. The connection has ended.
func (c *Conn) failWaiting(why error) {
	m := &c.chunks
	if m.asks {
		m.waiting = append(m.waiting, m.growing)
	}
	for _, q := range m.waiting {
		c.driver.Post(engine.Event{Kind: engine.EventAssembly, Request: q, Err: why})
	}
	m.waiting, m.growing, m.asks = nil, nil, false
}
