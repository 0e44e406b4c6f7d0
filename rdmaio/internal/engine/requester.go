package engine

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// requester makes our Calls: it sends them when there are credits, and matches their Replies.
type requester struct {
	*shared
	sends  *sendQueue
	joiner *joiner
	flow   *Flow // counts of our Calls; the role decides which are forward

	table   calls           // not ended, by XID
	waiting queue[*pending] // for a credit
	idle    []*pending
}

// ready reports whether a Call waits and has a credit.
func (rq *requester) ready() bool { return rq.waiting.len() > 0 && rq.hasCredit() }

// hasCredit reports whether the first Call that waits has a credit. The last one may be kept for an
// urgent Call.
func (rq *requester) hasCredit() bool {
	if !rq.account.Free(protocol.ClassCall) {
		return false
	}
	kept := rq.cfg.KeepCredit && rq.table.n-rq.waiting.len() >= keepFrom-1 && rq.account.Available() == 1
	return !kept || (*rq.waiting.at(0)).call.Urgent
}

// keepFrom is the number of credits from which one is kept for an urgent Call: it is then one of
// eight at most.
const keepFrom = 8

// usable returns the number of credits that are not kept, of those granted.
func (rq *requester) usable(granted int) int {
	if rq.cfg.KeepCredit && granted >= keepFrom {
		return granted - 1
	}
	return granted
}

// call takes a Call, which is sent when it has a credit.
func (rq *requester) call(c *Call) {
	c.Err, c.Sent, c.Reply, c.LongReply, c.InvalidatedKey = nil, false, nil, 0, 0
	c.Waited, c.Abandoned = 0, false
	if c.Offer != nil {
		c.Used, c.Padding = c.Used[:0], Padding{}
	}
	switch {
	case !rq.open:
		rq.done(c, rq.ended)
		return
	case rq.table.get(c.XID) != nil: // R269, R287: also one that was cancelled, its Reply may come
		rq.done(c, &Error{Reason: ErrXIDInUse})
		return
	}
	var p *pending
	if k := len(rq.idle); k > 0 {
		p, rq.idle = rq.idle[k-1], rq.idle[:k-1]
	} else {
		p = new(pending)
	}
	rq.toCall(p, callWaiting)
	*p = pending{state: p.state, xid: c.XID, call: c, at: rq.now, ticket: rq.sends.nextTicket()}
	rq.table.add(p)
	if rq.waiting.push(p); c.Urgent {
		rq.waiting.lead()
	}
}

// sendCall posts a Call's message.
func (rq *requester) sendCall(p *pending) {
	c := p.call
	m := &rq.sends.out
	// RFC 8166 §4.2.3: every message has a credit value (R34). RFC 8167 §5.1: reverse too (R273).
	m.XID, m.Vers, m.Kind = c.XID, rq.version.Number(), header.KindMsg
	if c.Long {
		m.Kind = header.KindNomsg
	}
	if m.InvalidateKey = c.NamedKey; c.Offer != nil {
		m.Lists = c.Lists
	}
	buf, n, err := rq.sends.message(m, c.Payload)
	if err != nil && rq.sends.canContinue(m, c.Payload) {
		s := &rq.sends.sequence
		s.start(m, c.Payload)
		s.call = p
		m.Lists, m.InvalidateKey = header.Lists{}, 0
		rq.toCall(p, callSending)
		rq.sendPart(s)
		return
	}
	if m.InvalidateKey = 0; c.Offer != nil {
		m.Lists = header.Lists{} // they are the caller's
	}
	if err != nil {
		rq.drop(p)
		rq.done(c, err)
		return
	}
	rq.toCall(p, callSent)
	rq.begun(p)
	rq.sends.grant(buf, protocol.ClassCall, 0)
	rq.sends.post(buf, n)
}

// begun counts a Call whose first message is about to be sent.
func (rq *requester) begun(p *pending) {
	c := p.call
	c.Sent = true
	if c.Waited = rq.now - p.at; c.Waited > 0 {
		rq.stats.DelayedCalls++
	}
	rq.flow.Calls++
}

