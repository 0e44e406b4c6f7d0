package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// slot holds the state of one Call in progress. A connection uses as many at a time as it has
// credits (Conn.slots).
type slot struct {
	call    engine.Call
	done    chan struct{} // has room for one
	regions []callRegion
	left    *leftover // if the Call was cancelled
	ownsBuf bool      // the reply chunk is memory of the connection (Call.MaxReply)
	long    []byte    // a copy of the reply that came there
	shape   shape
	segment int // length of the longest segment offered, bytes
	keys    revocation

	replyMemory int // bytes of replyMemory that the Call has

	// For lone.
	answered   atomic.Bool // the wait for done is over
	polling    atomic.Bool // the caller is in Progress
	isAnswered func() bool // answered.Load
}

func newSlot() *slot {
	s := &slot{done: make(chan struct{}, 1)}
	s.isAnswered = s.answered.Load
	return s
}

// slots are the slots of a connection. Calls hold as many as there are credits at most.
type slots struct {
	free chan struct{} // has a token for each Call that can be made now

	mu     sync.Mutex
	unused []*slot // last used at the end
}

// allow makes n slots, none of which exists yet.
func (l *slots) allow(n int) {
	l.free = make(chan struct{}, n)
	for range n {
		l.free <- struct{}{}
	}
}

// take returns a slot to a Call that has taken a token.
func (l *slots) take() *slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.unused); n > 0 {
		s := l.unused[n-1]
		l.unused = l.unused[:n-1]
		return s
	}
	return newSlot()
}

// put takes a slot back, and gives the token of its Call to another one.
func (l *slots) put(s *slot) {
	s.call.Forget()
	s.left, s.long = nil, nil // long is the caller's
	l.mu.Lock()
	l.unused = append(l.unused, s)
	l.mu.Unlock()
	l.free <- struct{}{}
}

// trim forgets the unused slots.
func (l *slots) trim() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unused = nil
}

// callRegion is a memory region of a Call. chunk is the index in Results, or one of the constants
// below.
type callRegion struct {
	mrpool.Region
	chunk int
}

const (
	replyChunk    = -1
	readChunk     = -2
	ownReplyChunk = -3 // a reply chunk of the connection's memory
)

// Call makes an RPC and waits for the reply or until ctx ends. The error is a *CallError. When Call
// returns, in any case, no key that the peer has for the Call gives access to the caller's memory.
//
// A cancelled Call keeps its credit until the reply arrives, or until the connection ends if none
// does. Until then its keys are redirected to memory of the connection, where a late access of the
// peer does no harm. A connection has at most 16 MiB of it, and 64 KiB for headers. If that is used
// up, or the device cannot redirect keys (verbs.Redirector), the keys are invalidated at once, and
// a late access breaks the connection. With a device whose queue pairs are Revokers
// (verbs.Revoker), a peer that acknowledges nothing can delay the return of Call, but no longer
// than the device's transport tries again.
//
// On an accepted connection this is a reverse Call and needs AllowReverse. Without
// Config.ReverseChunks the Call must fit inline, and Results, ReplyBuf and memory for MaxReply are
// not offered to the peer: the whole reply comes inline, or the error is a *PeerError because the
// reply does not fit.
func (c *Conn) Call(ctx context.Context, call *Call) (*Reply, error) {
	if call == nil {
		return nil, &CallError{Err: fmt.Errorf("%w: the Call is nil", ErrMessage)}
	}
	if err := call.Check(oncrpc.MsgCall); err != nil {
		return nil, &CallError{Err: err}
	}
	if c.set.Events != nil {
		return c.observedExchange(ctx, call)
	}
	return c.exchange(ctx, call, nil)
}

// exchange makes a Call without emitting events. end is nil without Config.Events.
func (c *Conn) exchange(ctx context.Context, call *Call, end *CallEnd) (*Reply, error) {
	sent := false // in any shape
	fail := func(err error) error { return &CallError{XID: call.XID(), MayHaveRun: sent, Err: err} }
	s, err := c.slot(ctx, end)
	if err != nil {
		return nil, fail(err)
	}
	defer c.slots.put(s)

	for s.shape = (shape{}); ; {
		cause := c.attempt(ctx, s, call, end)
		if cause == nil {
			return &call.Reply, nil
		}
		sent = sent || s.call.Sent && !notProcessed(cause)
		if !c.change(s, call, cause) {
			return nil, fail(cause)
		}
		if err := call.Again(ctx); err != nil {
			return nil, fail(err)
		}
	}
}

