package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
)

// service is the handler of one side: the product's reply cache before the simulation's procedures,
// or these alone.
//
//	serve ──> oncrpc.Request ──> replycache ──> execute ──> replycache ──> responder ──> engine
//	                                └── from the cache ──────────────────────────┘
type service struct {
	handler oncrpc.Handler
	cache   *replycache.Cache // or nil
	open    map[*oncrpc.Request]*responder
}

// newServices returns the handlers of both sides. They are the same for all connections.
func (w *world) newServices() (list [2]service) {
	for i := range list {
		s := service{open: make(map[*oncrpc.Request]*responder)}
		s.handler = oncrpc.HandlerFunc(func(r *oncrpc.Request) { s.open[r].execute() })
		if w.draw.cache {
			s.cache = replycache.New(s.handler, w.cfg.Bugs.cache())
			s.handler = s.cache
		}
		list[i] = s
	}
	return list
}

// fromCache returns the number of Calls that were answered from a cache.
func (w *world) fromCache() (n int) {
	for _, s := range w.services {
		if s.cache != nil {
			st := s.cache.Stats()
			n += int(st.Hits + st.Waited)
		}
	}
	return n
}

// responder is the carrier's side of a Call that an end serves.
type responder struct {
	oncrpc.Responder // the rest is not called
	e                *end
	q                *engine.Request
	p                *rpc
	request          *oncrpc.Request
	turn             *turn // or nil
	began            bool  // its procedure is executed
}

// pass passes a Call to the handler of its side, when there is a place for it.
func (e *end) pass(q *engine.Request, p *rpc, message []byte) {
	if t := e.w.turns; t != nil && e.i == 1 {
		t.start(e, q, p.tag, func(at *turn) { e.handle(q, p, message, at) })
		return
	}
	e.handle(q, p, message, nil)
}

// handle passes a Call to the handler of its side, which has a place until it returns. A procedure
// returns when it has a reply.
func (e *end) handle(q *engine.Request, p *rpc, message []byte, at *turn) {
	r := &responder{e: e, q: q, p: p, turn: at}
	r.request = &oncrpc.Request{Message: message, Responder: r}
	s := &e.w.services[e.i]
	s.open[r.request] = r
	s.handler.ServeRPC(r.request)
	if !r.began {
		at.end()
	}
}

// Conn implements oncrpc.Responder.
func (r *responder) Conn() oncrpc.Conn {
	if r.e.w.cfg.Bugs.ShortGrace {
		return &r.e.conn
	}
	return prober{&r.e.conn}
}

// Context implements oncrpc.Responder.
func (*responder) Context() context.Context { return context.Background() }

// Reply implements oncrpc.Responder.
func (r *responder) Reply(m oncrpc.Message, done func(error)) {
	reply := m.Inline
	r.e.admitted[r.q].replies(len(reply))
	r.later(" answers", done, func() engine.Answer { return r.e.shape(r.q, r.p, reply) })
}

// Drop implements oncrpc.Responder.
func (r *responder) Drop(done func(error)) {
	r.later(" drops", done, func() engine.Answer {
		if !r.e.gone {
			r.e.dropped = true
		}
		return engine.Answer{Drop: true}
	})
}

// later passes the engine an answer: the engine may be in a step now.
func (r *responder) later(how string, done func(error), answer func() engine.Answer) {
	e := r.e
	e.w.after(e.w.soon(), e.name+how, func() {
		delete(e.w.services[e.i].open, r.request)
		e.answer(r.q, answer())
		if done != nil {
			done(nil)
		}
		r.turn.end()
	})
}

// Serve implements oncrpc.Responder. Goroutines call it.
func (r *responder) Serve(h oncrpc.Handler) {
	w := r.e.w
	w.inbox.put(r.p.tag<<8|uint64(r.e.link.number&0xff), r.e.name+" serves again", func() {
		w.tally.again++
		h.ServeRPC(r.request)
	})
}

// conn is an end as its handlers see it.
type conn struct {
	oncrpc.Conn // the rest is not called
	e           *end
	done        chan struct{} // closed when the end is gone
}

// RemoteAddr implements oncrpc.Conn: all connections of the client come from one host.
func (c *conn) RemoteAddr() string { return fmt.Sprintf("192.0.2.1:%d", 1000+c.e.link.number) }

// Peer implements oncrpc.Conn.
func (c *conn) Peer() oncrpc.Peer { return oncrpc.Peer{Addr: c.RemoteAddr()} }

// Done implements oncrpc.Conn.
func (c *conn) Done() <-chan struct{} { return c.done }

// Err implements oncrpc.Conn.
func (c *conn) Err() error { return c.e.err }

// prober is a conn that can find out whether its peer is there.
type prober struct{ *conn }

// Probe implements oncrpc.Prober: a connection whose peer does not answer is closed.
func (c prober) Probe(limit time.Duration) {
	e := c.e
	d := time.Duration(e.w.rng.Int64N(int64(min(limit, peerTimeout)) + 1))
	e.w.after(d, e.name+" has asked its peer", func() {
		e.w.tally.probes++
		if e.link.broken && !e.gone && !e.w.cfg.Bugs.Deaf {
			e.step(engine.Event{Kind: engine.EventBroken, Err: errBroken})
		}
	})
}

// resultOf returns the number of the execution that a reply comes from.
func resultOf(reply []byte) uint64 { return binary.BigEndian.Uint64(reply[16:]) }
