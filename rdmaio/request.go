package rdmaio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Handler serves the Calls of a server's connections.
type Handler interface {
	// ServeRPC answers a Request by its Reply or Drop, before it returns or later, from
	// any goroutine; every Request must be answered, once, or the connection's Close
	// waits for it. ServeRPC itself may wait, unless Config.NonBlocking promises that it does not.
	//
	// A panic in it is logged, with its stack, and costs the connection (ErrPanic), not the
	// program: no RPC can be answered with a word of this layer, and what the handler
	// left behind is not to be trusted. Its Request counts as dropped, and nothing else may use it any more. The same holds
	// for a handler that ends its goroutine (runtime.Goexit, as testing.T.Fatal does); with Config.NonBlocking it must not.
	ServeRPC(*Request)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(*Request)

// ServeRPC calls f.
func (f HandlerFunc) ServeRPC(r *Request) { f(r) }

// Request is a Call received.
type Request struct {
	// Message is the whole RPC Call, as if it had come inline. It is valid
	// until the done function of Reply runs.
	Message []byte

	// Placed are the items that came by chunk: where in Message each begins and
	// its bytes, a part of Message. Whoever decodes it has to see that the item
	// that begins there is as long as that, roundup perhaps included (R53, R70).
	Placed []xdr.Item

	// Padding is that of Message, if the client sent it with any (Config.Legacy).
	Padding Padding

	conn          *Conn
	req           *engine.Request
	assembly      *mrpool.Buffer // of Message, if it had chunks
	assemblyBytes int            // of it, as chunkMemory counts them
	long          *mrpool.Buffer // of a reply that had to be put together
	regions       []mrpool.Region
	answered      atomic.Bool
	held          bool // by a handler
	handler       Handler
	done          func(error)
	tap           func(*Message) // sees the answer before it goes; nil: none comes
	end           *ServeEnd      // nil without Config.Events
	failed        error          // why another answer than the handler's is sent
}

// Conn is the connection that the Call came on: Calls in the other direction can be made there.
func (r *Request) Conn() *Conn { return r.conn }

// Context ends with the connection.
func (r *Request) Context() context.Context { return r.conn.ctx }

// Places returns the sizes in bytes of the write chunks that the caller offered, in the order of the eligible results. A
// result whose place is 0 goes inline, as do the items of Reply beyond the last place.
func (r *Request) Places() []int {
	n := make([]int, len(r.req.Lists.Writes))
	for i, c := range r.req.Lists.Writes {
		n[i] = length(c)
	}
	return n
}

// ReplyRoom returns the size in bytes of the largest reply that the caller can take, without what goes to Places.
func (r *Request) ReplyRoom() int {
	return max(r.conn.terms.Load().Send-header.PrefixSize-r.req.Lists.Size(), length(r.req.Lists.Reply))
}

// length is that of a chunk, or the largest int, which on 32-bit systems a chunk may exceed (R52).
func length(chunk []header.Segment) int { return int(min(header.Total(chunk), math.MaxInt)) }

// Reply answers. Items of m go to the places in their order, each at its own
// (RFC 8166 §3.4.6; R76, R77); one whose place has no room at all is put back inline (R86).
//
// All memory of m, and the Request, belong to the transport until done runs: once, with nil when
// the reply was handed over, or the reason why not; that the caller has it nothing tells. If the reply does not fit what
// the peer offered, done gets a *SizeError and the peer RDMA_ERROR (R101; T52). done may be nil, and
// must not wait; it may run before Reply returns.
func (r *Request) Reply(m Message, done func(error)) {
	if !r.first(done) {
		return
	}
	if r.tap != nil {
		seen := m // a copy, or every m would be on the heap
		r.tap(&seen)
	}
	if r.end != nil {
		r.end.record(&m)
	}
	if err := r.plan(&m); err != nil {
		r.conn.log.Warn("rdmaio: an answer could not be sent", "queue_pair", r.conn.qp.Num(), "reason", err)
		r.failed = err
		r.req.Answer.Refuse = header.ErrChunk
	}
	r.conn.postReply(r)
}

// Drop ends a Request without an answer, which RPC permits a server (RFC 2203 §5.3.3.1 demands
// it now and then). The memory comes back as it does with Reply. So does what the Call took of
// this side's; but the caller waits, and its credit stays in use until the connection ends: dropping
// as many Calls as there are credits ends all traffic of a caller that does not reconnect.
func (r *Request) Drop(done func(error)) {
	if r.first(done) {
		if r.tap != nil {
			r.tap(nil)
		}
		if r.end != nil {
			r.end.Dropped = true
		}
		r.req.Answer.Drop = true
		r.conn.postReply(r)
	}
}

// Report records an error of the handler that its answer does not carry: it goes to Config.Logger at level Warn, or without
// one to slog.Default, and to ServeEnd.HandlerErr. Call it before Reply or Drop; package rpc does for every SYSTEM_ERR.
func (r *Request) Report(err error) {
	c := r.conn
	c.shared.faults.Warn("rdmaio: a handler failed", "peer", c.RemoteAddr(), "xid", binary.BigEndian.Uint32(r.Message), "reason", err)
	if r.end != nil {
		r.end.HandlerErr = err
	}
}

// first takes the done function of the first answer, and refuses all others.
func (r *Request) first(done func(error)) bool {
	if done == nil {
		done = func(error) {}
	}
	if r.answered.Swap(true) {
		done(ErrAnswered)
		return false
	}
	r.done = done
	return true
}

// plan chooses the shape of a reply and registers what is to be written from.
func (r *Request) plan(m *Message) error {
	if err := m.check(typeReply); err != nil {
		return err
	}
	if got, want := m.xid(), binary.BigEndian.Uint32(r.Message); got != want {
		return fmt.Errorf("%w: its XID is %#x, must be the Call's, %#x (R16)", ErrMessage, got, want)
	}
	a := &r.req.Answer
	writes := r.req.Lists.Writes
	// RFC 8166 §4.3.2.3: a result without a place goes with the rest of the reply; R86, R89
	back := func(i int) bool { return i >= len(writes) || header.Total(writes[i]) == 0 }
	for i := range min(len(m.Items), len(writes)) {
		if back(i) {
			a.Data = append(a.Data, verbs.SGE{})
			continue
		}
		data := m.Items[i].Data
		if room := header.Total(writes[i]); uint64(len(data)) > room {
			return &SizeError{What: fmt.Sprintf("result %d", i), Need: len(data), Limit: int(room), Hint: "see Request.Places"}
		}
		sge, err := r.register(data)
		if err != nil {
			return err
		}
		a.Data = append(a.Data, sge)
	}
	n := m.size(back) // RFC 8166 §3.5.3: without the results in chunks; R100
	if header.PrefixSize+r.req.Lists.Size()+n <= r.conn.terms.Load().Send {
		a.Payload = m.pieces(a.Payload, back) // RFC 8166 §4.3.3: with a reply chunk or without; R99
		return nil
	}
	// R97, R98: the reply chunk has to be used. Its contents have all roundup bytes (R95).
	if room := header.Total(r.req.Lists.Reply); uint64(n) > room {
		if r.conn.set.Legacy && r.conn.role == engine.Responder && len(writes) == 0 {
			return r.lend(m)
		}
		return &SizeError{What: "reply", Need: n, Limit: r.ReplyRoom(), Hint: "see Request.ReplyRoom; the caller's ReplyBuf was too small"}
	}
	var err error
	if pieces := m.pieces(nil, back); len(pieces) == 1 {
		a.Long, err = r.register(pieces[0])
	} else if r.long, err = r.conn.pool.Buffer(n); err == nil {
		at := 0
		for _, p := range pieces {
			at += copy(r.long.Bytes[at:], p)
		}
		a.Long = verbs.SGE{MR: r.long.MR, Length: n}
	}
	return err
}

// register makes a handler's memory readable for our own device; no key goes out (R10).
func (r *Request) register(data []byte) (verbs.SGE, error) {
	if len(data) == 0 {
		return verbs.SGE{}, nil
	}
	mr, err := r.region(data, 0)
	if err != nil {
		return verbs.SGE{}, err
	}
	return verbs.SGE{MR: mr.MemoryRegion, Length: len(data)}, nil
}

// region registers memory until the Request is released.
func (r *Request) region(data []byte, access verbs.Access) (mrpool.Region, error) {
	mr, err := r.conn.pool.Register(data, access)
	if err == nil {
		r.regions = append(r.regions, mr)
	}
	return mr, err
}

// deliver runs the handler.
func (c *Conn) deliver(q *engine.Request) {
	r, _ := q.Owner.(*Request)
	if r == nil {
		r = &Request{conn: c, req: q}
		q.Owner = r
	}
	if !c.begin() {
		q.Answer.Drop = true
		c.post(engine.Event{Kind: engine.EventReply, Request: q})
		return
	}
	r.held = true
	c.unanswered.Add(1)
	r.Message, r.Padding = q.Message, Padding(q.Padding)
	for _, p := range q.Placed {
		r.Placed = append(r.Placed, xdr.Item{Position: uint64(p.At), Data: q.Message[p.At : p.At+p.Len : p.At+p.Len]})
	}
	if c.set.Events != nil {
		r.emitServeStart()
	}
	c.dispatch(r, c.handler)
}

// handle runs the handler, and survives it.
func (c *Conn) handle(r *Request, h Handler) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil { // that of panic(nil) is an error
			v = "it called runtime.Goexit, as testing.T.Fatal does"
		}
		c.set.faults.Error("rdmaio: a handler panicked, its connection is closed",
			"queue_pair", c.qp.Num(), "panic", v, "stack", string(debug.Stack()))
		c.post(engine.Event{Kind: engine.EventClose, Err: fmt.Errorf("%w: %v", ErrPanic, v)})
		r.Drop(nil)
	}()
	h.ServeRPC(r)
	returned = true
}

// release gives back what a Request had.
func (c *Conn) release(q *engine.Request) {
	r, _ := q.Owner.(*Request)
	c.emitRefusal(q)
	if r == nil {
		return // refused before it had anything
	}
	for i := range r.regions {
		mr := &r.regions[i]
		err := c.pool.Release(mr)
		if err != nil {
			_ = c.pool.Abandon(mr) // no peer has a key to it
		}
		if err = errors.Join(err, c.pool.Unstage(mr, 0)); err != nil {
			c.post(engine.Event{Kind: engine.EventClose, Err: err})
		}
	}
	for _, b := range []*mrpool.Buffer{r.assembly, r.long} {
		if b == nil {
			continue
		}
		if err := c.pool.Put(b); err != nil {
			c.post(engine.Event{Kind: engine.EventClose, Err: err})
		}
	}
	if r.assembly != nil {
		c.returned(r.assemblyBytes)
	}
	err := r.failed
	if err == nil {
		err = translate(q.Err)
	}
	r.req, r.Message, r.Placed, r.regions, r.assembly, r.long = nil, nil, nil, nil, nil, nil
	if r.held {
		if r.end != nil {
			r.end.finish(err)
		}
		r.done(err)
		c.busy--
	}
}
