package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// ErrMemory: the Calls of all connections of a server that have chunks have as much memory
// as Config.MaxMemory allows, so that one was refused by ERR_CHUNK.
var ErrMemory = errors.New("rdmaio: no memory left for Calls with chunks")

// shared is what the connections of a server have in common.
type shared struct {
	memory   budget
	handlers chan struct{} // a place for each one that may run; nil: no limit
	log      *slog.Logger  // for what peers can cause
	ends     *slog.Logger  // for that which ended a connection, lest the former leave no room for it
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

// hoard is the memory of a connection's Calls with chunks. It is for the one who runs the engine.
type hoard struct {
	used    int
	waiting []*engine.Request // for others to be answered
}

// sink gives a Call with chunks the memory to be put together in, or lets it wait. It has
// its Receive meanwhile, so that a peer who wants too much at a time slows down himself only (R309).
func (c *Conn) sink(q *engine.Request) {
	if h := &c.hoard; len(h.waiting) > 0 || !c.affords(q) {
		h.waiting = append(h.waiting, q)
		c.hit(LimitMaxConnMemory)
		return
	}
	c.allot(q)
}

// affords reports whether a Call with chunks may go on now. One alone may always try. A connection takes no more
// than it leaves to all others: so n of them that take what they can leave a part in n+1, and a Call of
// another client is not refused because of them (R309).
func (c *Conn) affords(q *engine.Request) bool {
	h := &c.hoard
	return h.used == 0 || h.used+q.SinkSize <= min(c.set.MaxConnMemory, c.shared.memory.left())
}

// allot gives a Call its memory.
func (c *Conn) allot(q *engine.Request) {
	ev := engine.Event{Kind: engine.EventSink, Request: q}
	if !c.shared.memory.take(q.SinkSize) {
		c.hit(LimitMaxMemory)
		ev.Err = fmt.Errorf("%w: a Call needs %d bytes, Config.MaxMemory is %d", ErrMemory, q.SinkSize, c.set.MaxMemory)
	} else if b, err := c.pool.Buffer(q.SinkLead + q.SinkSize); err != nil {
		c.shared.memory.give(q.SinkSize)
		ev.Err = err
	} else {
		c.hoard.used += q.SinkSize
		q.Sink = engine.Buffer{MR: b.MR, Offset: q.SinkLead, Bytes: b.Bytes[q.SinkLead:]}
		q.Owner = &Request{conn: c, req: q, sink: b}
	}
	if ev.Err != nil {
		c.log.Warn("rdmaio: a call was refused", "queue_pair", c.qp.Num(), "reason", ev.Err)
	}
	c.post(ev)
}

// returned takes the memory of a Call back, and lets others have it.
func (c *Conn) returned(n int) {
	c.shared.memory.give(n)
	h := &c.hoard
	h.used -= n
	for len(h.waiting) > 0 && c.affords(h.waiting[0]) {
		q := h.waiting[0]
		h.waiting = h.waiting[1:]
		c.allot(q)
	}
}

// desert ends the wait of Calls whose connection is gone.
func (c *Conn) desert(why error) {
	for _, q := range c.hoard.waiting {
		c.post(engine.Event{Kind: engine.EventSink, Request: q, Err: why})
	}
	c.hoard.waiting = nil
}

// admit waits for a place for a handler, and returns what to take it back from; false if the connection ended
// first. Each connection has one of its own, lest handlers that wait for the clients of some, as long as
// those like, keep out the Calls of all others.
func (c *Conn) admit() (place chan struct{}, ok bool) {
	if c.shared.handlers == nil {
		return nil, true
	}
	select {
	case c.ownPlace <- struct{}{}:
		return c.ownPlace, true
	case c.shared.handlers <- struct{}{}:
		return c.shared.handlers, true
	default:
		c.hit(LimitMaxHandlers)
	}
	select {
	case c.ownPlace <- struct{}{}:
		return c.ownPlace, true
	case c.shared.handlers <- struct{}{}:
		return c.shared.handlers, true
	case <-c.ctx.Done():
		return nil, false
	}
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
