package tcp

import (
	"context"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
)

// cancels is a connection's side of package cancel. The connection's mu guards it.
//
//	abandon ──> outbox ──> sending ──> reply ──> outbox
//
// A CANCEL has no slot of MaxCalls, and does not count as one in progress: a peer that
// does not answer it loses nothing.
type cancels struct {
	outbox  cancel.Outbox
	sending *pending // a CANCEL in progress, or nil
	got     uint64   // Stats.CanceledRequests
}

// cancelCall lets the peer know that a Call was given up. c.conn.mu must be held.
func (c *caller) cancelCall(xid uint32) {
	if !c.conn.set.NoCancel {
		c.conn.cancels.outbox.Add(xid)
		c.tell()
	}
}

// tell sends the next Call of package cancel, unless one is in progress. c.conn.mu must be held.
func (c *caller) tell() {
	o := &c.conn.cancels.outbox
	if !o.Waiting() || c.conn.err != nil {
		return
	}
	xid := c.conn.xids.Next()
	for c.calls.Get(xid) != nil || c.abandoned.has(xid) {
		xid = c.conn.xids.Next()
	}
	p := c.newPending().(*pending)
	p.call = &oncrpc.Call{Message: oncrpc.Message{Inline: o.Next(xid)}}
	p.out.Message = p.call.Message
	c.conn.cancels.sending = p
	c.conn.enqueue(&p.out)
}

// cancelReply takes the reply to a Call of package cancel, and reports whether it is one.
// c.conn.mu must be held.
func (c *caller) cancelReply(xid uint32, rec []byte) bool {
	p := c.conn.cancels.sending
	if p == nil || p.out.state < writing || p.call.XID() != xid {
		return false
	}
	c.conn.cancels.sending = nil
	c.conn.cancels.outbox.Answered(xid, rec)
	c.tell()
	return true
}

// running are the Requests of a connection that have no answer. The connection's mu guards them.
type running struct{ first *request }

// add adds a Request.
func (l *running) add(r *request) {
	r.listed, r.next = true, l.first
	if l.first != nil {
		l.first.prev = r
	}
	l.first = r
}

// remove removes a Request, if it was added.
func (l *running) remove(r *request) {
	if !r.listed {
		return
	}
	if r.prev == nil {
		l.first = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	r.listed, r.prev, r.next = false, nil, nil
}

// cancelRequests cancels the contexts of the Requests with these XIDs. Other XIDs mean nothing:
// their answers are on the way, or this connection has no such Request.
func (s *serving) cancelRequests(xids []uint32) {
	given := make(map[uint32]bool, len(xids))
	for _, xid := range xids {
		given[xid] = true
	}
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	for r := s.running.first; r != nil; r = r.next {
		if !given[r.xid] || r.canceled.Swap(true) {
			continue
		}
		s.conn.cancels.got++
		if r.stop != nil {
			r.stop(oncrpc.ErrCanceled)
		}
	}
}

// Context implements oncrpc.Responder. The context is made when it is asked for.
func (r *request) Context() context.Context {
	c := r.conn
	if c.set.NoCancel {
		return c.ctx
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ctx == nil {
		r.ctx, r.stop = context.WithCancelCause(c.ctx)
		if r.canceled.Load() {
			r.stop(oncrpc.ErrCanceled)
		}
	}
	return r.ctx
}

// refuseCanceled answers a Request whose handler has not run, and whose caller has given up.
func (r *request) refuseCanceled() {
	b, _ := oncrpc.NewReply(r.xid, oncrpc.SystemErr).AppendBinary(nil) // cannot fail
	r.Request.Reply(oncrpc.Message{Inline: b}, nil)
}
