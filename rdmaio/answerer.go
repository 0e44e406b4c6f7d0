package rdmaio

import (
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// answerer serves the Calls that the peer makes on a connection:
//
//	header of a Call ── chunks: memory ──> deliver ──> dispatch ──> handle ──> release
//	                             │            │            │           └─ waits for memory
//	                             │            │            └─ no place: requests
//	                             └─ refused ──┴─ drains: dropped ──> release
//
// A Request is in exactly one of these stages. The runner of the engine calls the methods, except
// that handle and the replies run on goroutines of handlers, and dispatch for oncrpc.Responder.
type answerer struct {
	*host
	handler  Handler
	reuses   bool // the handler keeps no Requests, and no event has them
	chunks   chunkMemory
	shortage shortage
	unread   unread
	requests admission.Queue[request] // delivered and not answered, without Config.NonBlocking
	row      atomic.Pointer[row]      // nil before the first marked procedure
	kept     keptReplies
	running  running
	released int // of engine.Effects.Release; 0 between steps
}

// queueAssembly gives a Call with chunks an assembly buffer, or lets it wait for one. The Call
// keeps its Receive while it waits, so that a peer that wants too much at a time slows down only
// itself (R309).
func (a *answerer) queueAssembly(q *engine.Request) {
	if r, _ := q.Owner.(*request); r != nil {
		r.fetched()
	}
	if !a.chunks.ask(q, a.set.MaxConnMemory) {
		a.limitReached(LimitMaxConnMemory)
	}
	a.grantWaiting()
}

// grantWaiting gives memory to the growing Call and to those that wait, in their order, while there
// is enough.
func (a *answerer) grantWaiting() {
	for a.chunks.wanted() {
		if q := a.chunks.first(a.set.MaxConnMemory); q != nil && !a.promise(q) {
			return
		}
		q, n := a.chunks.next(a.driver.Delivered())
		if q == nil {
			return
		}
		a.grant(q, n)
	}
}

// promise takes memory of the source for the whole of the first Call that waits, which then begins.
// If the source has not enough, the Call waits, and promise returns false. It is refused if it
// would wait for longer than Config.WorkTimeout, or without end.
func (a *answerer) promise(q *engine.Request) bool {
	s, n := &a.shortage, q.AssemblySize
	if s.waits && !s.woken.Swap(false) {
		return false
	}
	switch never := a.share.Never(n); {
	case !never && a.share.Take(n, &s.waiter):
		s.end(a.host)
		a.chunks.begin()
		r := a.newRequest(q)
		q.Owner, r.ticket = r, a.share.Ticket(n)
	case never || s.late(a.host):
		s.end(a.host)
		a.limitReached(LimitMaxMemory)
		a.refuse(q, fmt.Errorf("%w: a Call needs %d bytes, Config.MaxMemory is %d, and the peer's source may have %d more", ErrMemory, n, a.set.MaxMemory, a.share.Left()))
	default:
		if s.begin(a.host) {
			a.limitReached(LimitMaxMemory)
		}
		return false
	}
	return true
}

// refuse answers the growing Call, or the first that waits, with an error.
func (a *answerer) refuse(q *engine.Request, why error) {
	a.chunks.refuse(q)
	if !a.deviceGone(why) {
		a.log.Warn("rdmaio: a call was refused", "queue_pair", a.qp.Num(), "reason", why)
	}
	a.driver.Post(engine.Event{Kind: engine.EventAssembly, Request: q, Err: why})
}

// grant gives a Call an assembly buffer of n bytes, and moves the bytes there that the Call has
// already.
func (a *answerer) grant(q *engine.Request, n int) {
	r := q.Owner.(*request)
	b, err := a.pool.Buffer(q.AssemblyLead + n)
	if err != nil {
		a.refuse(q, err)
		return
	}
	if r.assembly != nil {
		copy(b.Bytes[q.AssemblyLead:], q.Assembly.Bytes[:q.AssemblyFilled])
		err = a.pool.Discard(r.assembly)
	}
	a.chunks.used += n - r.assemblyBytes
	r.assembly, r.assemblyBytes = b, n
	q.Assembly = engine.Buffer{MR: b.MR, Offset: q.AssemblyLead, Bytes: b.Bytes[q.AssemblyLead:]}
	if err != nil {
		a.refuse(q, err)
		return
	}
	r.fetching = n - q.AssemblyFilled
	a.unread.begin(r.fetching)
	a.driver.Post(engine.Event{Kind: engine.EventAssembly, Request: q})
}

// fetched is called when the RDMA Reads for a Call are over.
func (r *request) fetched() {
	if r.fetching > 0 {
		r.host.conn.answerer.unread.end(r.fetching)
		r.fetching = 0
	}
}

// reclaim counts out the assembly buffer of a Call, after its Ticket.End, and grants memory to
// Calls that wait.
func (a *answerer) reclaim(n int) {
	a.chunks.used -= n
	a.grantWaiting()
}
