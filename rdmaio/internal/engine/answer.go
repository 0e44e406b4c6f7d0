package engine

import (
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
	if r.Answer.reads() > 0 {
		rs.deferAnswer(r)
		return
	}
	rs.shape(r)
	rs.wait(r, queued)
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
		m.Kind, m.Err = header.KindError, rs.version.Error(header.Error{Code: header.ErrSystem})
		r.dropWrites()
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
	rest := r.unwritten()
	if rest == 0 && (r.Chunks == nil || r.written == 0) && r.state == sent {
		waits = nil // all of it was copied: what the handler gave is its own again
		rs.copied = append(rs.copied, r)
	}
	id := rs.sends.begin(rest+1, buf, waits)
	if rest > 0 {
		rs.sends.addWrites(id, r, rest)
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
