package engine

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// This file has the parts of draft-ietf-nfsv4-rpcrdma-08 that RFC 8166 §4.6 withdrew: Replies with
// read chunks, acknowledged by RDMA_DONE, and padding. They need Config.Legacy, and exist in the
// forward direction only (A21).

// readReply begins to read a Reply with read chunks to the Call p. It is assembled like a Call with
// read chunks. Then RDMA_DONE is sent, whether the Reply is valid or not. The credit of the Call is
// in use until that is sent (§3.8; R105, R106).
func (rs *responder) readReply(r *Request, i int, p *pending, key uint32) {
	rs.next = rs.idle.take()
	rs.to(r, received)
	r.XID, r.source.recv, r.reply = r.hdr.XID, i, p
	rs.takeLoan(r)
	rs.requester.toCall(p, callReading)
	rs.requester.flow.Replies++
	c := p.call
	if c == nil { // cancelled: it need not be read
		rs.replyRead(r, nil)
		return
	}
	c.InvalidatedKey = key
	r.withChunks()
	f := rs.requester.result(c, &r.hdr)
	if f == nil {
		f = r.plan.Call(r.hdr.Reads, len(r.hdr.Payload), r.hdr.Kind == header.KindNomsg, &rs.cfg.Limits)
	}
	if f == nil {
		f = rs.checkReadDepth(r)
	}
	if f != nil {
		rs.replyRead(r, f)
		return
	}
	rs.wantAssembly(r)
}

// replyRead completes the Call of a Reply that was read or cannot be, unless it was cancelled. Then
// it queues RDMA_DONE.
func (rs *responder) replyRead(r *Request, err error) {
	c := r.reply.call
	rs.requester.drop(r.reply)
	r.reply = nil
	rs.repost(r)
	if c != nil {
		f, _ := err.(*header.Fault) //nolint:errorlint // it is as readReply made it
		if err == nil {
			f = head(r.Message, r.XID, header.Reply)
		}
		switch {
		case f != nil:
			rs.requester.finish(c, f)
		case err != nil:
			rs.requester.done(c, err)
		default:
			c.Reply = append(c.ReplyTo[:0], r.Message...)
			rs.requester.done(c, nil)
		}
	}
	if !rs.open {
		rs.lose(r)
		return
	}
	rs.wait(r, doneQueued)
}

// sendDone posts the RDMA_DONE of a Reply.
func (rs *responder) sendDone(r *Request) {
	m := &rs.sends.out
	m.XID, m.Vers, m.Kind = r.XID, rs.version.Number(), header.KindDone
	buf, n, err := rs.sends.message(m, nil)
	if err != nil {
		rs.end(err)
		rs.lose(r)
		return
	}
	rs.sends.grant(buf, protocol.ClassOther, 0)
	rs.stats.Sent++
	rs.stats.DoneMessages++
	rs.to(r, doneSent)
	id := rs.sends.begin(1, buf, r)
	rs.sends.add(verbs.SendWR{WRID: id, Opcode: verbs.Send, Flags: verbs.SendSignaled | verbs.SendSolicited}, buf.sge(n))
}

// deferAnswer defers an answer with read chunks until there is a Receive for its RDMA_DONE.
// Until then the peer's Call keeps its credit; the answer is sent when the peer has read others
// (§11; R107, R108).
func (rs *responder) deferAnswer(r *Request) {
	rs.to(r, deferred)
	rs.deferred.push(r)
	rs.releaseDeferred()
}

// releaseDeferred queues deferred answers while there are Receives for their RDMA_DONE.
func (rs *responder) releaseDeferred() {
	for rs.deferred.len() > 0 && len(rs.awaitingDone)+rs.deferredQueued() < rs.doneReceives() {
		r := rs.deferred.pop()
		rs.shape(r)
		rs.wait(r, queued)
	}
}

// doneReceives returns the number of Receives for RDMA_DONE.
func (rs *responder) doneReceives() int { return rs.cfg.Receives - rs.cfg.Calls - rs.cfg.Serves }

// deferredQueued returns the number of answers with read chunks that wait for send queue entries.
func (rs *responder) deferredQueued() (n int) {
	for i := range rs.answers.len() {
		if r := *rs.answers.at(i); r.Answer.reads() > 0 {
			n++
		}
	}
	return n
}

// posted records that an answer is posted. If it has read chunks, the peer must send RDMA_DONE
// before the deadline (R109).
func (rs *responder) posted(r *Request) {
	if len(r.hdr.Reads) == 0 || r.hdr.Kind == header.KindError {
		rs.to(r, sent)
		return
	}
	rs.to(r, sentReads)
	r.deadline = rs.now + rs.cfg.DoneTimeout
	rs.awaitingDone = append(rs.awaitingDone, r)
}

// doneCame handles an RDMA_DONE: the peer has read an answer, and a deferred one can be sent. If no
// answer waits for it, it is dropped (R110; T122).
func (rs *responder) doneCame(xid uint32) {
	i := slices.IndexFunc(rs.awaitingDone, func(r *Request) bool { return r.XID == xid })
	if i < 0 {
		rs.stats.DroppedMessages++
		return
	}
	rs.stats.DoneMessages++
	r := rs.awaitingDone[i]
	rs.awaitingDone = slices.Delete(rs.awaitingDone, i, i+1)
	r.hdr.Reads = r.hdr.Reads[:0]
	if r.state == sentReads {
		rs.to(r, sent) // its Send has still to complete
	} else {
		rs.release(r)
	}
	rs.releaseDeferred()
}
