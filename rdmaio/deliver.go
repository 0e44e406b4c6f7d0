package rdmaio

import (
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// deliver passes a Call to the handler, or drops it if the connection drains.
func (a *answerer) deliver(q *engine.Request) {
	r, _ := q.Owner.(*request)
	if r == nil {
		r = a.newRequest(q)
		q.Owner = r
	}
	r.fetched()
	if !a.driver.BeginRequest() {
		q.Answer.Drop = true
		a.driver.Post(engine.Event{Kind: engine.EventReply, Request: q})
		return
	}
	r.delivered = true
	r.Message, r.Padding = q.Message, Padding(q.Padding)
	for _, p := range q.Places() {
		r.Placed = append(r.Placed, xdr.Item{Position: uint64(p.At), Data: q.Message[p.At : p.At+p.Len : p.At+p.Len]})
	}
	if !a.set.NoCancel && cancel.IsCall(r.Message) {
		r.Reply(Message{Inline: cancel.Serve(r.Message, a.cancel)}, nil)
		return
	}
	if a.set.Events != nil {
		r.emitServeStart()
	}
	h := a.handler
	if kept, ok := a.kept.take(r.Message); ok { // R209
		h = HandlerFunc(func(r *Request) { r.Reply(kept, nil) })
	}
	if r.handler = h; a.takes(r) {
		r.users.Add(1)
		a.enrow(r)
		return
	}
	a.dispatch(r, h)
}

// dispatch runs the handler for a Request: on its own goroutine when there is a place, or on
// this one with Config.NonBlocking.
func (a *answerer) dispatch(r *request, h Handler) {
	r.handler = h
	r.users.Add(1)
	if a.set.NonBlocking {
		a.handle(r, false)
		return
	}
	a.start(r)
}

// start runs the handler of a Request when there is a place.
func (a *answerer) start(r *request) {
	if a.shared.places.Start(&a.requests, r) {
		return
	}
	a.limitReached(LimitMaxHandlers)
	if a.ctx.Err() != nil { // it may have gone down before the Request was queued
		a.dropWaiting()
	}
}

// run runs the handler of a Request at a place.
func (r *request) run() {
	a := &r.host.conn.answerer
	if r.marked {
		a.row.Load().run(r)
		return
	}
	a.handle(r, true)
}

// handle runs the handler when there is memory for its reply, with wait on this goroutine, else on
// another one if it must wait. If the handler panics, also as an oncrpc.Bounder, or calls
// runtime.Goexit, handle closes the connection.
func (a *answerer) handle(r *request, wait bool) {
	returned, again := false, false
	prog, vers, proc, _ := oncrpc.Procedure(r.Message) // the message may be gone later
	defer func() {
		if returned {
			r.leave()
			return
		}
		if again {
			go a.handle(r, true)
			return
		}
		v := recover()
		if v == nil && r.answered.Load() && wait {
			return // only the goroutine ends
		}
		err, program := oncrpc.Panicked(v), &oncrpc.Program{Number: prog, Version: vers}
		a.set.faults.Error("rdmaio: a handler panicked, its connection is closed",
			"peer", a.conn.RemoteAddr(), "queue_pair", a.qp.Num(), "call", program.Describe(proc), "panic", err.Value, "stack", err.Frames())
		a.fail(err)
		r.Request.Drop(nil) // by way of all Responders
	}()
	bound := oncrpc.BoundOf(r.handler, prog, vers, proc)
	switch has := r.life.canceled.Load() || r.ticket.Admit(bound, nil) || a.awaitTicket(r, bound, wait); {
	case has && r.life.canceled.Load(): // before it has run
		b, _ := oncrpc.NewReply(r.req.XID, oncrpc.SystemErr).AppendBinary(nil) // cannot fail
		r.Request.Reply(Message{Inline: b}, nil)
	case has:
		r.handler.ServeRPC(&r.Request)
	case wait: // the connection is down
		r.Request.Drop(nil)
	default:
		again = true
		return
	}
	returned = true
}

// awaitTicket waits until there is memory for the reply to a Request, of at most bound bytes unless
// that is negative, and reports whether there is. Without wait, or when the connection is down, it
// returns false.
func (a *answerer) awaitTicket(r *request, bound int, wait bool) bool {
	if !r.short {
		r.short = true
		a.limitReached(LimitMaxMemory)
	}
	if r.here != 0 {
		a.row.Load().inline.HandOver(r.here)
	}
	return wait && r.ticket.Await(bound, a.conn, a.ctx.Done())
}

// release gives back the memory of a Request and calls its done function.
func (a *answerer) release(q *engine.Request) {
	r, _ := q.Owner.(*request)
	a.emitRefusal(q)
	if r == nil {
		q.ReturnLoan()
		return // refused before it had memory
	}
	a.running.remove(r)
	if r.life.asked.Load() {
		r.life.end(nil)
	}
	r.fetched()
	if r.unread > 0 {
		a.unread.end(r.unread)
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
	q.ForgetAnswer()
	defer r.over(err) // also if done exits the goroutine
	if r.delivered {
		if r.end != nil {
			r.end.finish(err)
		}
		r.done(err)
	}
}

// over counts out a Request. err is the argument of its done function.
func (r *request) over(err error) {
	if r.delivered {
		r.host.driver.EndRequest()
	}
	if err != nil {
		r.ticket.Waste()
	} else {
		r.ticket.End()
	}
	r.leave()
}

// end fails the Calls with chunks that wait for memory, drops the Requests that wait for a place,
// and forgets the replies kept. The connection is down.
func (a *answerer) end(why error) {
	a.shortage.end(a.host)
	for _, q := range a.chunks.end() {
		a.driver.Post(engine.Event{Kind: engine.EventAssembly, Request: q, Err: why})
	}
	a.dropWaiting()
	a.kept.end()
}

// dropWaiting drops the Requests that wait for a place, because the connection is down.
func (a *answerer) dropWaiting() {
	a.shared.places.RemoveAll(&a.requests, func(r *request) { r.Request.Drop(nil) })
	if w := a.row.Load(); w != nil {
		w.drop()
	}
}