// attempt sends a Call in the shape of its slot, and waits for the answer.
func (c *Conn) attempt(ctx context.Context, s *slot, call *Call, end *CallEnd) error {
	e := &s.call
	s.ownsBuf = false
	s.answered.Store(false)
	e.XID, e.Owner, e.Err, e.Sent, e.Reply, e.LongReply, e.InvalidatedKey, e.Abandoned = call.XID(), s, nil, false, nil, 0, 0, false
	if err := c.prepare(ctx, s, call); err != nil {
		return errors.Join(err, c.conclude(s))
	}
	c.postCall(e)
	c.lone.begin(s)
	cause := c.wait(ctx, s)
	c.lone.end()
	if end != nil {
		end.record(e)
	}
	if e.Abandoned {
		c.redirect(s)
	}
	// draft-ietf-nfsv4-rpcrdma-version-two-00 §10.1.3; R90, R289, R303: the keys are invalidated
	// before this side reads the memory.
	if err := c.conclude(s); err != nil {
		return err
	}
	if cause == nil {
		cause = c.refusal(s, c.lossOf(translate(e.Err)))
	}
	if cause == nil {
		cause = s.setReply(call)
	}
	if cause == nil && call.MaxReply > 0 && c.pool.InPlace() {
		c.offered.sizes.saw(call)
	}
	return cause
}

// lossOf returns err, or the connection's reason if that says more about a peer that disconnected.
func (c *Conn) lossOf(err error) error {
	if err == nil || !errors.Is(err, verbs.ErrPeerDisconnected) {
		return err
	}
	if why := c.Err(); errors.Is(why, verbs.ErrPeerDisconnected) {
		return why
	}
	return err
}

// postCall posts a Call. While others are in progress, their callers are likely to bring more, and
// PostTogether waits for them.
func (c *Conn) postCall(e *engine.Call) {
	ev := engine.Event{Kind: engine.EventCall, Call: e}
	if cap(c.slots.free)-len(c.slots.free) == 1 {
		c.driver.Post(ev)
		return
	}
	c.driver.PostTogether(ev)
}

// wait waits for the end of a Call. If ctx ends first and no reply has come, it returns the error
// of ctx.
func (c *Conn) wait(ctx context.Context, s *slot) error {
	e, canceled := &s.call, ctx.Done()
	if canceled == nil { // the cheaper wait
		<-s.done
		return nil
	}
	select {
	case <-s.done:
		return nil
	default:
	}
	select {
	case <-s.done:
		return nil
	case <-canceled:
	}
	s.left = new(leftover)
	c.driver.Post(engine.Event{Kind: engine.EventCancel, XID: e.XID, Call: e, Control: &engine.Control{Left: s.left}})
	<-s.done // comes at once: the engine no longer uses the slot
	if e.Err == nil && e.Reply == nil && e.LongReply == 0 {
		return c.interrupted(ctx.Err(), e.Sent)
	}
	return nil
}

// interrupted returns the error of a Call whose context has ended. It says if the Call waited for a
// credit that a cancelled Call holds.
func (c *Conn) interrupted(why error, sent bool) error {
	if st := c.Stats(); !sent && st.Abandoned > 0 {
		return fmt.Errorf("%w: it waited for a credit, and cancelled Calls without a reply hold %d of %d (a Client replaces such a connection after ClientConfig.StuckTimeout)",
			why, st.Abandoned, st.Granted)
	}
	return why
}

