package rdmaio

import (
	"encoding/binary"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// emitRefusal emits Refusal if the engine refused a Call.
func (h *host) emitRefusal(q *engine.Request) {
	if h.set.Events != nil && q.Refused != nil {
		h.emit(&Refusal{Conn: h.conn, XID: q.XID, Reason: translate(q.Refused)})
	}
}

// record adds the waiting time and the chunks of a Call to its event.
func (e *CallEnd) record(c *engine.Call) {
	e.Waited += c.Waited
	if c.Offer == nil {
		return
	}
	position := int64(-1)
	for i := range c.Lists.Reads {
		if p := int64(c.Lists.Reads[i].Position); p != position {
			e.ReadChunks, position = e.ReadChunks+1, p
		}
	}
	e.WriteChunks = len(c.Lists.Writes)
	if c.Lists.HasReply {
		e.WriteChunks++
	}
}

// emit completes the event with the end of the Call, and emits it.
func (e *CallEnd) emit(reply *Reply, err error) {
	e.Took = time.Since(e.Conn.start) - e.Took
	if e.Reply, e.Err = reply, err; err == nil {
		e.Received = len(reply.Message)
		for i := range reply.Items {
			e.Received += len(reply.Items[i].Data)
		}
	}
	e.Conn.set.Events(e)
}

// emitServeStart emits ServeStart for a Request that a handler is about to get.
func (r *request) emitServeStart() {
	c := r.host
	r.end = &ServeEnd{RPC: c.rpcOf(r.Message), Took: time.Since(c.start), Received: len(r.Message), Placed: len(r.Placed)}
	c.emit(&ServeStart{RPC: r.end.RPC, Request: &r.Request})
}

// record adds the size and the status of a reply to its event. The words of a reply are XID, type,
// reply_stat, verifier and accept_stat (RFC 5531 §9).
func (e *ServeEnd) record(m *Message) {
	e.Sent = m.Size(nil)
	b := m.Inline
	if len(b) < 12 {
		return
	}
	if e.Denied = binary.BigEndian.Uint32(b[8:]) != uint32(oncrpc.Accepted); e.Denied || len(b) < 24 {
		return
	}
	if verf := uint64(binary.BigEndian.Uint32(b[16:])); verf <= 400 {
		if at := 20 + xdr.Padded(int(verf)); len(b) >= at+4 {
			e.Status = oncrpc.AcceptStat(binary.BigEndian.Uint32(b[at:]))
		}
	}
}

// finish emits ServeEnd.
func (e *ServeEnd) finish(err error) {
	e.Took, e.Err = time.Since(e.Conn.start)-e.Took, err
	e.Conn.set.Events(e)
}

// emitFailed emits ConnFailed.
func (s *settings) emitFailed(addr string, accepted bool, err error) {
	if s.Events != nil {
		e := &ConnFailed{Addr: addr, Accepted: accepted, Reason: err}
		if !accepted {
			e.Version = s.Versions[0]
		}
		s.Events(e)
	}
}
