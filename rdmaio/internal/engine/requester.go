package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// pending is a Call of ours to which a Reply may still come. Its states, with the events that lead
// from one to the next:
//
//	       EventCall                 credit and room              Reply, or error
//	callIdle ────────> callWaiting ──────────────────> callSent ──────────────────> callIdle
//	                        │                             │ Reply with read chunks     ▲
//	                        │ EventCancel                 ▼        Reply is read       │
//	                        │                         callReading ─────────────────────┤
//	                        └──────────────────────────────────────────────────────────┘
//
// A Call whose message does not fit goes from callWaiting to callIdle, too. EventCancel of a Call
// that was sent sets call to nil and does not change the state: the credit is in use until the
// Reply (R135). When the connection ends, abandonCalls ends all Calls without these steps.
type pending struct {
	state  callState
	xid    uint32
	call   *Call         // nil once cancelled
	at     time.Duration // of EventCall
	ticket uint64        // its place in the queue for send queue entries
	left   any           // of a cancelled Call, for Effects.Settled
	keys   []uint32      // offered by a cancelled Call, where its Reply may invalidate one
}

// callState is the state of a pending Call.
type callState uint8

const (
	callIdle    callState = iota // in Engine.idle, for the next Call
	callWaiting                  // in Engine.waiting: for a credit, then for room in the send queue
	callSent                     // out; a Reply is expected
	callReading                  // its Reply has read chunks (Config.Legacy): see Request
)

var callStates = [...]string{
	callIdle:    "idle",
	callWaiting: "waiting",
	callSent:    "sent",
	callReading: "reading",
}

// String returns the name of the state.
func (s callState) String() string { return callStates[s] }

// toCall moves p to a state. A step that is not in the drawing above is a bug of the engine and
// ends the connection.
func (e *Engine) toCall(p *pending, s callState) {
	if s != p.state+1 && (s != callIdle || p.state == callIdle) {
		e.end(&Error{Reason: ErrInternal, Detail: fmt.Sprintf("the Call with XID %#08x goes from state %v to %v", p.xid, p.state, s)})
	}
	p.state = s
}

// offered reports whether the peer was given this key for the Call.
func (p *pending) offered(key uint32) bool {
	if p.call == nil {
		return slices.Contains(p.keys, key)
	}
	return p.call.Lists.HasKey(key)
}

// call takes a Call: it goes out when it has a credit.
func (e *Engine) call(c *Call) {
	c.Err, c.Sent, c.Reply, c.LongReply, c.Used, c.InvalidatedKey, c.Padding = nil, false, nil, 0, c.Used[:0], 0, Padding{}
	c.Waited, c.Abandoned = 0, false
	switch {
	case !e.open:
		e.done(c, e.ended)
		return
	case e.table[c.XID] != nil: // R269, R287: also one that was cancelled, its Reply may come
		e.done(c, &Error{Reason: ErrXIDInUse})
		return
	}
	var p *pending
	if k := len(e.idle); k > 0 {
		p, e.idle = e.idle[k-1], e.idle[:k-1]
	} else {
		p = new(pending)
	}
	e.toCall(p, callWaiting)
	*p = pending{state: p.state, xid: c.XID, call: c, at: e.now, ticket: e.nextTicket()}
	e.table[c.XID] = p
	e.waiting.push(p)
}

// sendCall posts a Call's message.
func (e *Engine) sendCall(p *pending) {
	c := p.call
	m := &e.out
	// RFC 8166 §4.2.3: every message has a credit value (R34). RFC 8167 §5.1: reverse too (R273).
	m.XID, m.Vers, m.Credit, m.Kind = c.XID, e.version.Number(), e.credit.Want(), header.KindMsg
	if c.Long {
		m.Kind = header.KindNomsg
	}
	m.Lists = c.Lists
	buf, n, err := e.message(m, c.Payload)
	m.Lists = header.Lists{} // they are the caller's
	if err != nil {
		e.drop(p)
		e.done(c, err)
		return
	}
	e.toCall(p, callSent)
	c.Sent = true
	if c.Waited = e.now - p.at; c.Waited > 0 {
		e.stats.DelayedCalls++
	}
	e.credit.Sent()
	e.ours.Calls++
	e.stats.Sent++
	id := e.begin(1, buf, nil)
	e.add(verbs.SendWR{WRID: id, Opcode: verbs.Send, Flags: verbs.SendSignaled | verbs.SendSolicited}, buf.sge(n))
}

// cancel ends a Call whose caller no longer waits. If its message was sent, the credit stays in
// use.
func (e *Engine) cancel(xid uint32, c *Call, left any) {
	p := e.table[xid]
	if p == nil || p.call != c {
		return // it ended meanwhile
	}
	p.call = nil
	if p.state == callWaiting {
		c.Waited = e.now - p.at
		e.waiting.remove(func(q *pending) bool { return q == p })
		e.drop(p)
		e.done(c, nil) // the caller knows why
		return
	}
	e.stats.Abandoned++
	c.Abandoned, p.left = true, left
	if e.terms.RemoteInvalidate && e.cfg.Role == Requester {
		p.keys = c.Lists.Keys(nil) // its Reply may have come already, and have ended one
	}
	e.done(c, nil) // the caller knows why
}

// calls are our Calls that have not ended, by XID.
type calls map[uint32]*pending

