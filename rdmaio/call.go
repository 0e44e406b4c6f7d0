package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if err := oncrpc.CheckCall(call); err != nil {
		return nil, err
	}
	if c.set.Events == nil {
		return c.caller.exchange(ctx, call, nil)
	}
	end := c.caller.begun(call)
	reply, err := c.caller.exchange(ctx, call, end)
	end.emit(reply, err)
	return reply, err
}

// begun emits CallStart, and returns the event for the end of the Call.
func (c *caller) begun(call *Call) *CallEnd {
	e := &CallEnd{RPC: c.rpcOf(call.Inline), Took: time.Since(c.start), Sent: call.Size(nil)}
	c.set.Events(&CallStart{RPC: e.RPC, Message: &call.Message})
	return e
}

// exchange makes a Call without emitting events. end is nil without Config.Events.
func (c *caller) exchange(ctx context.Context, call *Call, end *CallEnd) (*Reply, error) {
	s, err := c.slot(ctx, end)
	if err != nil {
		return nil, &CallError{XID: call.XID(), Err: err}
	}
	defer c.put(s, false)
	placed(call)
	return c.exchangeIn(ctx, s, call, end)
}

// placed records that a Call has a place.
func placed(call *Call) {
	if t := call.Steps; t != nil {
		t.Placed = time.Now()
	}
}

// sent records that a Call is about to be posted.
func sent(call *Call) {
	if t := call.Steps; t != nil {
		t.Sent = time.Now()
	}
}

// steps records that the engine no longer uses a Call. If it has waited there, for a credit or the
// send queue, it was sent later by that time, and counts as one that waited for its place.
func (s *slot) steps() {
	t, e := s.rpc.Steps, &s.call
	if t == nil {
		return
	}
	t.Placed, t.Sent = t.Placed.Add(e.Waited), t.Sent.Add(e.Waited)
	if !e.Sent {
		t.Sent = time.Time{}
	}
	if e.Err == nil && (e.Reply != nil || e.LongReply != 0) {
		t.Answered = time.Now()
	}
}

// put takes back the slot of a Call that has returned, or has waited for a place in vain.
func (c *caller) put(s *slot, waits bool) {
	c.submits.beginNext(c.slots.put(s, waits))
}

// exchangeIn makes a Call in a slot.
func (c *caller) exchangeIn(ctx context.Context, s *slot, call *Call, end *CallEnd) (*Reply, error) {
	s.rpc, s.end, s.shape = call, end, shape{}
	if err := c.goOn(ctx, s, c.attempt(ctx, s)); err != nil {
		return nil, err
	}
	return &call.Reply, nil
}

// goOn continues a Call whose last attempt failed with cause, or succeeded if that is nil. It
// returns nil when there is a reply.
func (c *caller) goOn(ctx context.Context, s *slot, cause error) error {
	for cause != nil {
		err := s.failed(cause)
		if !s.change(c.set, c.agreed.Load(), s.rpc, cause) {
			return err
		}
		if err := s.rpc.Again(ctx); err != nil {
			return s.failed(err)
		}
		cause = c.attempt(ctx, s)
	}
	return nil
}

// failed returns the error of a Call whose last attempt failed with cause.
func (s *slot) failed(cause error) error {
	s.sent = s.sent || s.call.Sent && !notProcessed(cause)
	return &CallError{XID: s.rpc.XID(), MayHaveRun: s.sent, Err: cause}
}

// attempt sends a Call in the shape of its slot, and waits for the answer.
func (c *caller) attempt(ctx context.Context, s *slot) error {
	s.reset()
	o := offering{caller: c, slot: s, call: s.rpc, terms: c.agreed.Load()}
	err := o.prepare(ctx)
	if err != nil && errors.Is(err, verbs.ErrQueueFull) {
		err = o.awaitTurn(ctx)
	}
	if err != nil {
		return errors.Join(err, c.conclude(s))
	}
	begun, ended := false, false
	defer func() {
		if !ended {
			c.exited(s, begun)
		}
	}()
	sent(s.rpc)
	c.postCall(&s.call)
	begun = true
	c.lone.begin(s)
	ended = true
	why := c.wait(ctx, s)
	c.lone.end()
	cause := c.answered(s, why)
	// draft-ietf-nfsv4-rpcrdma-version-two-00 §10.1.3; R90, R289, R303: the keys are invalidated
	// before this side reads the memory.
	if err := c.conclude(s); err != nil {
		return err
	}
	return c.outcome(s, cause)
}

// exited gives up a Call whose goroutine ends: it has run a handler that exits it. begun says that
// lone.begin was called.
func (c *caller) exited(s *slot, begun bool) {
	s.polling.Store(false)
	if begun {
		c.lone.end()
	}
	c.driver.Post(s.cancel())
	<-s.done
	c.answered(s, context.Canceled)
	_ = c.conclude(s) // the error has no receiver any more
}

// reset prepares a slot for an attempt.
func (s *slot) reset() {
	e := &s.call
	if s.offered != nil {
		s.ownsBuf = false
	}
	s.answered.Store(false)
	e.XID, e.Owner, e.Err, e.Sent, e.Reply, e.LongReply, e.InvalidatedKey, e.Abandoned = s.rpc.XID(), s, nil, false, nil, 0, 0, false
}

