package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Call makes an RPC and waits until the reply comes or ctx is done. The error is a *CallError. When
// Call returns, in any case, no key that the peer has for the Call gives access to the caller's
// memory.
//
// A cancelled Call keeps its credit until the reply arrives, or until the connection is closed
// without one. Until then its keys are redirected to memory of the connection, where a late access
// of the peer does no harm. A connection has at most 16 MiB for that, and 64 KiB for headers. If
// that is used up, or the device cannot redirect keys (verbs.Redirector), the keys are invalidated
// at once, and a late access breaks the connection. With a device whose queue pairs are Revokers
// (verbs.Revoker), a peer that acknowledges nothing can delay the return of Call, but no longer
// than the device's transport retries.
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
		return c.caller.observedExchange(ctx, call)
	}
	return c.caller.exchange(ctx, call, nil)
}

// observedExchange makes a Call between CallStart and CallEnd.
func (c *caller) observedExchange(ctx context.Context, call *Call) (*Reply, error) {
	start := time.Now()
	e := &CallEnd{RPC: c.rpcOf(call.Inline), Sent: call.Size(nil)}
	c.set.Events(&CallStart{RPC: e.RPC, Message: &call.Message})
	reply, err := c.exchange(ctx, call, e)
	e.Took = time.Since(start)
	if e.Reply, e.Err = reply, err; err == nil {
		e.Received = len(reply.Message)
		for i := range reply.Items {
			e.Received += len(reply.Items[i].Data)
		}
	}
	c.set.Events(e)
	return reply, err
}

// exchange makes a Call without emitting events. end is nil without Config.Events.
func (c *caller) exchange(ctx context.Context, call *Call, end *CallEnd) (*Reply, error) {
	s, err := c.slot(ctx, end)
	if err != nil {
		return nil, &CallError{XID: call.XID(), Err: err}
	}
	defer c.slots.put(s)
	return c.exchangeIn(ctx, s, call, end)
}

// exchangeIn makes a Call in a slot.
func (c *caller) exchangeIn(ctx context.Context, s *slot, call *Call, end *CallEnd) (*Reply, error) {
	s.shape = shape{}
	if cause := c.attempt(ctx, s, call, end); cause != nil {
		return c.exchangeAgain(ctx, s, call, end, cause)
	}
	return &call.Reply, nil
}

// exchangeAgain makes a Call whose first attempt has failed in other shapes.
func (c *caller) exchangeAgain(ctx context.Context, s *slot, call *Call, end *CallEnd, cause error) (*Reply, error) {
	sent := false // in any shape
	fail := func(err error) error { return &CallError{XID: call.XID(), MayHaveRun: sent, Err: err} }
	for cause != nil {
		sent = sent || s.call.Sent && !notProcessed(cause)
		if !s.change(&c.set, c.agreed.Load(), call, cause) {
			return nil, fail(cause)
		}
		if err := call.Again(ctx); err != nil {
			return nil, fail(err)
		}
		cause = c.attempt(ctx, s, call, end)
	}
	return &call.Reply, nil
}

// attempt sends a Call in the shape of its slot, and waits for the answer.
func (c *caller) attempt(ctx context.Context, s *slot, call *Call, end *CallEnd) error {
	e := &s.call
	s.ownsBuf = false
	s.answered.Store(false)
	e.XID, e.Owner, e.Err, e.Sent, e.Reply, e.LongReply, e.InvalidatedKey, e.Abandoned = call.XID(), s, nil, false, nil, 0, 0, false
	o := offering{caller: c, slot: s, call: call, terms: c.agreed.Load()}
	if err := o.prepareInTurn(ctx); err != nil {
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
		cause = s.refusal(c.agreed.Load(), c.lossOf(translate(e.Err)))
	}
	if cause == nil {
		cause = s.setReply(call)
	}
	if cause == nil && call.MaxReply > 0 && c.pool.InPlace() {
		c.offered.sizes.saw(call)
	}
	return cause
}

// postCall posts a Call. If other Calls are in progress, their callers are likely to post more
// soon, so PostTogether waits for them.
func (c *caller) postCall(e *engine.Call) {
	ev := engine.Event{Kind: engine.EventCall, Call: e}
	if cap(c.slots.free)-len(c.slots.free) == 1 {
		c.driver.Post(ev)
		return
	}
	c.driver.PostTogether(ev)
}

// wait blocks until a Call is complete. If ctx is done first and no reply has come, it returns the
// error of ctx.
func (c *caller) wait(ctx context.Context, s *slot) error {
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
		if e.Sent {
			c.giveUp(e.XID)
		}
		return c.interrupted(ctx.Err(), e.Sent)
	}
	return nil
}

// interrupted returns the error of a Call whose context is done. It says if the Call waited for a
// credit that a cancelled Call holds.
func (c *caller) interrupted(why error, sent bool) error {
	if st := c.driver.Stats(); !sent && st.Abandoned > 0 {
		return fmt.Errorf("%w: it waited for a credit, and cancelled Calls without a reply hold %d of %d (a Client replaces such a connection after ClientConfig.StuckTimeout)",
			why, st.Abandoned, st.Granted)
	}
	return why
}

// slot returns a free slot, and waits for one if all are taken.
func (c *caller) slot(ctx context.Context, end *CallEnd) (*slot, error) {
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
func (c *caller) conclude(s *slot) error {
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
			c.fail(failed)
			<-c.ctx.Done()
			failed = errors.Join(failed, c.pool.Abandon(&mr.Region))
		}
		failed = errors.Join(failed, c.returnMemory(s, mr))
		*mr = callRegion{}
	}
	s.regions = s.regions[:0]
	c.offered.offers.end()
	return failed
}

// returnMemory gives back the memory of an invalidated key. If the peer wrote to memory of the
// connection, it copies the data to the caller's memory.
func (c *caller) returnMemory(s *slot, mr *callRegion) (err error) {
	n := s.filled(mr.chunk)
	if mr.chunk != ownReplyChunk {
		return c.pool.Unstage(&mr.Region, n)
	}
	s.long, err = c.pool.Collect(&mr.Region, s.call.ReplyTo[:0], n)
	s.returnReplyMemory(c)
	return err
}

// waitSlot waits for a slot when none is free.
func (c *caller) waitSlot(ctx context.Context, end *CallEnd) (*slot, error) {
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
		return nil, context.Cause(c.ctx)
	}
}