// Outstanding implements protocol.Calls.
func (c calls) Outstanding(xid uint32) bool { return c[xid].outstanding() }

// outstanding reports whether a Reply to the Call is expected; p may be nil.
func (p *pending) outstanding() bool { return p != nil && p.state == callSent }

// response deals with an answer to one of our Calls, in Receive i and decoded into e.next, which
// ended key; 0 is none. It reports whether the Receive is still in use.
func (e *Engine) response(r *Request, i int, f *header.Fault, key uint32) bool {
	m := &r.hdr
	_, typ, typed := header.RPC(m.Payload)
	p := e.table[m.XID]
	known := p.outstanding()
	if key != 0 {
		if !known || !p.offered(key) {
			e.violated(key, fmt.Sprintf("the Reply to XID %#08x, whose Call did not offer it", m.XID))
			return true
		}
		e.stats.RemoteInvalidations++
	}
	// R267, T17: the credit value is a grant only if this surely is an answer.
	switch {
	case f != nil:
	case m.Kind == header.KindError, m.Kind == header.KindMsg && typed && typ == header.Reply,
		m.Kind == header.KindNomsg && known && len(m.Reads) > 0 && e.self.LongReplies,
		m.Kind == header.KindNomsg && known && m.HasReply && len(m.Reads) == 0:
		e.credit.Grant(m.Credit)
	}
	if !known { // R122, R291; T62, T63, T73
		e.stats.DroppedMessages++
		return false
	}
	if f == nil && m.Kind != header.KindError && len(m.Reads) > 0 && e.legacyReplies() {
		return e.readReply(r, i, p, key)
	}
	c := p.call
	e.drop(p)
	e.credit.Ended()
	if m.Kind == header.KindError {
		e.stats.ErrorMessages++
	} else {
		e.ours.Replies++
	}
	if c == nil {
		return false // cancelled: T64
	}
	c.InvalidatedKey, c.Padding = key, r.Padding
	switch {
	case f != nil: // R123: no answer to it, but its RPC ends
		e.done(c, f)
	case m.Kind == header.KindError: // R119 to R121
		e.done(c, &PeerError{Code: m.Err.Code, Low: m.Err.Low, High: m.Err.High})
	default:
		if len(m.Reads) > 0 { // R326, T70
			f = &header.Fault{Code: header.FaultReads, Found: uint64(len(m.Reads))}
		} else if f = e.result(c, m); f == nil {
			c.Reply = append(c.ReplyTo[:0], m.Payload...)
		}
		e.finish(c, f)
	}
	return false
}

// finish ends a Call whose Reply is good, or is not.
func (e *Engine) finish(c *Call, f *header.Fault) {
	if f == nil {
		e.done(c, nil)
		return
	}
	e.stats.FaultyMessages++
	e.done(c, f)
	if f.Code == header.FaultReturnMore {
		e.end(f) // T65: the peer claims more bytes than were offered; do not trust it with memory
	}
}

// result checks a Reply against its Call, and takes over the lengths (R79 to R81, R83, R85 to R87,
// R98). Nothing protects a header, so no word of it is used unchecked (RFC 8166 §8.2.2.4; R307).
func (e *Engine) result(c *Call, m *header.Message) *header.Fault {
	var long uint64
	var f *header.Fault
	if c.Used, long, f = chunk.Returned(c.Used, &c.Lists, &m.Lists); f != nil {
		return f
	}
	if m.Kind == header.KindNomsg {
		if len(m.Reads) > 0 {
			return nil // it is still to be read
		}
		if long < 8 { // T69
			return &header.Fault{Code: header.FaultNoChunk, Where: "reply chunk", Found: long, Want: 8}
		}
		c.LongReply = int(long)
		return nil
	}
	return head(m.Payload, m.XID, header.Reply)
}

// head checks that of an RPC message (R16; RFC 8166 §4.5.2; T28).
func head(b []byte, want uint32, msgType header.MsgType) *header.Fault {
	switch xid, typ, typed := header.RPC(b); {
	case !typed:
		return &header.Fault{Code: header.FaultPayload, Found: uint64(len(b)), Want: 8}
	case xid != want:
		return &header.Fault{Code: header.FaultXID, Found: uint64(xid), Want: uint64(want)}
	case typ != msgType:
		return &header.Fault{Code: header.FaultType, Found: uint64(typ), Want: uint64(msgType)}
	}
	return nil
}

// done ends a Call.
func (e *Engine) done(c *Call, err error) {
	c.Err = err
	e.eff.Done = append(e.eff.Done, c)
}

// drop forgets a Call.
func (e *Engine) drop(p *pending) {
	if p.state != callWaiting && p.call == nil {
		e.stats.Abandoned--
	}
	if p.left != nil {
		e.eff.Settled = append(e.eff.Settled, p.left)
	}
	delete(e.table, p.xid)
	e.toCall(p, callIdle)
	*p = pending{}
	e.idle = append(e.idle, p)
}

// abandonCalls ends all Calls, in the order of their XIDs: a map has none.
func (e *Engine) abandonCalls() {
	for _, xid := range slices.Sorted(maps.Keys(e.table)) {
		p := e.table[xid]
		if p.call != nil {
			e.done(p.call, e.ended)
		}
		if p.left != nil {
			e.eff.Settled = append(e.eff.Settled, p.left)
		}
	}
	e.stats.Abandoned = 0
	clear(e.table)
	e.waiting = queue[*pending]{}
}
