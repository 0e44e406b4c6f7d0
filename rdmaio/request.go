package rdmaio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// request is a Request of a connection, and its Responder.
type request struct {
	Request // which the handler gets

	conn          *Conn
	req           *engine.Request
	assembly      *mrpool.Buffer // of Message, if it had chunks
	assemblyBytes int            // its length, as chunkMemory counts it
	long          *mrpool.Buffer // of a reply that had to be put together
	regions       []mrpool.Region
	answered      atomic.Bool
	delivered     bool // a handler got it
	handler       Handler
	done          func(error)
	end           *ServeEnd // nil without Config.Events
	failed        error     // why another answer than the handler's is sent
}

// Conn implements oncrpc.Responder.
func (r *request) Conn() oncrpc.Conn { return r.conn }

// Context implements oncrpc.Responder.
func (r *request) Context() context.Context { return r.conn.ctx }

// Room implements oncrpc.Responder. The results are those that have write chunks. In version 2 the
// reply may have Config.MaxContinued at least: the caller does not say what it takes.
func (r *request) Room() (results []int, reply int) {
	results = make([]int, len(r.req.Lists.Writes))
	for i, c := range r.req.Lists.Writes {
		results[i] = length(c)
	}
	return results, r.replyRoom()
}

// replyRoom returns the size in bytes of the largest reply that the caller can receive, without the
// results in write chunks.
func (r *request) replyRoom() int {
	return max(r.conn.agreed.Load().sendRoom(&r.req.Lists), length(r.req.Lists.Reply), r.continued())
}

// length returns the length of a chunk, or the largest int, which a chunk may exceed on 32-bit
// systems (R52).
func length(chunk []header.Segment) int { return int(min(header.Total(chunk), math.MaxInt)) }

// Reply implements oncrpc.Responder. Each item of m goes to the write chunk with its index (RFC
// 8166 §3.4.6; R76, R77). An item without a chunk, or whose chunk has size 0, goes inline (R86).
// done gets nil when the reply was passed to the provider. If the reply does not fit what the
// caller offered, done gets a *SizeError and the caller gets RDMA_ERROR (R101; T52). If m is not a
// reply to the Call, done gets the reason and the caller gets SYSTEM_ERR.
func (r *request) Reply(m Message, done func(error)) {
	if !r.first(done) {
		return
	}
	if r.end != nil {
		r.end.record(&m)
	}
	xid := binary.BigEndian.Uint32(r.Message)
	if err := m.CheckReply(xid); err != nil {
		r.unsent("rdmaio: a handler's reply cannot be sent, the client gets SYSTEM_ERR", err)
		b, _ := oncrpc.NewReply(xid, oncrpc.SystemErr).AppendBinary(nil) // cannot fail
		m = Message{Inline: b}
	}
	if refuse, err := r.plan(&m); err != nil {
		if !r.conn.deviceGone(err) {
			r.unsent("rdmaio: a handler's reply cannot be sent, the client gets RDMA_ERROR", err)
		}
		r.failed = err // also if it was not recorded
		r.req.Answer.Refuse = refuse
	}
	r.conn.driver.PostReply(r.req)
}

// unsent records why the handler's reply is not sent.
func (r *request) unsent(message string, why error) {
	r.failed = why
	r.conn.log.Warn(message, "queue_pair", r.conn.qp.Num(), "call", oncrpc.DescribeCall(r.Message), "reason", why)
}

// Drop implements oncrpc.Responder.
func (r *request) Drop(done func(error)) {
	if r.first(done) {
		if r.end != nil {
			r.end.Dropped = true
		}
		r.req.Answer.Drop = true
		r.conn.driver.PostReply(r.req)
	}
}

