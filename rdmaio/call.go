package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Call is an RPC to make. It may be used again, for one Call at a time.
type Call struct {
	// Message is the RPC Call. Its XID must be unlike that of every Call in flight
	// on the connection; a retransmission on another connection keeps it (R284).
	Message

	// Results is memory for the results that the upper-layer binding makes eligible,
	// in the order of the results, each as large as the largest result may be (R84). The server may
	// write to all of it, used or not (RFC 8166 §4.3.2.2; R58).
	// An empty slice asks for that result inline.
	Results [][]byte

	// ReplyBuf is memory for the reply, as large as the largest reply may be, its verifier
	// included (RFC 8166 §8.2.2.2; R103), the Results not counted. It is offered as a reply chunk if that much would not come
	// inline. nil is right for small replies, at the price of an allocation.
	ReplyBuf []byte

	// MaxReply is the size of the largest reply in bytes, the Results not counted. If that much would not come inline, the
	// connection offers as much memory of its own as the reply chunk. The reply is copied from there to ReplyBuf, or to memory
	// allocated for it if it is longer, and ReplyBuf is not offered. If zero, ReplyBuf is offered. If negative, neither is.
	MaxReply int

	reply Reply
	end   *CallEnd // nil without Config.Events
}

// Reply is the answer to a Call. It is valid until its Call is used again.
type Reply struct {
	// Message is the RPC Reply without what came in Results. It is a part of ReplyBuf if
	// that is large enough and was not offered as a reply chunk, or was used as one.
	Message []byte

	// Items has an element for each of Results: Data is the part of that
	// slice that the server filled, nil if it used none. It is what
	// xdr.Decoder.ReinsertInOrder takes, which also compares the length with the
	// count in the stream: a server of version 1 may have counted roundup bytes in (R81, R83).
	Items []xdr.Item

	// Padding is that of Message, if the server sent it with any (Config.Legacy).
	Padding Padding
}

// slot is what a Call in progress needs of the connection.
type slot struct {
	call    engine.Call
	done    chan struct{} // of one
	regions []held
	left    *leftover // of the Call, if it was cancelled
	lent    bool      // the reply chunk is memory of the connection (Call.MaxReply)
	long    []byte    // a copy of the reply that came there
}

// held is a region of a Call, and which chunk it is: that of Results of that number, or one of these.
type held struct {
	mrpool.Region
	chunk int
}

const (
	replyChunk = -1
	readChunk  = -2
	lentChunk  = -3 // a reply chunk of the connection's memory
)

// Call makes an RPC and waits for the reply, or for the end of ctx. The error is a
// *CallError. When Call returns, in whatever way, no key given to the peer for it
// reaches the caller's memory any more. A cancelled Call uses its credit until
// the reply arrives, or for good if it never does; until then its keys stand for memory of the connection (16 MiB for all of
// its cancelled Calls at most), where a late access does no harm. If the device cannot exchange the memory under a key
// (verbs.Redirector), or more than that is needed, the keys end at once, and a late access ends the connection.
//
// On a connection that was accepted this is a reverse Call, and needs AllowReverse. Without
// Config.ReverseChunks it has to fit inline, and Results, a large ReplyBuf and memory for MaxReply are not offered to
// the peer: all of the reply comes inline, or a *PeerError because it does not fit.
func (c *Conn) Call(ctx context.Context, call *Call) (*Reply, error) {
	if call == nil {
		return nil, &CallError{Err: fmt.Errorf("%w: the Call is nil", ErrMessage)}
	}
	if err := call.check(typeCall); err != nil {
		return nil, &CallError{Err: err}
	}
	if c.set.Events != nil {
		return c.observedExchange(ctx, call)
	}
	return c.exchange(ctx, call)
}