// sendPart posts the next part of a Call that is continued.
func (rq *requester) sendPart(s *sequence) {
	p := s.call
	buf, n, last, err := rq.sends.part(s)
	if err != nil {
		rq.end(err)
		return
	}
	if !s.begun {
		rq.begun(p)
	}
	rq.sends.grant(buf, s.class(), 0)
	s.begun = true
	rq.sends.post(buf, n)
	if !last {
		return
	}
	rq.sends.sequence = sequence{}
	rq.toCall(p, callSent)
	if p.refused != nil {
		rq.refused(p, p.refused)
	}
}

// refused fails a Call with the peer's ERROR (R119 to R121).
func (rq *requester) refused(p *pending, err error) {
	c := p.call
	rq.drop(p)
	rq.account.Ended()
	if c != nil {
		rq.done(c, err)
	}
}

// cancel abandons a Call whose caller no longer waits. If its message was sent, the credit stays in
// use.
func (rq *requester) cancel(xid uint32, c *Call, left any) {
	p := rq.table.get(xid)
	if p == nil || p.call != c {
		return // it has returned by now
	}
	p.call = nil
	if p.state == callWaiting {
		c.Waited = rq.now - p.at
		rq.waiting.remove(func(q *pending) bool { return q == p })
		rq.drop(p)
		rq.done(c, nil) // the caller knows why
		return
	}
	if p.state == callSending { // it cannot be taken back (ADR 0049)
		rq.sends.sequence.own()
	}
	rq.stats.Abandoned++
	c.Abandoned, p.left = true, left
	switch { // its Reply may have come already, and invalidated one
	case rq.terms.CallNamesKey:
		p.keys = append(p.keys, c.NamedKey)
	case c.Offer != nil && rq.terms.RemoteInvalidate && rq.cfg.Role == Requester:
		p.keys = c.Lists.Keys(nil)
	}
	rq.done(c, nil) // the caller knows why
}

// response handles the answer r to one of our Calls. The answer invalidated key; if key is 0, it
// invalidated nothing. The Call stays in progress after a Reply with read chunks, and response
// returns it. Otherwise response returns nil.
func (rq *requester) response(r *Request, f *header.Fault, key uint32) *pending {
	m := &r.hdr
	p := rq.table.get(m.XID)
	known := p.outstanding()
	if key != 0 {
		if !known || !p.offered(key, rq.terms.CallNamesKey) {
			rq.violated(key, fmt.Sprintf("the Reply to XID %#08x, whose Call did not offer it", m.XID))
			return nil
		}
		rq.stats.RemoteInvalidations++
	}
	if known && p.state == callSending {
		rq.early(p, m, f, key)
		return nil
	}
	if !known && m.Kind == header.KindError && f == nil {
		rq.otherError(m)
	}
	if !known { // draft-ietf-nfsv4-rpcrdma-version-two-00 §C.3; R122, R291; T62, T63, T73
		rq.stats.DroppedMessages++
		return nil
	}
	if f == nil && m.Kind != header.KindError && len(m.Reads) > 0 && rq.legacyReplies() {
		return p
	}
	c := p.call
	rq.drop(p)
	rq.account.Ended()
	if m.Kind == header.KindError {
		rq.stats.ErrorMessages++
	} else {
		rq.flow.Replies++
	}
	if c == nil {
		return nil // cancelled: T64
	}
	if c.InvalidatedKey = key; r.Padding.Align != 0 {
		c.WithOffer().Padding = r.Padding
	}
	switch {
	case f != nil: // R123: no answer to it, but its RPC ends
		rq.done(c, f)
	case m.Kind == header.KindError: // R119 to R121
		rq.done(c, &PeerError{rq.version.Number(), m.Err})
	default:
		if len(m.Reads) > 0 { // R326, T70
			f = &header.Fault{Code: header.FaultReads, Found: uint64(len(m.Reads))}
		} else if f = rq.result(c, m); f == nil {
			c.setReply(m.Payload)
		}
		rq.finish(c, f)
	}
	return nil
}