// Report implements oncrpc.Responder. The error goes to Config.Logger at level Warn, or to
// slog.Default without one, and to ServeEnd.HandlerErr.
func (r *request) Report(err error) {
	c := r.conn
	with := []any{"peer", c.RemoteAddr(), "xid", fmt.Sprintf("0x%08x", binary.BigEndian.Uint32(r.Message)), "reason", err}
	var panicked *oncrpc.PanicError
	if errors.As(err, &panicked) {
		with = append(with, "stack", panicked.Frames())
	}
	c.shared.faults.Warn("rdmaio: a handler failed", with...)
	if r.end != nil {
		r.end.HandlerErr = err
	}
}

// Serve implements oncrpc.Responder.
func (r *request) Serve(h Handler) { r.conn.answerer.dispatch(r, h) }

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

// plan chooses the shape of a reply and registers the memory from which it is written. If that is
// not possible, it returns the error for the peer, and the reason.
func (r *request) plan(m *Message) (refuse header.Error, err error) {
	refuse.Code = header.ErrSystem
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
			refuse = header.Error{Code: header.ErrWriteResource, Index: uint32(i + 1), Need: uint32(len(data))} // R206
			refuse = r.conn.answerer.kept.keep(r.Message, m, refuse)
			return refuse, &SizeError{What: fmt.Sprintf("result %d", i), Need: len(data), Limit: int(room), Hint: "the caller has to offer a larger buffer in Results; Request.Room returns what it offered"}
		}
		// RFC 8166 §3.4.6.2, draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.6: without roundup; R82
		sge, err := r.register(data)
		if err != nil {
			return refuse, err
		}
		a.Data = append(a.Data, sge)
	}
	// RFC 8166 §3.5.3, draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.3 and §6.5: the results in
	// chunks first, then the rest; R100
	n := m.Size(back)
	if n <= r.conn.agreed.Load().sendRoom(&r.req.Lists) {
		a.Payload = m.Gather(a.Payload, back) // RFC 8166 §4.3.3: even with a reply chunk; R99
		return refuse, nil
	}
	// draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.4, §6.5; R97, R98: the reply needs the reply
	// chunk, whose contents include all XDR padding (R95).
	if room := header.Total(r.req.Lists.Reply); uint64(n) > room {
		switch {
		case n <= r.continued(): // R166
			a.Payload = m.Gather(a.Payload, back)
			return refuse, nil
		case r.conn.set.Legacy && r.conn.role == engine.Responder && len(writes) == 0 && !r.conn.agreed.Load().version.Continues():
			return refuse, r.offerReadChunks(m)
		}
		refuse = header.Error{Code: header.ErrReplyResource, Need: uint32(min(uint64(n), math.MaxUint32))} // R207
		return r.conn.answerer.kept.keep(r.Message, m, refuse), &SizeError{What: "reply", Need: n, Limit: r.replyRoom(), Hint: "the caller has to offer a larger ReplyBuf or MaxReply; Request.Room returns what it offered"}
	}
	if pieces := m.Gather(nil, back); len(pieces) == 1 {
		a.Long, err = r.register(pieces[0])
	} else if r.long, err = r.conn.pool.Buffer(n); err == nil {
		at := 0
		for _, p := range pieces {
			at += copy(r.long.Bytes[at:], p)
		}
		a.Long = verbs.SGE{MR: r.long.MR, Length: n}
	}
	return refuse, err
}

// continued returns the length in bytes of the longest reply that goes in several Sends. A reverse
// reply to a peer with inline support is one Send (R276).
func (r *request) continued() int {
	t := r.conn.agreed.Load()
	if !t.version.Continues() || r.conn.role == engine.Requester && t.Reverse != header.ReverseGeneral {
		return 0
	}
	return r.conn.set.MaxContinued
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
		mr, err = r.conn.pool.RegisterCopy(data, access)
	} else {
		mr, err = r.conn.pool.Register(data, access)
	}
	if err == nil {
		r.regions = append(r.regions, mr)
	}
	return mr, err
}

// newRequest returns the Request of a connection that the engine knows as q.
func newRequest(c *Conn, q *engine.Request) *request {
	r := &request{conn: c, req: q}
	r.Responder = r
	return r
}
