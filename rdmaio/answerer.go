package rdmaio

import (
	"errors"
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// answerer serves the Calls that the peer makes on a connection:
//
//	header of a Call ── chunks: memory ──> deliver ──> dispatch ──> handle ──> release
//	                             │            │            └─ no place: requests
//	                             └─ refused ──┴─ drains: dropped ──> release
//
// A Request is in exactly one of these stages. The runner of the engine calls the methods, except
// that handle and the replies run on goroutines of handlers, and dispatch for oncrpc.Responder.
type answerer struct {
	*host
	handler  Handler
	chunks   chunkMemory
	requests admission.Queue[request] // delivered and not answered, without Config.NonBlocking
	kept     keptReplies
}

// mostMemory returns the number of bytes that several Calls with chunks of this connection may use:
// what they have, and what its source may still take (R309).
func (a *answerer) mostMemory() int {
	return min(a.set.MaxConnMemory, a.chunks.used+min(a.share.Left(), math.MaxInt-a.chunks.used))
}

// queueAssembly gives a Call with chunks an assembly buffer, or lets it wait for one. The Call
// keeps its Receive while it waits, so that a peer that wants too much at a time slows down only
// itself (R309).
func (a *answerer) queueAssembly(q *engine.Request) {
	if !a.chunks.ask(q, a.mostMemory()) {
		a.limitReached(LimitMaxConnMemory)
	}
	a.grantWaiting()
}

// grantWaiting gives memory to the growing Call and to those that wait, in their order, while there
// is enough.
func (a *answerer) grantWaiting() {
	for a.chunks.wanted() {
		q, n := a.chunks.next(a.mostMemory(), a.driver.Delivered())
		if q == nil {
			return
		}
		a.grant(q, n)
	}
}

// grant gives a Call an assembly buffer of n bytes, and moves the bytes there that the Call has
// already.
func (a *answerer) grant(q *engine.Request, n int) {
	ev := engine.Event{Kind: engine.EventAssembly, Request: q}
	r, _ := q.Owner.(*request)
	have := 0
	if r != nil {
		have = r.assemblyBytes
	}
	if !a.share.Take(n-have, nil) {
		a.limitReached(LimitMaxMemory)
		ev.Err = fmt.Errorf("%w: a Call needs %d bytes, Config.MaxMemory is %d, and the peer's source may have %d more", ErrMemory, q.AssemblySize, a.set.MaxMemory, a.share.Left())
	} else if b, err := a.pool.Buffer(q.AssemblyLead + n); err != nil {
		a.share.Give(n - have)
		ev.Err = err
	} else {
		a.chunks.used += n - have
		if r == nil {
			r = newRequest(a.conn, q)
			q.Owner = r
		} else {
			copy(b.Bytes[q.AssemblyLead:], q.Assembly.Bytes[:q.AssemblyFilled])
			ev.Err = a.pool.Discard(r.assembly)
		}
		r.assembly, r.assemblyBytes = b, n
		q.Assembly = engine.Buffer{MR: b.MR, Offset: q.AssemblyLead, Bytes: b.Bytes[q.AssemblyLead:]}
	}
	if ev.Err != nil {
		a.chunks.refuse(q)
	}
	if ev.Err != nil && !a.deviceGone(ev.Err) {
		a.log.Warn("rdmaio: a call was refused", "queue_pair", a.qp.Num(), "reason", ev.Err)
	}
	a.driver.Post(ev)
}

// reclaim takes back the memory of a Call and grants it to Calls that wait.
func (a *answerer) reclaim(n int) {
	a.share.Give(n)
	a.chunks.used -= n
	a.grantWaiting()
}

// end fails the Calls that wait for memory, drops the Requests that wait for a place, and forgets
// the replies kept. The connection is down.
func (a *answerer) end(why error) {
	for _, q := range a.chunks.end() {
		a.driver.Post(engine.Event{Kind: engine.EventAssembly, Request: q, Err: why})
	}
	a.dropWaiting()
	a.kept.end()
}

// dropWaiting drops the Requests that wait for a place, because the connection is down.
func (a *answerer) dropWaiting() {
	a.shared.places.RemoveAll(&a.requests, func(r *request) { r.Request.Drop(nil) })
}

// deliver passes a Call to the handler, or drops it if the connection drains.
func (a *answerer) deliver(q *engine.Request) {
	r, _ := q.Owner.(*request)
	if r == nil {
		r = newRequest(a.conn, q)
		q.Owner = r
	}
	if !a.driver.BeginRequest() {
		q.Answer.Drop = true
		a.driver.Post(engine.Event{Kind: engine.EventReply, Request: q})
		return
	}
	r.delivered = true
	r.Message, r.Padding = q.Message, Padding(q.Padding)
	for _, p := range q.Placed {
		r.Placed = append(r.Placed, xdr.Item{Position: uint64(p.At), Data: q.Message[p.At : p.At+p.Len : p.At+p.Len]})
	}
	if a.set.Events != nil {
		r.emitServeStart()
	}
	h := a.handler
	if kept, ok := a.kept.take(r.Message); ok { // R209
		h = HandlerFunc(func(r *Request) { r.Reply(kept, nil) })
	}
	a.dispatch(r, h)
}

// dispatch runs the handler for a Request: on its own goroutine when there is a place, or on
// this one with Config.NonBlocking.
func (a *answerer) dispatch(r *request, h Handler) {
	if a.set.NonBlocking {
		a.handle(r, h)
		return
	}
	r.handler = h
	if a.shared.places.Start(&a.requests, r) {
		return
	}
	a.limitReached(LimitMaxHandlers)
	if a.ctx.Err() != nil { // it may have gone down before the Request was queued
		a.dropWaiting()
	}
}

// run runs the handler of a Request at a place.
func (r *request) run() { r.conn.answerer.handle(r, r.handler) }

// handle runs the handler. If it panics or calls runtime.Goexit, handle closes the connection.
func (a *answerer) handle(r *request, h Handler) {
	returned := false
	prog, vers, proc, _ := oncrpc.Procedure(r.Message) // the message may be gone later
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil && r.answered.Load() && !a.set.NonBlocking {
			return // only the goroutine ends
		}
		err, program := oncrpc.Panicked(v), &oncrpc.Program{Number: prog, Version: vers}
		a.set.faults.Error("rdmaio: a handler panicked, its connection is closed",
			"peer", a.conn.RemoteAddr(), "queue_pair", a.qp.Num(), "call", program.Describe(proc), "panic", err.Value, "stack", err.Frames())
		a.fail(err)
		r.Request.Drop(nil) // by way of all Responders
	}()
	h.ServeRPC(&r.Request)
	returned = true
}