// exchange makes a Call.
func (c *Conn) exchange(ctx context.Context, call *Call) (*Reply, error) {
	fail := func(s *slot, err error) error {
		e := &CallError{XID: call.xid(), Err: err}
		if s != nil {
			e.MayHaveRun = s.call.Sent
		}
		return e
	}
	s, err := c.slot(ctx, call)
	if err != nil {
		return nil, fail(nil, err)
	}
	defer func() {
		s.long = nil // it is the caller's
		c.slots <- s
	}()

	e := &s.call
	s.lent = false
	e.XID, e.Owner, e.Err, e.Sent, e.Reply, e.LongReply, e.Ended, e.Abandoned = call.xid(), s, nil, false, nil, 0, 0, false
	if err := c.prepare(s, call); err != nil {
		return nil, fail(s, errors.Join(err, c.conclude(s)))
	}
	c.postCall(engine.Event{Kind: engine.EventCall, Call: e})
	cause := c.wait(ctx, s)
	if call.end != nil {
		call.end.record(e)
	}
	if e.Abandoned {
		c.leave(s)
	}
	// R90, R289, R303: first the keys end, then the memory is looked at.
	if err := c.conclude(s); err != nil {
		return nil, fail(s, err)
	}
	if cause == nil {
		cause = c.refusal(s, translate(e.Err))
	}
	if cause == nil {
		cause = call.take(s)
	}
	if cause != nil {
		return nil, fail(s, cause)
	}
	return &call.reply, nil
}

// wait waits for the end of a Call. It returns why the caller no longer does, if so and nothing has come for it.
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
	c.post(engine.Event{Kind: engine.EventCancel, XID: e.XID, Call: e, Left: s.left})
	<-s.done // at once: this only says that the engine is done with it
	if e.Err == nil && e.Reply == nil && e.LongReply == 0 {
		return ctx.Err()
	}
	return nil
}

// slot waits for a free one.
func (c *Conn) slot(ctx context.Context, call *Call) (*slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.set.calls == 0 {
		return nil, fmt.Errorf("%w: Config.ReverseCredits allows none on accepted connections (%w)", ErrReverse, verbs.ErrNotSupported)
	}
	if !c.ready.Load() { // RFC 8167 §6; R280
		return nil, fmt.Errorf("%w before Conn.AllowReverse: the upper layer has to know that the peer serves them", ErrReverse)
	}
	select {
	case s := <-c.slots:
		return s, nil
	default:
		return c.waitSlot(ctx, call)
	}
}

// conclude ends the keys of a Call that the peer has not ended. If one cannot be ended the connection goes,
// which ends it too (RFC 8166 §4.5.4; R329).
func (c *Conn) conclude(s *slot) error {
	var failed error
	for i := range s.regions {
		mr := &s.regions[i]
		release := c.pool.Release
		if s.call.Ended != 0 && mr.RKey() == s.call.Ended {
			release = c.pool.Ended // and all others by ourselves (R263)
		}
		if err := release(&mr.Region); err != nil {
			failed = fmt.Errorf("rdmaio: memory could not be invalidated, the connection was closed: %w", err)
			c.post(engine.Event{Kind: engine.EventClose, Err: failed})
			<-c.ctx.Done()
			failed = errors.Join(failed, c.pool.Abandon(&mr.Region))
		}
		failed = errors.Join(failed, c.returnMemory(s, mr))
		*mr = held{}
	}
	s.regions = s.regions[:0]
	return failed
}

// returnMemory ends the use of memory whose key has ended, and copies what the peer wrote to where the caller looks for it.
func (c *Conn) returnMemory(s *slot, mr *held) (err error) {
	n := s.filled(mr.chunk)
	if mr.chunk != lentChunk {
		return c.pool.Unstage(&mr.Region, n)
	}
	s.long, err = c.pool.Collect(&mr.Region, s.call.ReplyTo[:0], n)
	return err
}

// filled is how many bytes of a chunk the peer has written, if the Call was answered.
func (s *slot) filled(chunk int) int {
	e := &s.call
	switch {
	case e.Err != nil || e.Reply == nil && e.LongReply == 0:
	case chunk == replyChunk, chunk == lentChunk:
		return e.LongReply
	case chunk >= 0 && chunk < len(e.Used):
		return int(e.Used[chunk])
	}
	return 0
}

// take makes the Reply from what the engine found; keys have ended.
func (call *Call) take(s *slot) error {
	r, e := &call.reply, &s.call
	r.Message = e.Reply
	r.Padding = Padding(e.Padding)
	if e.LongReply > 0 {
		if r.Message = s.long; !s.lent {
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
func (c *Conn) waitSlot(ctx context.Context, call *Call) (*slot, error) {
	c.waits.Add(1)
	c.limitReached(LimitCredits)
	if e := call.end; e != nil {
		defer func(since time.Time) { e.Waited = time.Since(since) }(time.Now())
	}
	select {
	case s := <-c.slots:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ctx.Done():
		return nil, c.Err()
	}
}
