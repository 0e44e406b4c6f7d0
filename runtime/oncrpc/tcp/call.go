package tcp

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// pending is a Call in progress.
type pending struct {
	out   message
	call  *oncrpc.Call
	over  bool          // there is a reply, or err
	ended bool          // done has its value
	sent  bool          // the peer may have received the Call, or a part of it
	err   error         // nil: the reply is in call
	done  chan struct{} // has room for one
}

// caller makes Calls on a connection. The connection's mu guards calls, abandoned and seen.
//
//	Call ──> slot ──> calls ──┬── reply ───────────────────────────> returns
//	                          └── abandon: the context is done ──> abandoned, until a reply comes
type caller struct {
	conn      *Conn
	ready     atomic.Bool   // this side may make Calls
	slots     chan struct{} // has an element for each Call in progress
	pendings  sync.Pool     // of *pending; its own, for the channels of testing/synctest
	calls     map[uint32]*pending
	abandoned xidSet
	cancels   cancels
	seen      machine.Vitals // Received counts records
}

// newPending returns a pending for caller.pendings.
func newPending() any {
	p := &pending{done: make(chan struct{}, 1)}
	p.out.call = p
	return p
}

// Call implements oncrpc.Carrier. On an accepted connection it needs AllowReverse.
func (c *Conn) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	if call == nil {
		return nil, &oncrpc.CallError{Err: fmt.Errorf("%w: the Call is nil", oncrpc.ErrMessage)}
	}
	if err := call.Check(oncrpc.MsgCall); err != nil {
		return nil, &oncrpc.CallError{Err: err}
	}
	p := c.pendings.Get().(*pending)
	p.call, p.out.Message = call, call.Message
	err := c.exchange(ctx, p)
	if err != nil {
		err = &oncrpc.CallError{XID: call.XID(), MayHaveRun: p.sent, Err: err}
	}
	p.call, p.out.Message, p.out.state = nil, oncrpc.Message{}, idle
	p.over, p.ended, p.sent, p.err = false, false, false, nil
	c.pendings.Put(p)
	if err != nil {
		return nil, err
	}
	return &call.Reply, nil
}

// exchange sends a Call and waits until it is over.
func (c *caller) exchange(ctx context.Context, p *pending) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if size := p.call.Size(nil); size > math.MaxInt32 {
		return fmt.Errorf("%w: %d bytes: a fragment has less than 2 GiB (RFC 5531 §11)", oncrpc.ErrMessage, size)
	}
	if !c.ready.Load() { // RFC 8167 §6 has the rule for RDMA
		return fmt.Errorf("%w before Conn.AllowReverse: call it when the upper layer knows that the peer serves them", oncrpc.ErrReverse)
	}
	select {
	case c.slots <- struct{}{}:
	default:
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.conn.ctx.Done():
			return c.conn.Err()
		}
	}
	defer func() { <-c.slots }()
	if err := c.begin(p); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		c.abandon(p, ctx.Err())
		<-p.done // comes at once: see interrupt
	}
	return p.err
}

// begin queues a Call.
func (c *caller) begin(p *pending) error {
	xid := p.call.XID()
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if c.conn.err != nil {
		return c.conn.err
	}
	if c.conn.plainOnly() {
		return fmt.Errorf("%w: the client has not begun TLS, and Config.TLS.Mode is TLSRequired", ErrTLS)
	}
	if c.calls[xid] != nil || c.abandoned.has(xid) {
		return fmt.Errorf("%w: %#x", oncrpc.ErrXIDInUse, xid)
	}
	if c.calls[xid] = p; len(c.calls) == 1 {
		c.conn.resume() // the connection must not stop reading
	}
	c.conn.cancels.outbox.Forget(xid) // of an earlier Call with this XID
	c.conn.enqueue(&p.out)
	return nil
}

// settle wakes the caller when the Call is over and its memory no longer in use. The
// connection's mu must be held.
func (p *pending) settle() {
	if p.over && !p.ended && p.out.state != writing {
		p.ended = true
		p.done <- struct{}{}
	}
}

// end finishes a Call without a reply. c.conn.mu must be held.
func (c *caller) end(p *pending, why error) {
	switch p.out.state {
	case queued:
		c.conn.out.queue.remove(&p.out)
	case writing, sent:
		p.sent = !hasNotRun(why)
	}
	delete(c.calls, p.call.XID())
	p.over, p.err = true, why
	p.settle()
}

// abandon gives up a Call whose context is done, unless the Call is over.
func (c *caller) abandon(p *pending, why error) {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if !p.over {
		xid := p.call.XID()
		c.end(p, why)
		if p.sent {
			c.abandoned.add(xid)
			c.giveUp(xid)
		}
	}
	if p.out.state == writing {
		c.conn.out.interrupt()
	}
}

// reply completes the Call that a record answers. It reports whether the Call keeps the record's
// memory.
func (c *caller) reply(xid uint32, rec []byte) (kept bool) {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if c.cancelReply(xid, rec) { // it says nothing of the Calls that wait: see vitals
		return false
	}
	c.seen.Received++
	p := c.calls[xid]
	if p == nil || p.out.state < writing { // of a cancelled Call, or of none
		if !c.abandoned.remove(xid) {
			c.conn.stats.StrayReplies++
		}
		return false
	}
	r := &p.call.Reply
	*r = oncrpc.Reply{Items: r.Items[:0]}
	if n := len(rec); n <= len(p.call.ReplyBuf) {
		r.Message = p.call.ReplyBuf[:n:n]
		copy(r.Message, rec)
	} else {
		r.Message, kept = rec, true
	}
	delete(c.calls, xid)
	p.over, c.seen.Replied = true, true
	p.settle()
	return kept
}

// xidSet is a set of XIDs that forgets the oldest when there are too many.
type xidSet struct{ recent, older map[uint32]bool }

// mostAbandoned is half the number of XIDs that an xidSet can hold.
const mostAbandoned = 4096

func (s *xidSet) len() int { return len(s.recent) + len(s.older) }

func (s *xidSet) has(xid uint32) bool { return s.recent[xid] || s.older[xid] }

func (s *xidSet) add(xid uint32) {
	if s.recent == nil || len(s.recent) == mostAbandoned {
		s.recent, s.older = make(map[uint32]bool), s.recent
	}
	s.recent[xid] = true
}

// remove reports whether the XID was in the set.
func (s *xidSet) remove(xid uint32) bool {
	had := s.has(xid)
	delete(s.recent, xid)
	delete(s.older, xid)
	return had
}
