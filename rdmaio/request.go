package rdmaio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// request is a Request of a connection, and its Responder.
type request struct {
	Request // which the handler gets

	host          *host
	req           *engine.Request
	assembly      *mrpool.Buffer // of Message, if it had chunks
	assemblyBytes int            // its length, as chunkMemory counts it
	long          *mrpool.Buffer // of a reply that had to be put together
	regions       []mrpool.Region
	ticket        admission.Ticket
	short         bool         // there was no memory for the reply
	fetching      int          // bytes of its chunks that RDMA Reads fetch now
	unread        int          // bytes of the reply, if it is long
	users         atomic.Int32 // that have not called leave: handlers, and the answer
	answered      atomic.Bool
	delivered     bool // a handler got it
	handler       Handler
	marked        bool          // the first of answerer.row, which runs at a place
	here          admission.Run // in answerer.row
	inRow         *request      // the next one in answerer.row
	done          func(error)
	end           *ServeEnd // nil without Config.Events
	failed        error     // why another answer than the handler's is sent
	life          life
	prev, next    *request // in answerer.running
}

var _ oncrpc.Responder = (*request)(nil)

// Conn implements oncrpc.Responder.
func (r *request) Conn() oncrpc.Conn { return r.host.conn }

// Context implements oncrpc.Responder.
func (r *request) Context() context.Context {
	if r.host.set.NoCancel {
		return r.host.ctx
	}
	return r.life.context(r.host.ctx)
}

// Room implements oncrpc.Responder. The results are those that have write chunks. In version 2 the
// reply may have Config.MaxContinued at least: the caller does not say what it takes.
func (r *request) Room() (results []int, reply int) {
	results = make([]int, len(r.req.Offered().Writes))
	for i, c := range r.req.Offered().Writes {
		results[i] = length(c)
	}
	return results, r.replyRoom()
}

// replyRoom returns the size in bytes of the largest reply that the caller can receive, without the
// results in write chunks.
func (r *request) replyRoom() int {
	l := r.req.Offered()
	return max(r.host.agreed.Load().sendRoom(l), length(l.Reply), r.continued())
}

// length returns the length of a chunk, or the largest int, which a chunk may exceed on 32-bit
// systems (R52).
func length(chunk []header.Segment) int { return int(min(header.Total(chunk), math.MaxInt)) }

// Report implements oncrpc.Responder. The error goes to Config.Logger at level Warn, or to
// slog.Default without one, and to ServeEnd.HandlerErr.
func (r *request) Report(err error) {
	c := r.host
	with := []any{"peer", c.conn.RemoteAddr(), "xid", fmt.Sprintf("0x%08x", binary.BigEndian.Uint32(r.Message)), "reason", err}
	var panicked *oncrpc.PanicError
	if errors.As(err, &panicked) {
		with = append(with, "stack", panicked.Frames())
	}
	c.shared.faults.Warn("rdmaio: a handler failed", with...)
	if r.end != nil {
		r.end.HandlerErr = err
	}
}

// Reserve implements oncrpc.Responder. It waits for Config.WorkTimeout at most, and not with
// Config.NonBlocking.
func (r *request) Reserve(n int) (taken bool) {
	h := r.host
	if h.set.NonBlocking {
		taken, _ = r.ticket.Take(n, nil)
	} else {
		if r.here != 0 {
			if taken, later := r.ticket.Take(n, nil); !later {
				return r.reserved(taken)
			}
			h.conn.answerer.row.Load().inline.HandOver(r.here)
		}
		taken = r.ticket.AwaitMore(n, h.conn, h.ctx.Done(), h.set.WorkTimeout)
	}
	return r.reserved(taken)
}

// reserved reports whether Reserve has taken its memory, and emits an event if it has not.
func (r *request) reserved(taken bool) bool {
	if !taken {
		r.host.limitReached(LimitMaxMemory)
	}
	return taken
}

// first reports whether this is the first answer to the Request, and keeps its done function. It
// calls done with ErrAnswered if it is not.
func (r *request) first(done func(error)) bool {
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

// continued returns the length in bytes of the longest reply that goes in several Sends. A reverse
// reply to a peer with inline support is one Send (R276).
func (r *request) continued() int {
	t := r.host.agreed.Load()
	if !t.version.Continues() || r.host.role == engine.Requester && t.Reverse != header.ReverseGeneral {
		return 0
	}
	return r.host.set.MaxContinued
}

// register registers a handler's memory for this side's device to read. The peer gets no key to it
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.1; R10).
func (r *request) register(data []byte) (verbs.SGE, error) {
	if len(data) == 0 {
		return verbs.SGE{}, nil
	}
	mr, err := r.region(data, 0)
	if err != nil {
		return verbs.SGE{}, err
	}
	return verbs.SGE{MR: mr.MemoryRegion, Length: len(data)}, nil
}

// region registers memory with the given rights until the Request is released. If it is a part of
// the Call, in a Receive that is posted again before that, region registers a copy.
func (r *request) region(data []byte, access verbs.Access) (mrpool.Region, error) {
	var mr mrpool.Region
	var err error
	if r.req.InReceive() && engine.PartOf(data, r.req.Message) {
		mr, err = r.host.pool.RegisterCopy(data, access)
	} else {
		mr, err = r.host.pool.Register(data, access)
	}
	if err == nil {
		r.regions = append(r.regions, mr)
	}
	return mr, err
}

// requests has memory of Requests.
var requests = sync.Pool{New: func() any { return new(request) }}

// newRequest returns the Request of a connection that the engine knows as q.
func (a *answerer) newRequest(q *engine.Request) *request {
	var r *request
	if a.reuses {
		r = requests.Get().(*request)
	} else {
		r = new(request)
	}
	r.host, r.req, r.ticket, r.Responder = a.host, q, a.share.Ticket(0), r
	r.users.Store(1)
	a.running.add(r)
	return r
}

// leave is called when a user of a Request is done: its handler has returned, or it is released.
// After the last one the memory is used again, if the handler keeps no Requests:
//
//	newRequest ── users 1 ──┬── a handler begins: +1 ── it returns: leave ──┐
//	                        │        └─ it panics, or exits: no leave       ├──> 0: requests
//	                        └── release: leave ─────────────────────────────┘
func (r *request) leave() {
	if r.users.Add(-1) == 0 && r.host.conn.answerer.reuses {
		*r = request{}
		requests.Put(r)
	}
}
