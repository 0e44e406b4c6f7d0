package rdmaio

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

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
	size := m.Size(nil)
	if refuse, err := r.plan(&m); err != nil {
		if !r.host.deviceGone(err) {
			r.unsent("rdmaio: a handler's reply cannot be sent, the client gets RDMA_ERROR", err)
		}
		r.failed = err // also if it was not recorded
		r.req.Answer.Refuse = refuse
	}
	r.ticket.Reply(size)
	if size >= longReply && r.req.Answer.Refuse.Code == 0 {
		r.unread = size
		r.host.conn.answerer.unread.begin(size)
	}
	r.host.driver.PostReply(r.req, r.more())
}

// Drop implements oncrpc.Responder.
func (r *request) Drop(done func(error)) {
	if r.first(done) {
		if r.end != nil {
			r.end.Dropped = true
		}
		r.req.Answer.Drop = true
		r.host.driver.PostReply(r.req, r.more())
	}
}

// more reports whether the handler's goroutine runs another handler of the connection next.
func (r *request) more() bool {
	a := &r.host.conn.answerer
	return r.here != 0 && a.row.Load().waiting.Load() > 0 || a.requests.Waiting()
}

// Serve implements oncrpc.Responder.
func (r *request) Serve(h Handler) {
	r.marked, r.here = false, 0 // the other handler does not run in answerer.row
	r.host.conn.answerer.dispatch(r, h)
}

// plan chooses the shape of a reply and registers the memory from which it is written. If that is
// not possible, it returns the error for the peer, and the reason.
func (r *request) plan(m *Message) (refuse header.Error, err error) {
	refuse.Code = header.ErrSystem
	a := &r.req.Answer
	writes := r.req.Offered().Writes
	// RFC 8166 §4.3.2.3: a result without a place goes with the rest of the reply; R86, R89
	back := func(i int) bool { return i >= len(writes) || header.Total(writes[i]) == 0 }
	for i := range min(len(m.Items), len(writes)) {
		res := a.WithResults()
		if back(i) {
			res.Data = append(res.Data, verbs.SGE{})
			continue
		}
		data := m.Items[i].Data
		if room := header.Total(writes[i]); uint64(len(data)) > room {
			refuse = header.Error{Code: header.ErrWriteResource, Index: uint32(i + 1), Need: uint32(len(data))} // R206
			refuse = r.host.conn.answerer.kept.keep(r.Message, m, refuse)
			return refuse, &SizeError{What: fmt.Sprintf("result %d", i), Need: len(data), Limit: int(room), Hint: "the caller has to offer a larger buffer in Results; Request.Room returns what it offered"}
		}
		// RFC 8166 §3.4.6.2, draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.6: without roundup; R82
		sge, err := r.register(data)
		if err != nil {
			return refuse, err
		}
		res.Data = append(res.Data, sge)
	}
	// RFC 8166 §3.5.3, draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.3 and §6.5: the results in
	// chunks first, then the rest; R100
	n := m.Size(back)
	if n <= r.host.agreed.Load().sendRoom(r.req.Offered()) {
		a.Payload = m.Gather(a.Payload, back) // RFC 8166 §4.3.3: even with a reply chunk; R99
		return refuse, nil
	}
	// draft-ietf-nfsv4-rpcrdma-version-two-00 §4.5.4, §6.5; R97, R98: the reply needs the reply
	// chunk, whose contents include all XDR padding (R95).
	if room := header.Total(r.req.Offered().Reply); uint64(n) > room {
		switch {
		case n <= r.continued(): // R166
			a.Payload = m.Gather(a.Payload, back)
			return refuse, nil
		case r.host.set.Legacy && r.host.role == engine.Responder && len(writes) == 0 && !r.host.agreed.Load().version.Continues():
			return refuse, r.offerReadChunks(m)
		}
		refuse = header.Error{Code: header.ErrReplyResource, Need: uint32(min(uint64(n), math.MaxUint32))} // R207
		return r.host.conn.answerer.kept.keep(r.Message, m, refuse), &SizeError{What: "reply", Need: n, Limit: r.replyRoom(), Hint: "the caller has to offer a larger ReplyBuf or MaxReply; Request.Room returns what it offered"}
	}
	if pieces := m.Gather(nil, back); len(pieces) == 1 {
		a.WithResults().Long, err = r.register(pieces[0])
	} else if r.long, err = r.host.pool.Buffer(n); err == nil {
		at := 0
		for _, p := range pieces {
			at += copy(r.long.Bytes[at:], p)
		}
		a.WithResults().Long = verbs.SGE{MR: r.long.MR, Length: n}
	}
	return refuse, err
}

// unsent records why the handler's reply is not sent.
func (r *request) unsent(message string, why error) {
	r.failed = why
	r.host.log.Warn(message, "queue_pair", r.host.qp.Num(), "call", oncrpc.DescribeCall(r.Message), "reason", why)
}
