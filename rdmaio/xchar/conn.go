package xchar

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Conn is the extension on one connection. All methods are safe for concurrent use. They must not
// be called by a Policy, nor by methods of an rdmaio.ExtensionHandler.
type Conn struct {
	x      *rdmaio.ExtensionConn
	header uint32 // the header type
	most   uint32 // the largest receive size of this side, bytes

	// The rest is used within ExtensionConn.Do and methods of the handler.
	e       *Endpoint
	limits  rdmaio.ExtensionLimits // set last
	waiting map[uint32]*waiter     // by the transaction ID of the request
	changed chan struct{}          // closed and replaced with each change
}

// waiter is a call of Request.
type waiter struct {
	changes []Value
	results []Result
	left    int
	done    chan struct{}
}

// Own returns the characteristics that this side has announced to the peer.
func (c *Conn) Own() (own Characteristics) {
	c.x.Do(func() { own = c.e.Own() })
	return own
}

// Peer returns the characteristics of the peer, or their defaults.
func (c *Conn) Peer() (peer Characteristics) {
	c.x.Do(func() { peer = c.e.Peer() })
	return peer
}

// PeerBackward returns the peer's support of backward requests, as Endpoint.PeerBackward does.
func (c *Conn) PeerBackward() (level wire.BackwardSupport, probe bool) {
	c.x.Do(func() { level, probe = c.e.PeerBackward() })
	return level, probe
}

// OwnState returns the state of this side's characteristic.
func (c *Conn) OwnState(id wire.ID) (s State) {
	c.x.Do(func() { s = c.e.OwnState(id) })
	return s
}

// PeerState returns the state of the peer's characteristic.
func (c *Conn) PeerState(id wire.ID) (s State) {
	c.x.Do(func() { s = c.e.PeerState(id) })
	return s
}

// Stats returns the counts of messages that were not applied.
func (c *Conn) Stats() (s Stats) {
	c.x.Do(func() { s = c.e.Stats() })
	return s
}

// Changed returns a channel that is closed when a characteristic or a state of one has changed, on
// either side. Get the channel before looking at values, to miss no change.
func (c *Conn) Changed() (next <-chan struct{}) {
	c.x.Do(func() { next = c.changed })
	return next
}

// Request asks the peer to change its characteristics, and waits for the answer. The results are in
// the order of changes: each is Done, Rejected or Pending. Settled waits until a pending one is
// complete. If the peer answers with an error, all are Rejected (section 3).
//
// A request for a smaller receive size limits the messages of this side at once, even if ctx is
// done before the answer comes. The error wraps ErrUnsupported if the peer does not support
// requests, or ErrFixed, ErrTooMany, the error of ctx, or the connection's error.
func (c *Conn) Request(ctx context.Context, changes ...Value) ([]Result, error) {
	w := &waiter{changes: changes, results: make([]Result, len(changes)), left: len(changes), done: make(chan struct{})}
	var err error
	c.x.Do(func() { err = c.request(w) })
	if err != nil {
		return nil, err
	}
	select {
	case <-w.done:
		return w.results, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("xchar: no answer to the request: %w", ctx.Err())
	case <-c.x.Conn().Done():
		return nil, c.x.Conn().Err()
	}
}

// request sends a request.
func (c *Conn) request(w *waiter) error {
	for _, v := range w.changes {
		if v.ID == wire.IDReceiveBufferSize && v.Word < leastReceive {
			return fmt.Errorf("xchar: %v: must be %d or more, so that all messages of this side fit", v, leastReceive)
		}
	}
	if err := c.x.Conn().Err(); err != nil {
		return err
	}
	xid := c.x.XID()
	m, err := c.e.Request(xid, w.changes...)
	if err != nil {
		return err
	}
	c.waiting[xid] = w
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §3.1; R238, T113: before the request is sent
	c.limit()
	c.send(m)
	c.notify()
	return nil
}