// release gives back the memory of a Request and calls its done function.
func (a *answerer) release(q *engine.Request) {
	r, _ := q.Owner.(*request)
	a.emitRefusal(q)
	if r == nil {
		q.ReturnLoan()
		return // refused before it had memory
	}
	for i := range r.regions {
		mr := &r.regions[i]
		err := a.pool.ReleaseAtOnce(mr) // the runner must not wait for the peer
		if err != nil {
			_ = a.pool.Abandon(mr) // no peer has a key to it
		}
		if err = errors.Join(err, a.pool.Unstage(mr, 0)); err != nil {
			a.fail(err)
		}
	}
	for _, b := range []*mrpool.Buffer{r.assembly, r.long} {
		if b == nil {
			continue
		}
		if err := a.pool.Put(b); err != nil {
			a.fail(err)
		}
	}
	if r.assembly != nil {
		a.reclaim(r.assemblyBytes)
	}
	err := r.failed
	if err == nil {
		err = translate(q.Err)
	}
	r.req, r.Message, r.Placed, r.regions, r.assembly, r.long = nil, nil, nil, nil, nil, nil
	q.ReturnLoan()
	if r.delivered {
		if r.end != nil {
			r.end.finish(err)
		}
		r.done(err)
		a.driver.EndRequest()
	}
}
