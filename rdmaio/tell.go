package rdmaio

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// rpcOf reads which RPC a message is of; it has at least an XID.
func (c *Conn) rpcOf(m []byte) RPC {
	r := RPC{Conn: c, XID: binary.BigEndian.Uint32(m)}
	if len(m) >= 24 {
		r.Program, r.Version, r.Procedure = binary.BigEndian.Uint32(m[12:]), binary.BigEndian.Uint32(m[16:]), binary.BigEndian.Uint32(m[20:])
	}
	return r
}

// up tells that the connection was made, once. Others wait meanwhile: what they have to tell comes after it.
func (c *Conn) up() {
	if c.set.Events != nil {
		c.begun.Do(func() {
			c.wasUp = true
			c.set.Events(&ConnUp{Conn: c, Accepted: c.role == engine.Responder, Terms: c.Terms()})
		})
	}
}

// down tells that it has ended, if it was up. Err knows why by then.
func (c *Conn) down() {
	if c.set.Events == nil {
		return
	}
	c.begun.Do(func() {})
	if c.wasUp {
		c.set.Events(&ConnDown{Conn: c, Reason: c.Err()})
	}
}

// tell tells what the peer may have caused: one that dialed may know that the connection is up before us.
func (c *Conn) tell(e Event) {
	if c.role == engine.Responder {
		c.up()
	}
	c.set.Events(e)
}

// hit tells of a limit.
func (c *Conn) hit(l Limit) {
	if c.set.Events != nil {
		c.tell(&LimitHit{Conn: c, Limit: l})
	}
}

// count takes over the engine's counts, and returns what there is to tell of the peer; nil is nothing. mu is locked.
func (c *Conn) count() *PeerFaults {
	if c.set.Events == nil {
		c.stats = c.engine.Stats()
		return nil
	}
	was := c.stats
	c.stats = c.engine.Stats()
	e := PeerFaults{
		Conn: c, DroppedMessages: c.stats.DroppedMessages - was.DroppedMessages, CallsOverCredit: c.stats.CallsOverCredit - was.CallsOverCredit, FaultyMessages: c.stats.FaultyMessages - was.FaultyMessages,
		ZeroGrants: c.stats.ZeroGrants - was.ZeroGrants, OverGrants: c.stats.OverGrants - was.OverGrants,
	}
	if e == (PeerFaults{Conn: c}) {
		return nil
	}
	told := e // else every e would be on the heap
	return &told
}

// watched makes a Call and tells of it.
func (c *Conn) watched(ctx context.Context, call *Call) (*Reply, error) {
	start := time.Now()
	e := &CallEnd{RPC: c.rpcOf(call.Inline), Sent: call.bytes()}
	c.set.Events(&CallStart{RPC: e.RPC, Message: &call.Message})
	call.watch = e
	reply, err := c.exchange(ctx, call)
	call.watch = nil
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

// note keeps of a Call in progress what CallEnd tells.
func (e *CallEnd) note(c *engine.Call) {
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

// served tells that a handler gets a Request, and begins what ServeEnd tells.
func (r *Request) served() {
	c := r.conn
	r.watch = &ServeEnd{RPC: c.rpcOf(r.Message), Took: time.Since(c.start), Received: len(r.Message), Placed: len(r.Placed)}
	c.tell(&ServeStart{RPC: r.watch.RPC, Request: r})
}

// answer notes what is sent, and what it says: xid, type, reply_stat, verifier, accept_stat (RFC 5531 §9).
func (e *ServeEnd) answer(m *Message) {
	e.Sent = m.bytes()
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

// over tells that the Request was answered.
func (e *ServeEnd) over(err error) {
	e.Took, e.Err = time.Since(e.Conn.start)-e.Took, err
	e.Conn.set.Events(e)
}

// refusedCall tells of a Call that no handler saw.
func (c *Conn) refusedCall(q *engine.Request) {
	if c.set.Events != nil && q.Refused != nil {
		c.tell(&Refusal{Conn: c, XID: q.XID, Reason: translate(q.Refused)})
	}
}

// failed tells that no connection was made.
func (s *settings) failed(addr string, accepted bool, err error) {
	if s.Events != nil {
		s.Events(&ConnFailed{Addr: addr, Accepted: accepted, Reason: err})
	}
}

// stalled waits for a slot where there is none.
func (c *Conn) stalled(ctx context.Context, call *Call) (*slot, error) {
	c.waits.Add(1)
	c.hit(LimitCredits)
	if e := call.watch; e != nil {
		defer func(since time.Time) { e.Waited = time.Since(since) }(time.Now())
	}
	select {
	case s := <-c.slots:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ctx.Done():
		return nil, c.Err()
	}
}