// into returns the Call whose Reply may be assembled in Call.ReplyTo, or nil. A Reply with read
// chunks may be in use when its Call has returned.
func (rq *requester) into(xid uint32) *Call {
	if p := rq.table.get(xid); p != nil && p.state == callSent && p.call != nil && cap(p.call.ReplyTo) > 0 && !rq.legacyReplies() {
		return p.call
	}
	return nil
}

// early deals with an answer to a Call whose parts are not all sent. It completes the Call after
// the last part. Only an ERROR may come so early.
func (rq *requester) early(p *pending, m *header.Message, f *header.Fault, key uint32) {
	if p.call != nil && key != 0 {
		p.call.InvalidatedKey = key
	}
	switch {
	case p.refused != nil:
		rq.stats.DroppedMessages++
	case f != nil:
		p.refused = f
	case m.Kind == header.KindError:
		rq.stats.ErrorMessages++
		p.refused = &PeerError{rq.version.Number(), m.Err}
	default:
		rq.stats.FaultyMessages++
		p.refused = &Error{Reason: ErrEarlyReply, Detail: fmt.Sprintf("XID %#08x", m.XID)}
	}
}

// fail fails a Call whose Reply broke off.
func (rq *requester) fail(xid uint32, f *header.Fault) {
	switch p := rq.table.get(xid); {
	case !p.outstanding():
	case p.state == callSending:
		p.refused = f
	default:
		rq.refused(p, f)
	}
}

// finish completes a Call, whether its Reply is good or not.
func (rq *requester) finish(c *Call, f *header.Fault) {
	if f == nil {
		rq.done(c, nil)
		return
	}
	rq.stats.FaultyMessages++
	rq.done(c, f)
	if f.Code == header.FaultReturnMore {
		rq.end(f) // T65: the peer claims more bytes than were offered; do not trust it with memory
	}
}

// result checks a Reply against its Call, and takes over the lengths (R79 to R81, R83, R85 to R87,
// R98). Nothing protects a header, so each word is checked before use (RFC 8166 §8.2.2.4; R307).
func (rq *requester) result(c *Call, m *header.Message) *header.Fault {
	var long uint64
	var f *header.Fault
	if len(m.Writes) > 0 || m.HasReply {
		c.WithOffer() // the peer returns more than was offered
	}
	if c.Offer != nil {
		if c.Used, long, f = chunk.Returned(c.Used, &c.Lists, &m.Lists); f != nil {
			return f
		}
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

// head checks the head of an RPC message (R16, R151; RFC 8166 §4.5.2; T28).
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

// done completes a Call.
func (rq *requester) done(c *Call, err error) {
	if rq.joiner.into == c {
		rq.joiner.leave()
	}
	c.Err = err
	rq.eff.Done = append(rq.eff.Done, c)
}

// drop forgets a Call.
func (rq *requester) drop(p *pending) {
	if p.state != callWaiting && p.call == nil {
		rq.stats.Abandoned--
	}
	if p.left != nil {
		rq.eff.Settled = append(rq.eff.Settled, p.left)
	}
	rq.table.remove(p)
	rq.toCall(p, callIdle)
	*p = pending{}
	rq.idle = append(rq.idle, p)
}

// abandon fails all Calls, in the order of their XIDs.
func (rq *requester) abandon() {
	for _, p := range rq.table.sorted() {
		if p.call != nil {
			rq.done(p.call, rq.ended)
		}
		if p.left != nil {
			rq.eff.Settled = append(rq.eff.Settled, p.left)
		}
	}
	rq.stats.Abandoned = 0
	rq.table = calls{}
	rq.waiting = queue[*pending]{}
}

// toCall moves p to a state. A step that is not in the drawing above is a bug of the engine, and
// closes the connection.
func (rq *requester) toCall(p *pending, s callState) {
	if !s.follows(p.state) {
		rq.end(&Error{Reason: ErrInternal, Detail: fmt.Sprintf("the Call with XID %#08x goes from state %v to %v", p.xid, p.state, s)})
	}
	p.state = s
}