// slot returns a free slot, and waits for one if there is none.
func (c *Conn) slot(ctx context.Context, end *CallEnd) (*slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.set.calls == 0 {
		return nil, fmt.Errorf("%w: on an accepted connection Config.ReverseCredits must be positive (%w)", ErrReverse, verbs.ErrNotSupported)
	}
	if !c.ready.Load() { // RFC 8167 §6; R280
		return nil, fmt.Errorf("%w before Conn.AllowReverse: call it when the upper layer knows that the peer serves them (RFC 8167 §6)", ErrReverse)
	}
	if err := c.agreed.await(ctx, c.ctx); err != nil { // on an accepted connection it may come
		return nil, err
	}
	if c.role == engine.Responder && c.agreed.Load().Reverse == header.ReverseNone {
		return nil, fmt.Errorf("%w: the peer serves none (property 5 of draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.5)", ErrReverse)
	}
	select {
	case <-c.slots.free:
		return c.slots.take(), nil
	default:
		return c.waitSlot(ctx, end)
	}
}

// conclude invalidates the keys of a Call that the peer has not invalidated. If that fails it
// closes the connection, which invalidates them too (RFC 8166 §4.5.4; R329).
func (c *Conn) conclude(s *slot) error {
	if len(s.regions) == 0 {
		return nil
	}
	var failed, unrevoked error
	together := c.pool.Revokes()
	if together {
		unrevoked = s.revoke(c)
	}
	for i := range s.regions {
		mr := &s.regions[i]
		if err := s.endKey(c.pool, mr, together, unrevoked); err != nil {
			failed = fmt.Errorf("rdmaio: memory could not be invalidated, the connection was closed: %w", err)
			c.driver.Post(engine.Event{Kind: engine.EventClose, Err: failed})
			<-c.ctx.Done()
			failed = errors.Join(failed, c.pool.Abandon(&mr.Region))
		}
		failed = errors.Join(failed, c.returnMemory(s, mr))
		*mr = callRegion{}
	}
	s.regions = s.regions[:0]
	return failed
}

// returnMemory gives back the memory of an invalidated key. It copies the data that the peer wrote
// to memory of the connection to the caller's.
func (c *Conn) returnMemory(s *slot, mr *callRegion) (err error) {
	n := s.filled(mr.chunk)
	if mr.chunk != ownReplyChunk {
		return c.pool.Unstage(&mr.Region, n)
	}
	s.long, err = c.pool.Collect(&mr.Region, s.call.ReplyTo[:0], n)
	s.returnReplyMemory(c)
	return err
}

// filled returns the number of bytes of a chunk that the peer has written. It is 0 if the Call
// failed.
func (s *slot) filled(chunk int) int {
	e := &s.call
	switch {
	case e.Err != nil || e.Reply == nil && e.LongReply == 0:
	case chunk == replyChunk, chunk == ownReplyChunk:
		return e.LongReply
	case chunk >= 0 && chunk < len(e.Used):
		return int(e.Used[chunk])
	}
	return 0
}

// setReply sets the Reply from the results of the engine. The keys must be invalid.
func (s *slot) setReply(call *Call) error {
	r, e := &call.Reply, &s.call
	r.Message = e.Reply
	r.Padding = Padding(e.Padding)
	if e.LongReply > 0 {
		if r.Message = s.long; !s.ownsBuf {
			r.Message = call.ReplyBuf[:e.LongReply]
		}
		xid, typ, _ := header.RPC(r.Message)
		switch {
		case xid != e.XID:
			return &Fault{Code: FaultXID, Where: "reply chunk", Found: uint64(xid), Want: uint64(e.XID)}
		case typ != header.Reply:
			return &Fault{Code: FaultType, Where: "reply chunk", Found: uint64(typ), Want: uint64(header.Reply)}
		}
	}
	clear(r.Items)
	r.Items = r.Items[:0]
	for i, buf := range call.Results {
		var it xdr.Item
		if i < len(e.Used) && e.Used[i] > 0 {
			it.Data = buf[:e.Used[i]]
		}
		r.Items = append(r.Items, it)
	}
	return nil
}

// waitSlot waits for a slot when none is free.
func (c *Conn) waitSlot(ctx context.Context, end *CallEnd) (*slot, error) {
	c.waits.Add(1)
	c.limitReached(LimitCredits)
	if end != nil {
		defer func(since time.Time) { end.Waited = time.Since(since) }(time.Now())
	}
	select {
	case <-c.slots.free:
		return c.slots.take(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ctx.Done():
		return nil, c.Err()
	}
}
