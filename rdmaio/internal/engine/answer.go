package engine

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/chunk"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// answer takes a reply in the shape that the driver has chosen from Lists.
func (rs *responder) answer(r *Request) {
	if !rs.open {
		rs.lose(r)
		return
	}
	switch {
	case r.Answer.Drop:
		rs.repost(r)
		rs.account.Answered()
		rs.stats.DroppedMessages++
		rs.release(r)
		return
	case r.Answer.Refuse.Code != 0:
		rs.refuse(r, rs.version.Error(r.Answer.Refuse))
		return
	}
	if len(r.Answer.Reads) > 0 {
		rs.deferAnswer(r)
		return
	}
	rs.shape(r)
	rs.wait(r, queued)
}

// ready reports whether the first request in the queue, which must not be empty, can be posted,
// or with inside, if it may be while a continued message is sent.
func (rs *responder) ready(inside bool) bool {
	switch r := *rs.answers.at(0); {
	case r.state == readQueued:
		return true
	case r.state == doneQueued:
		return !inside
	case r.hdr.Kind == header.KindError:
		return rs.account.Free(protocol.ClassError)
	default:
		return !inside && rs.account.Free(protocol.ClassAnswer)
	}
}

// repost posts the Receive of a Request again, unless that was done.
func (rs *responder) repost(r *Request) {
	if r.source.recv != none {
		rs.postRecv(r.source.recv)
		r.source.recv = none
	}
}

// shape makes the header of a reply.
func (rs *responder) shape(r *Request) {
	long := r.Answer.Long.Length
	for i, c := range r.hdr.Writes { // RFC 8166 §4.3.2.1: one result each, in order; R77, R88
		var sge verbs.SGE
		if i < len(r.Answer.Data) {
			sge = r.Answer.Data[i]
		}
		rs.fill(r, c, sge)
	}
	rs.fill(r, r.hdr.Reply, r.Answer.Long)
	r.hdr.Kind = header.KindMsg
	r.hdr.Reads = append(r.hdr.Reads, r.Answer.Reads...)
	if long > 0 || len(r.hdr.Reads) > 0 && r.hdr.Reads[0].Position == 0 {
		r.hdr.Kind = header.KindNomsg // R98
		r.Answer.Payload = r.Answer.Payload[:0]
	}
}

// fill plans the Writes of one item into one chunk, and makes the lengths of the
// chunk those that the Reply returns.
func (rs *responder) fill(r *Request, c []header.Segment, sge verbs.SGE) {
	from := len(rs.fills)
	rs.fills = chunk.Fill(rs.fills, c, sge.Length, rs.cfg.Limits.Transfer)
	for _, f := range rs.fills[from:] {
		r.transfers = append(r.transfers, transfer{
			sge:    verbs.SGE{MR: sge.MR, Offset: sge.Offset + f.From, Length: int(f.Remote.Length)},
			remote: f.Remote,
		})
	}
	rs.fills = rs.fills[:from]
	rs.stats.BytesWritten += uint64(sge.Length)
}

// refuse answers with RDMA_ERROR, unless that happens too often (A19).
func (rs *responder) refuse(r *Request, e header.Error) {
	if !rs.mayRefuse() {
		rs.lose(r)
		return
	}
	r.hdr.Kind = header.KindError
	r.hdr.Err = e
	r.Answer.Payload = r.Answer.Payload[:0]
	r.transfers = r.transfers[:0]
	r.Answer.Reads = r.Answer.Reads[:0]
	r.hdr.Reads = r.hdr.Reads[:0]
	rs.wait(r, queued)
}

// post posts a queued request, for which there is room.
func (rs *responder) post(r *Request) {
	switch r.state {
	case readQueued:
		rs.pull(r)
	case doneQueued:
		rs.sendDone(r)
	default:
		rs.send(r)
	}
}

// need returns the entries of the send queue that a queued request takes, and whether it sends a
// message.
func (r *Request) need() (wrs int, message bool) {
	if r.state == readQueued {
		return r.pulling.batch, false
	}
	return len(r.transfers) + 1, true
}