// Settled waits until no change to a peer's characteristic is requested or pending, and
// returns the peer's characteristics.
func (c *Conn) Settled(ctx context.Context, id wire.ID) (Characteristics, error) {
	for {
		changed := c.Changed()
		if s := c.PeerState(id); s != StateRequested && s != StatePending {
			return c.Peer(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return c.Peer(), fmt.Errorf("xchar: characteristic %d of the peer is %v: %w", id, c.PeerState(id), ctx.Err())
		case <-c.x.Conn().Done():
			return c.Peer(), c.x.Conn().Err()
		}
	}
}

// Set changes a characteristic of this side without a request of the peer. A larger receive size,
// at most rdmaio.Config.InlineRecv, is announced when all smaller Receives are used up: Own then
// returns it. The errors are Endpoint.Set's, and the connection's.
func (c *Conn) Set(v Value) (err error) {
	c.x.Do(func() {
		if v.ID == wire.IDReceiveBufferSize && v.Word > c.most {
			err = fmt.Errorf("xchar: %v: at most %d, rdmaio.Config.InlineRecv", v, c.most)
			return
		}
		err = c.decide(func() (Effects, error) { return c.e.Set(v) })
	})
	return err
}

// Settle makes or drops a change that the Policy deferred. The error wraps ErrNotPending without
// such a change.
func (c *Conn) Settle(id wire.ID, accept bool) (err error) {
	c.x.Do(func() {
		err = c.decide(func() (Effects, error) { return c.e.Settle(id, accept) })
	})
	return err
}

// decide carries out a decision of this side.
func (c *Conn) decide(f func() (Effects, error)) error {
	if err := c.x.Conn().Err(); err != nil {
		return err
	}
	out, err := f()
	if err == nil {
		c.carryOut(out)
	}
	return err
}

// carryOut carries out effects.
func (c *Conn) carryOut(out Effects) {
	for _, m := range out.Send {
		c.send(m)
	}
	if out.Post != 0 {
		if err := c.x.SetReceiveSize(int(out.Post)); err != nil {
			c.x.Fail(err)
		}
	}
	for _, o := range out.Outcomes {
		c.conclude(o)
	}
	c.limit()
	c.notify()
}

// conclude records the result of a change for its call of Request, which returns after the first
// result of each change.
func (c *Conn) conclude(o Outcome) {
	w := c.waiting[o.XID]
	if w == nil {
		return
	}
	for i, v := range w.changes {
		if v == o.Value && w.results[i] == 0 {
			w.results[i] = o.Result
			w.left--
		}
	}
	if w.left == 0 {
		delete(c.waiting, o.XID)
		close(w.done)
	}
}

// limit applies the peer's characteristics to what this side sends from now on.
func (c *Conn) limit() { // R238, R239, R240, R241
	var l rdmaio.ExtensionLimits
	advertised := uint32(c.x.AdvertisedSend())
	if n := c.e.SendLimit(advertised); c.e.peer[receiveSize].stated || n != advertised {
		l.InlineSend = int(min(max(n, leastReceive), math.MaxInt32))
	}
	l.NoInvalidate = !c.e.MayInvalidate()
	if p := c.e.peer[backward]; p.stated && c.x.Accepted() {
		switch wire.BackwardSupport(p.word) {
		case wire.BackwardNone:
			l.Reverse = rdmaio.ReverseNone
		case wire.BackwardSizeLimited:
			l.Reverse = rdmaio.ReverseInline
		}
	}
	if l != c.limits {
		c.limits = l
		c.x.SetLimits(l)
	}
}

// send sends a message. A message that is lost would leave the two sides with different states, so
// the connection is closed then.
func (c *Conn) send(m Message) {
	xid := m.XID
	answer := m.Header.Direction != 0
	if xid == 0 && !answer {
		xid = c.x.XID()
	}
	err := c.x.Send(&rdmaio.ExtensionMessage{Type: c.header, XID: xid, Response: answer, Body: &m.Header})
	if err != nil && c.x.Conn().Err() == nil {
		c.x.Fail(err)
	}
}

// notify closes the channel of Changed.
func (c *Conn) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// failed takes the error for a message that this side sent.
func (c *Conn) failed(e *rdmaio.ExtensionError) { // R258
	code := rpcrdma2.ErrCode(e.Code)
	var size *rdmaio.SizeError
	if errors.As(e.Err, &size) {
		code = rpcrdma2.ErrSystem
	}
	if out, ours := c.e.PeerError(e.XID, code); ours {
		c.carryOut(out)
	}
}
