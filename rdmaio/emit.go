package rdmaio

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// rpcOf returns the RPC that a message belongs to. The message must have an XID at least.
func (c *Conn) rpcOf(m []byte) RPC {
	r := RPC{Conn: c, XID: binary.BigEndian.Uint32(m)}
	if len(m) >= 24 {
		r.Program, r.Version, r.Procedure = binary.BigEndian.Uint32(m[12:]), binary.BigEndian.Uint32(m[16:]), binary.BigEndian.Uint32(m[20:])
	}
	return r
}

// emitUp emits ConnUp, once. Other events of the connection wait for it. It reports whether it did.
func (c *Conn) emitUp() (emitted bool) {
	if c.set.Events != nil && c.auth.isOpen() {
		c.begun.Do(func() {
			c.wasUp, emitted = true, true
			up := &ConnUp{Conn: c, Accepted: c.role == engine.Responder, Terms: c.Terms(), Peer: c.auth.peer.Load()}
			c.set.Events(up)
		})
	}
	return emitted
}

// emitVersion emits TermsSet when the first message of the client has shown the version and the
// sizes, unless ConnUp has them.
func (c *Conn) emitVersion() {
	if c.set.Events == nil || c.role == engine.Requester || !c.set.speaks(v2.Number) || c.Err() != nil || !c.auth.isOpen() {
		return
	}
	if !c.emitUp() && c.wasUp {
		c.set.Events(&TermsSet{Conn: c, Terms: c.Terms()})
	}
}

// emitDown emits ConnDown if ConnUp was emitted. Err must return the reason already.
func (c *Conn) emitDown() {
	if c.set.Events == nil {
		return
	}
	c.begun.Do(func() {})
	if c.wasUp {
		c.set.Events(&ConnDown{Conn: c, Reason: c.Err()})
	}
}

// emit emits an event that the peer may have caused. On an accepted connection ConnUp comes first:
// the side that dialed may send before Accept returns here. There is no event before host
// authentication is complete.
func (c *Conn) emit(e Event) {
	if !c.auth.isOpen() {
		return
	}
	if c.role == engine.Responder {
		c.emitUp()
	}
	c.set.Events(e)
}

// limitReached emits LimitHit.
func (c *Conn) limitReached(l Limit) {
	if c.set.Events != nil {
		c.emit(&LimitHit{Conn: c, Limit: l})
	}
}

// observedExchange makes a Call between CallStart and CallEnd.
func (c *Conn) observedExchange(ctx context.Context, call *Call) (*Reply, error) {
	start := time.Now()
	e := &CallEnd{RPC: c.rpcOf(call.Inline), Sent: call.Size(nil)}
	c.set.Events(&CallStart{RPC: e.RPC, Message: &call.Message})
	reply, err := c.exchange(ctx, call, e)
	e.Took = time.Since(start)
	if e.Reply, e.Err = reply, err; err == nil {
		e.Received = len(reply.Message)
		for i := range reply.Items {
			e.Received += len(reply.Items[i].Data)
		}
	}
	c.set.Events(e)
	return reply, err
}

// record adds the waiting time and the chunks of a Call to its event.
func (e *CallEnd) record(c *engine.Call) {
	e.Waited += c.Waited
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

// emitServeStart emits ServeStart for a Request that a handler is about to get.
func (r *request) emitServeStart() {
	c := r.conn
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

// emitRefusal emits Refusal if the engine refused a Call.
func (c *Conn) emitRefusal(q *engine.Request) {
	if c.set.Events != nil && q.Refused != nil {
		c.emit(&Refusal{Conn: c, XID: q.XID, Reason: translate(q.Refused)})
	}
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