// wait queues a request for send queue entries: s is readQueued, queued or doneQueued.
func (rs *responder) wait(r *Request, s requestState) {
	rs.to(r, s)
	r.ticket = rs.sends.nextTicket()
	rs.answers.push(r)
}

// send posts an answer: the Receive it came in, for the grant that goes out
// with it (R133), then Writes, then the Send (RFC 8166 §3.5.2; R4).
func (rs *responder) send(r *Request) {
	held := r.InReceive()
	rs.repost(r)
	want := r.hdr.Credit
	rs.account.Answered()
	m := &r.hdr
	if m.Kind != header.KindError {
		// RFC 8167 §5.2; R274. An ERROR has the Call's, whatever that was (R116).
		m.Vers = rs.version.Number()
	}
	m.Answer = true // R144
	buf, n, err := rs.sends.message(m, r.Answer.Payload)
	if err != nil && rs.sends.canContinue(m, r.Answer.Payload) {
		s := &rs.sends.sequence
		s.start(m, r.Answer.Payload)
		s.reply = r
		if held { // the first part may grant a credit for the Receive
			s.ownPartsOf(r.Message)
		}
		rs.to(r, sending)
		rs.sendPart(s)
		return
	}
	if err != nil && m.Kind != header.KindError {
		// The driver has planned wrongly; the peer still gets its answer (R125).
		m.Kind, m.Err, r.transfers = header.KindError, rs.version.Error(header.Error{Code: header.ErrSystem}), r.transfers[:0]
		r.Err = err
		m.Reads = m.Reads[:0]
		rs.releaseDeferred() // it takes no RDMA_DONE any more
		buf, n, err = rs.sends.message(m, nil)
	}
	if err != nil {
		rs.end(err)
		rs.lose(r)
		return
	}
	class := protocol.ClassAnswer
	if m.Kind == header.KindError {
		class = protocol.ClassError
		rs.stats.ErrorMessages++
	} else {
		rs.flow.Replies++
	}
	rs.sends.grant(buf, class, want)
	rs.postAnswer(r, buf, n)
}

// sendPart posts the next part of a Reply that is continued, with the Writes before the last one.
func (rs *responder) sendPart(s *sequence) {
	r := s.reply
	buf, n, last, err := rs.sends.part(s)
	if err != nil {
		rs.end(err)
		return
	}
	rs.sends.grant(buf, s.class(), 0)
	s.begun = true
	if !last {
		rs.sends.post(buf, n)
		return
	}
	rs.sends.sequence = sequence{}
	rs.flow.Replies++
	rs.postAnswer(r, buf, n)
}

// postAnswer posts the Writes of an answer and then its last message, the n bytes in buf.
func (rs *responder) postAnswer(r *Request, buf *Buffer, n int) {
	rs.stats.Sent++
	rs.posted(r)
	waits := r
	if len(r.transfers) == 0 && r.state == sent {
		waits = nil // all of it was copied: what the handler gave is its own again
		rs.copied = append(rs.copied, r)
	}
	id := rs.sends.begin(len(r.transfers)+1, buf, waits)
	for i := range r.transfers {
		t := &r.transfers[i]
		rs.sends.add(verbs.SendWR{WRID: id, Opcode: verbs.RDMAWrite, RKey: t.remote.Handle, RemoteAddr: t.remote.Offset}, t.sge)
	}
	wr := verbs.SendWR{WRID: id, Opcode: verbs.Send, Flags: verbs.SendSignaled | verbs.SendSolicited}
	// RFC 8797 §4.1: only a Reply invalidates, and only a key that its Call offered; otherwise a
	// plain Send is used (R261). The Call's Reads are complete, and its Writes precede the Send
	// (R4). The terms may have changed since the Call came (R240).
	if r.key != 0 && rs.terms.RemoteInvalidate && r.hdr.Kind != header.KindError {
		wr.Opcode, wr.InvalidateRKey = verbs.SendWithInvalidate, r.key
		rs.stats.RemoteInvalidations++
	}
	rs.sends.add(wr, buf.sge(n))
}
