package engine

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
		wrs, message := 1, true
		controls, part := e.control.queue.len() > 0 && e.control.ready(inside), inside && e.account.Free(e.sends.sequence.class())
		switch {
		case controls, calls:
		case part:
			wrs = e.sends.sequence.need()
		case answers:
			wrs, message = (*rs.answers.at(0)).need(e.cfg.SendWRs)
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
		case !message && (*rs.answers.at(0)).state == queued:
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

// wantBuffers asks for a send buffer for each message that has a credit, if it needs one.
func (e *Engine) wantBuffers() {
	n := e.responder.answers.len() + min(e.requester.waiting.len(), e.account.Counts().Free) + e.control.queue.len()
	if s := &e.sends.sequence; s.open {
		n += 1 + s.left/e.terms.Send
	}
	e.sends.wantBuffers(max(n, 1))
}
