package tcp

import (
	"context"
	"fmt"
	"math"

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

// exchange sends a Call and waits for its end.
func (c *Conn) exchange(ctx context.Context, p *pending) error {
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
		case <-c.ctx.Done():
			return c.Err()
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
func (c *Conn) begin(p *pending) error {
	xid := p.call.XID()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if c.plainOnly() {
		return fmt.Errorf("%w: the client has not begun TLS, and Config.TLS.Mode is TLSRequired", ErrTLS)
	}
	if c.calls[xid] != nil || c.abandoned.has(xid) {
		return fmt.Errorf("%w: %#x", oncrpc.ErrXIDInUse, xid)
	}
	if c.calls[xid] = p; len(c.calls) == 1 {
		c.resume() // the connection must not stop reading
	}
	c.enqueue(&p.out)
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

// end finishes a Call without a reply. c.mu must be held.
func (c *Conn) end(p *pending, why error) {
	switch p.out.state {
	case queued:
		c.out.queue.remove(&p.out)
	case writing, sent:
		p.sent = !hasNotRun(why)
	}
	delete(c.calls, p.call.XID())
	p.over, p.err = true, why
	p.settle()
}

// abandon gives up a Call whose context is done, unless the Call is over.
func (c *Conn) abandon(p *pending, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.over {
		xid := p.call.XID()
		c.end(p, why)
		if p.sent {
			c.abandoned.add(xid)
		}
	}
	if p.out.state == writing {
		c.out.interrupt()
	}
}

// reply completes the Call that a record answers. It reports whether the Call keeps the record's
// memory.
func (c *Conn) reply(xid uint32, rec []byte) (kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Received++
	p := c.calls[xid]
	if p == nil || p.out.state < writing { // of a cancelled Call, or of none
		if !c.abandoned.remove(xid) {
			c.stats.StrayReplies++
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

// mostAbandoned is half of the largest number of XIDs in an xidSet.
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
