package engine

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// This file has the parts of draft-ietf-nfsv4-rpcrdma-08 that RFC 8166 §4.6 withdrew: Replies with
// read chunks, acknowledged by RDMA_DONE, and padding. They need Config.Legacy, and exist in the
// forward direction only (A21).

// mostAlign is the largest alignment of padding that is accepted, in bytes: the largest size of an
// inline message (RFC 8797).
const mostAlign = 256 << 10

// padded checks a message with padding, and makes it a KindMsg. The padding stays in the payload,
// before each opaque item that is long enough (§3.9; R111, R112, T123). Only a decoder of the RPC
// message can find it, by r.Padding.
func (e *Engine) padded(r *Request, start int) *header.Fault {
	m, p := &r.hdr, r.hdr.Pad
	switch {
	case !e.cfg.Legacy: // RFC 8166 §4.6.1; R113
		return &header.Fault{Code: header.FaultWithdrawn, Found: 2, Want: uint64(e.version.Number())}
	case p.Align == 0 || p.Align&(p.Align-1) != 0 || p.Align > mostAlign || p.Threshold == 0:
		return &header.Fault{Code: header.FaultPad, Found: uint64(p.Align), Want: uint64(p.Threshold)}
	case len(m.Reads) > 0:
		return &header.Fault{Code: header.FaultPadReads, Found: uint64(len(m.Reads))}
	}
	m.Kind = header.KindMsg
	r.Padding = Padding{p.Align, p.Threshold, start}
	return nil
}

// legacyReplies reports whether Replies to our Calls may have read chunks.
// Nothing else makes the engine send RDMA_DONE (RFC 8166 §4.6.2; R113).
func (e *Engine) legacyReplies() bool { return e.cfg.Legacy && e.cfg.Role == Requester }

// readReply begins to read a Reply with read chunks to the Call p. It is assembled like a Call with
// read chunks. Then RDMA_DONE is sent, whether the Reply is valid or not. The credit of the Call is
// in use until that is sent (§3.8; R105, R106). readReply reports that the Receive is still in use.
func (e *Engine) readReply(r *Request, i int, p *pending, key uint32) (kept bool) {
	e.next = e.newRequest()
	e.to(r, received)
	r.XID, r.recv, r.reply = r.hdr.XID, i, p
	e.toCall(p, callReading)
	e.ours.Replies++
	c := p.call
	if c == nil { // cancelled: it need not be read
		e.replyRead(r, nil)
		return true
	}
	c.InvalidatedKey = key
	f := e.result(c, &r.hdr)
	if f == nil {
		f = r.plan.Call(r.hdr.Reads, len(r.hdr.Payload), r.hdr.Kind == header.KindNomsg, &e.cfg.Limits)
	}
	if f == nil {
		f = e.checkReadDepth(r)
	}
	if f != nil {
		e.replyRead(r, f)
		return true
	}
	e.wantAssembly(r)
	return true
}

// replyRead ends the Call of a Reply that was read or cannot be, unless it was cancelled. Then it
// queues RDMA_DONE.
func (e *Engine) replyRead(r *Request, err error) {
	c := r.reply.call
	e.drop(r.reply)
	r.reply = nil
	if r.recv != none {
		e.postRecv(r.recv)
		r.recv = none
	}
	if c != nil {
		f, _ := err.(*header.Fault) //nolint:errorlint // it is as readReply made it
		if err == nil {
			f = head(r.Message, r.XID, header.Reply)
		}
		switch {
		case f != nil:
			e.finish(c, f)
		case err != nil:
			e.done(c, err)
		default:
			c.Reply = append(c.ReplyTo[:0], r.Message...)
			e.done(c, nil)
		}
	}
	if !e.open {
		e.lose(r)
		return
	}
	e.wait(r, doneQueued)
}

// sendDone posts the RDMA_DONE of a Reply.
func (e *Engine) sendDone(r *Request) {
	m := &e.out
	m.XID, m.Vers, m.Credit, m.Kind = r.XID, e.version.Number(), e.credit.Want(), header.KindDone
	buf, n, err := e.message(m, nil)
	if err != nil {
		e.end(err)
		e.lose(r)
		return
	}
	e.stats.Sent++
	e.stats.DoneMessages++
	e.to(r, doneSent)
	id := e.begin(1, buf, r)
	e.add(verbs.SendWR{WRID: id, Opcode: verbs.Send, Flags: verbs.SendSignaled | verbs.SendSolicited}, buf.sge(n))
}

// deferAnswer defers an answer with read chunks until there is a Receive for its RDMA_DONE.
// Meanwhile the peer's Call keeps its credit; the answer is sent when the peer has read others
// (§11; R107, R108).
func (e *Engine) deferAnswer(r *Request) {
	e.to(r, deferred)
	e.deferred.push(r)
	e.releaseDeferred()
}

// releaseDeferred queues deferred answers while there are Receives for their RDMA_DONE.
func (e *Engine) releaseDeferred() {
	for e.deferred.len() > 0 && len(e.awaitingDone)+e.deferredQueued() < e.doneReceives() {
		r := e.deferred.pop()
		e.shape(r)
		e.wait(r, queued)
	}
}

// doneReceives returns the number of Receives for RDMA_DONE.
func (e *Engine) doneReceives() int { return len(e.cfg.Recv) - e.cfg.Calls - e.cfg.Serves }

// deferredQueued returns the number of answers with read chunks that wait for send queue entries.
func (e *Engine) deferredQueued() (n int) {
	for i := range e.answers.len() {
		if r := *e.answers.at(i); len(r.Answer.Reads) > 0 {
			n++
		}
	}
	return n
}

// posted records that an answer is posted. If it has read chunks, the peer must send RDMA_DONE
// before the deadline (R109).
func (e *Engine) posted(r *Request) {
	if len(r.hdr.Reads) == 0 || r.hdr.Kind == header.KindError {
		e.to(r, sent)
		return
	}
	e.to(r, sentReads)
	r.deadline = e.now + e.cfg.DoneTimeout
	e.awaitingDone = append(e.awaitingDone, r)
}

// doneCame handles an RDMA_DONE: the peer has read an answer, and a deferred one can be sent. If no
// answer waits for it, it is dropped (R110; T122).
func (e *Engine) doneCame(xid uint32) {
	i := slices.IndexFunc(e.awaitingDone, func(r *Request) bool { return r.XID == xid })
	if i < 0 {
		e.stats.DroppedMessages++
		return
	}
	e.stats.DoneMessages++
	r := e.awaitingDone[i]
	e.awaitingDone = slices.Delete(e.awaitingDone, i, i+1)
	r.hdr.Reads = r.hdr.Reads[:0]
	if r.state == sentReads {
		e.to(r, sent) // its Send has still to complete
	} else {
		e.release(r)
	}
	e.releaseDeferred()
}
