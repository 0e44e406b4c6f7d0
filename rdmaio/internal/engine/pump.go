package engine

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/header"

// pump posts the messages and RDMA Reads that fit. Both directions share the send queue and its
// buffers, in strict FIFO order by their tickets: if the first one does not fit, nothing is posted
// (R283). Messages that wait for a credit are skipped, and so are Calls until the version is known
// (R178, A31). A continued message of ours is completed first.
func (e *Engine) pump() {
	rq, rs := &e.requester, &e.responder
	e.stuck = false
	for e.open {
		inside := e.sends.sequence.open
		if !inside && rq.waiting.len()+rs.answers.len()+e.control.queue.len() == 0 && !e.account.Due() {
			return // most Steps end here
		}
		calls := !inside && e.negotiation.state == versionFixed && rq.ready()
		answers := rs.answers.len() > 0 && rs.ready(inside)
		if calls && answers {
			calls = (*rq.waiting.at(0)).ticket < (*rs.answers.at(0)).ticket
		}
		wrs, message, batch := 1, true, false
		controls, part := e.control.queue.len() > 0 && e.control.ready(inside), inside && e.account.Free(e.sends.sequence.class())
		switch {
		case controls:
		case calls:
			message = !(*rq.waiting.at(0)).fits(rq.sends)
		case part:
			wrs = e.sends.sequence.need()
		case answers:
			r := *rs.answers.at(0)
			wrs, message = r.need(e.cfg.SendWRs)
			batch = !message && r.state == queued
			message = message && !r.fits(rs.sends)
		case e.account.Due():
			if e.stuck = !e.sends.room(1, true); e.stuck {
				e.wantBuffers()
				return
			}
			e.control.grant()
			return
		default:
			return
		}
		if e.stuck = !e.sends.room(wrs, message); e.stuck {
			e.wantBuffers()
			return
		}
		switch {
		case controls:
			e.control.send()
		case part:
			e.part()
		case calls:
			rq.sendCall(rq.waiting.pop())
		case batch:
			rs.sends.write(*rs.answers.at(0), wrs)
		default:
			rs.post(rs.answers.pop())
		}
	}
}

// part posts the next part of the continued message.
func (e *Engine) part() {
	switch s := &e.sends.sequence; {
	case s.call != nil:
		e.requester.sendPart(s)
	default:
		e.responder.sendPart(s)
	}
}

// fits reports whether the message of a Call goes behind those in the open send buffer.
func (p *pending) fits(sq *sendQueue) bool {
	kind := header.KindMsg
	if p.call.Long {
		kind = header.KindNomsg
	}
	return sq.fits(kind, sq.lists(p.call), p.call.Payload)
}

// fits reports whether an answer does.
func (r *Request) fits(sq *sendQueue) bool {
	return r.state == queued && sq.fits(r.hdr.Kind, &r.hdr.Lists, r.Answer.Payload)
}

// wantBuffers asks for send buffers for the messages that have a credit.
func (e *Engine) wantBuffers() {
	bytes, size := 0, e.cfg.sendSize()
	for i := range e.responder.answers.len() {
		r := *e.responder.answers.at(i)
		bytes += min(size, aligned(e.sends.size(&r.hdr.Lists, r.Answer.Payload)))
	}
	for i := range min(e.requester.waiting.len(), e.account.Counts().Free) {
		c := (*e.requester.waiting.at(i)).call
		bytes += min(size, aligned(e.sends.size(e.sends.lists(c), c.Payload)))
	}
	n := (bytes+size-1)/size + e.control.queue.len()
	if s := &e.sends.sequence; s.open {
		n += 1 + s.left/e.terms.Send
	}
	e.sends.wantBuffers(max(n, 1))
}
