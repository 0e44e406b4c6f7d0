package rdmaio

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// shared is what the connections of a server have in common.
type shared struct {
	memory budget
	places places
	faults *slog.Logger // of handlers
	log    *slog.Logger // for what peers can cause
	ends   *slog.Logger // for what ended a connection: limited by itself, so that peers cannot hide it behind other noise
}

// budget is a number of bytes. The zero one has no end.
type budget struct {
	most int64
	used atomic.Int64
}

// take takes n, if there is that much.
func (b *budget) take(n int) bool {
	if used := b.used.Add(int64(n)); b.most == 0 || used <= b.most {
		return true
	}
	b.used.Add(int64(-n))
	return false
}

func (b *budget) give(n int) { b.used.Add(int64(-n)) }

// left is how much may still be taken.
func (b *budget) left() int {
	if b.most == 0 {
		return math.MaxInt
	}
	return int(max(b.most-b.used.Load(), 0))
}

// freeMemory is how many bytes a connection may take for Calls with chunks before the peer has delivered any. With what a
// first message allows this fills a buffer of 32 KiB. perDelivered is how many more it may take for each byte that came. Buffers
// are up to a quarter longer than what is in them, so that 64 KiB and four bytes for each that came is what a peer can cost.
const (
	freeMemory   = 31 << 10
	perDelivered = 3
)

// chunkMemory is the memory of a connection's Calls with chunks. It is for the one who runs the engine.
//
// A header of 100 bytes can name a MiB, so memory follows what has arrived (freeMemory, perDelivered). A Call that is longer than that begins in a short buffer and moves to a
// longer one when that is full; one Call does so at a time, and all further ones wait behind it. Memory thus waits for the peer
// only, never for a handler: a Call that was delivered has brought more allowance than it uses.
type chunkMemory struct {
	used    int
	waiting []*engine.Request
	growing *engine.Request // has a part of its memory at most
	asks    bool            // the growing Call waits for more
}

// queueAssembly gives a Call with chunks memory to be assembled in, or lets it wait. The Call keeps its Receive meanwhile, so that
// a peer that wants too much at a time slows down only itself (R309).
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

// fits reports whether a Call with chunks may begin. One alone always may. A connection takes no more
// than it leaves to all others, so that n of them that take what they can leave a part in n+1, and a Call of
// another client is not refused because of them (R309).
func (c *Conn) fits(q *engine.Request) bool {
	m := &c.chunks
	return m.used == 0 || m.used+q.AssemblySize <= min(c.set.MaxConnMemory, c.shared.memory.left())
}

// grantWaiting gives memory to the growing Call and to those that wait, in their order, as far as there is enough now.
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
			return // not worth a round trip: what is on its way allows more
		}
		m.asks = false
		if n == q.AssemblySize {
			m.growing = nil
		}
		c.grant(q, n)
	}
}

// allowed is how many bytes the growing Call may have by what the peer has delivered.
func (c *Conn) allowed(q *engine.Request) int {
	more := freeMemory + perDelivered*int64(c.engine.Delivered()) - int64(c.chunks.used)
	return int(min(int64(q.AssemblySize), int64(q.AssemblyFilled)+more))
}

// grant gives a Call n bytes of memory, and moves there what it has.
func (c *Conn) grant(q *engine.Request, n int) {
	ev := engine.Event{Kind: engine.EventAssembly, Request: q}
	r, _ := q.Owner.(*Request)
	have := 0
	if r != nil {
		have = r.assemblyBytes
	}
	if !c.shared.memory.take(n - have) {
		c.limitReached(LimitMaxMemory)
		ev.Err = fmt.Errorf("%w: a Call needs %d bytes, Config.MaxMemory is %d", ErrMemory, q.AssemblySize, c.set.MaxMemory)
	} else if b, err := c.pool.Buffer(q.AssemblyLead + n); err != nil {
		c.shared.memory.give(n - have)
		ev.Err = err
	} else {
		c.chunks.used += n - have
		if r == nil {
			r = &Request{conn: c, req: q}
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
	c.post(ev)
}

// returned takes the memory of a Call back, and lets others have it.
func (c *Conn) returned(n int) {
	c.shared.memory.give(n)
	c.chunks.used -= n
	c.grantWaiting()
}

// failWaiting ends the wait of Calls whose connection is gone.
func (c *Conn) failWaiting(why error) {
	m := &c.chunks
	if m.asks {
		m.waiting = append(m.waiting, m.growing)
	}
	for _, q := range m.waiting {
		c.post(engine.Event{Kind: engine.EventAssembly, Request: q, Err: why})
	}
	m.waiting, m.growing, m.asks = nil, nil, false
}

// maxRecords is how many records a second a peer can cause.
const maxRecords = 10

// limited is a slog.Handler that leaves out records below slog.LevelError when there are too many in a second, and says how many.
type limited struct {
	slog.Handler
	state *limitState
}

type limitState struct {
	mu      sync.Mutex
	began   time.Time
	records int
	omitted int
}

// newLimited wraps a logger for what a peer can cause.
func newLimited(l *slog.Logger) *slog.Logger {
	return slog.New(limited{l.Handler(), new(limitState)})
}

// Handle implements slog.Handler.
func (l limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		omitted, ok := l.state.allow(r.Time)
		if !ok {
			return nil
		}
		if omitted > 0 {
			r.AddAttrs(slog.Int("omitted", omitted))
		}
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limited{l.Handler.WithAttrs(attrs), l.state}
}

// WithGroup implements slog.Handler.
func (l limited) WithGroup(name string) slog.Handler {
	return limited{l.Handler.WithGroup(name), l.state}
}

// allow reports whether there is room for a record, and how many there was none for.
func (s *limitState) allow(now time.Time) (omitted int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.began) >= time.Second {
		s.began, s.records = now, 0
	}
	if s.records == maxRecords {
		s.omitted++
		return 0, false
	}
	s.records++
	omitted, s.omitted = s.omitted, 0
	return omitted, true
}
