package rdmaio

import (
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
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
			r = newRequest(a.host, q)
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
