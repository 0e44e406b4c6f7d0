package rdmaio

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
)

// givenUp sends the peer the XIDs of this side's Calls that were given up (package cancel).
//
//	interrupted ──> outbox ──> tell: a goroutine, while there are any ──> outbox
//
// Each Call of the program takes a credit, as other Calls do, but goes before those that wait. One
// credit of eight or more is kept for it, until the peer turns out not to have the program. With
// fewer it may wait for a credit, until a Client replaces the connection after
// ClientConfig.StuckTimeout.
type givenUp struct {
	mu      sync.Mutex
	outbox  cancel.Outbox
	telling bool // the goroutine runs
	answers atomic.Uint64
}

// giveUp lets the peer know that a Call that was sent was given up.
func (c *caller) giveUp(xid uint32) {
	if c.set.NoCancel {
		return
	}
	c.given.mu.Lock()
	defer c.given.mu.Unlock()
	c.given.outbox.Add(xid)
	if !c.given.telling && c.given.outbox.Waiting() {
		c.given.telling = true
		go c.tell()
	}
}

// tell makes Calls of package cancel as long as there are XIDs.
func (c *caller) tell() {
	for {
		xid := c.xids.Next()
		c.given.mu.Lock()
		message := c.given.outbox.Next(xid)
		if c.given.telling = message != nil; !c.given.telling {
			c.given.mu.Unlock()
			return
		}
		c.given.mu.Unlock()
		answer := c.tellNow(&Call{Message: Message{Inline: message}})
		c.given.mu.Lock()
		has := c.given.outbox.Answered(xid, answer)
		c.given.mu.Unlock()
		if !has {
			c.driver.Post(engine.Event{Kind: engine.EventSpend})
		}
	}
}

// tellNow makes a Call of package cancel in the slot for that, and returns the reply. It returns
// nil if the connection is lost, or the peer refused the message.
func (c *caller) tellNow(call *Call) []byte {
	select {
	case <-c.slots.urgent:
	case <-c.ctx.Done():
		return nil
	}
	s := c.slots.takeUrgent()
	defer c.put(s, false)
	reply, err := c.exchangeIn(c.ctx, s, call, nil)
	if err != nil {
		return nil
	}
	c.given.answers.Add(1)
	return reply.Message
}

// running are the Requests of a connection that have no answer. Only the runner of the engine uses
// it.
type running struct {
	first *request
	got   atomic.Uint64 // Stats.CanceledRequests
}

// add adds a Request.
func (l *running) add(r *request) {
	if r.next = l.first; r.next != nil {
		r.next.prev = r
	}
	l.first = r
}

// remove removes a Request that was added.
func (l *running) remove(r *request) {
	if r.prev == nil {
		l.first = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	r.prev, r.next = nil, nil
}

// cancel cancels the contexts of the Requests with these XIDs. Other XIDs mean nothing: their
// answers are on the way, or this connection has no such Request.
func (l *running) cancel(xids []uint32) {
	given := make(map[uint32]bool, len(xids))
	for _, xid := range xids {
		given[xid] = true
	}
	for r := l.first; r != nil; r = r.next {
		if given[r.req.XID] && r.life.cancel() {
			l.got.Add(1)
		}
	}
}

// life is the context of a Request. It is made when a handler asks for it.
type life struct {
	asked    atomic.Bool // a handler has asked for it; set before its making
	mu       sync.Mutex
	ctx      context.Context // or nil
	stop     context.CancelCauseFunc
	canceled atomic.Bool // the caller has given up
}

// cancel cancels the context, and reports whether the caller had not given up before.
func (l *life) cancel() bool {
	if l.canceled.Swap(true) {
		return false
	}
	l.end(oncrpc.ErrCanceled)
	return true
}

// context returns the context, a child of the connection's.
func (l *life) context(of context.Context) context.Context {
	l.asked.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.stop = context.WithCancelCause(of)
		if l.canceled.Load() {
			l.stop(oncrpc.ErrCanceled)
		}
	}
	return l.ctx
}

// end cancels the context, if a handler has asked for it. One that asks just now finds canceled,
// which is set before.
func (l *life) end(why error) {
	if !l.asked.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop(why)
	}
}

// cancel cancels the Calls of the peer with these XIDs. Those that wait for memory are refused, and
// give back their credits.
func (a *answerer) cancel(xids []uint32) {
	a.running.cancel(xids)
	for _, q := range a.chunks.remove(xids) {
		a.running.got.Add(1)
		a.driver.Post(engine.Event{Kind: engine.EventAssembly, Request: q, Err: &engine.Error{Reason: engine.ErrGivenUp}})
	}
}