// answered is called when the engine no longer uses a Call. why is the reason for which it was
// given up, or nil. If no reply came before, answered returns the error.
func (c *caller) answered(s *slot, why error) (cause error) {
	e := &s.call
	if why != nil && e.Err == nil && e.Reply == nil && e.LongReply == 0 {
		if e.Sent {
			c.giveUp(e.XID)
		}
		cause = c.interrupted(why, e.Sent)
	}
	if s.end != nil {
		s.end.record(e)
	}
	s.steps()
	if e.Abandoned {
		c.redirect(s)
	}
	return cause
}

// outcome returns the error of an attempt, or nil and sets the Reply. cause is the error that
// answered has returned. The keys must be invalid.
func (c *caller) outcome(s *slot, cause error) error {
	if cause == nil {
		cause = s.refusal(c.agreed.Load(), c.lossOf(translate(s.call.Err)))
	}
	if cause == nil {
		cause = s.setReply(s.rpc)
	}
	if cause == nil && s.rpc.MaxReply > 0 && c.pool.InPlace() {
		c.offered.sizes.saw(s.rpc)
	}
	return cause
}

// postCall posts a Call. If other Calls are in progress, their callers are likely to post more
// soon, so PostTogether waits for them.
func (c *caller) postCall(e *engine.Call) {
	ev := engine.Event{Kind: engine.EventCall, Call: e}
	if c.slots.alone() {
		c.driver.Post(ev)
		return
	}
	c.driver.PostTogether(ev)
}

// wait blocks until a Call is complete. If ctx is done first, it gives the Call up and returns the
// error of ctx. A reply may have come all the same.
func (c *caller) wait(ctx context.Context, s *slot) error {
	canceled := ctx.Done()
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
	c.driver.Post(s.cancel())
	<-s.done // comes at once: the engine no longer uses the slot
	return ctx.Err()
}

// cancel returns the event that gives a Call up.
func (s *slot) cancel() engine.Event {
	s.withOffered().left = new(leftover)
	return engine.Event{Kind: engine.EventCancel, XID: s.call.XID, Call: &s.call, Control: &engine.Control{Left: s.left}}
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

// slot returns a slot with a place, and waits for one if all are taken.
func (c *caller) slot(ctx context.Context, end *CallEnd) (*slot, error) {
	if err := c.permitted(ctx); err != nil {
		return nil, err
	}
	if err := c.settled(ctx); err != nil {
		return nil, err
	}
	s, waits := c.slots.take()
	switch {
	case s == nil:
		return nil, context.Cause(c.ctx)
	case waits:
		return c.waitPlace(ctx, s, end)
	}
	return s, nil
}

// permitted returns an error if this side may make no Calls, or ctx is done.
func (c *caller) permitted(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.set.calls == 0:
		return fmt.Errorf("%w: on an accepted connection Config.ReverseCredits must be positive (%w)", ErrReverse, verbs.ErrNotSupported)
	case !c.ready.Load(): // RFC 8167 §6; R280
		return fmt.Errorf("%w before Conn.AllowReverse: call it when the upper layer knows that the peer serves them (RFC 8167 §6)", ErrReverse)
	}
	return nil
}

// settled waits until the version is known, and returns an error if the peer serves no Calls.
func (c *caller) settled(ctx context.Context) error {
	if err := c.agreed.await(ctx, c.ctx); err != nil { // on an accepted connection it may come
		return err
	}
	return c.served(c.agreed.Load())
}

// served returns an error if the peer serves no Calls.
func (c *caller) served(terms *agreed) error {
	if c.role == engine.Responder && terms.Reverse == header.ReverseNone {
		return fmt.Errorf("%w: the peer serves none (property 5 of draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.5)", ErrReverse)
	}
	return nil
}

// conclude invalidates the keys of a Call that the peer has not invalidated. If that fails it
// closes the connection, which invalidates them too (RFC 8166 §4.5.4; R329).
func (c *caller) conclude(s *slot) error {
	if !s.hasRegions() {
		return nil
	}
	var failed, unrevoked error
	together := c.pool.Revokes()
	if together {
		unrevoked = s.revoke(c)
	}
	for i := range s.regions {
		mr := &s.regions[i]
		err := s.unended
		if s.unended = nil; err == nil {
			err = s.endKey(c.pool, mr, together, unrevoked)
		}
		if err != nil {
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

// concludeNow is conclude for the runner of the engine, which must not wait. It returns false if
// that needs a wait: then the caller must call conclude, for the other keys.
func (c *caller) concludeNow(s *slot) (over bool, failed error) {
	if !s.hasRegions() {
		return true, nil
	}
	if c.pool.Revokes() {
		return false, nil
	}
	for i := range s.regions {
		mr := &s.regions[i]
		if s.unended = s.endKey(c.pool, mr, false, nil); s.unended != nil {
			s.regions = slices.Delete(s.regions, 0, i)
			return false, failed
		}
		failed = errors.Join(failed, c.returnMemory(s, mr))
		*mr = callRegion{}
	}
	s.regions = s.regions[:0]
	c.offered.offers.end()
	return true, failed
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

// waitPlace waits until a slot has a place.
func (c *caller) waitPlace(ctx context.Context, s *slot, end *CallEnd) (*slot, error) {
	c.waits.Add(1)
	c.limitReached(LimitCredits)
	if end != nil {
		defer func(since time.Time) { end.Waited = time.Since(since) }(time.Now())
	}
	var err error
	select {
	case <-s.done:
		return s, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.ctx.Done():
		err = context.Cause(c.ctx)
	}
	c.put(s, true)
	return nil, err
}
