package engine

// pump posts the Calls, answers and RDMA Reads that fit. Both directions share the send queue and
// its buffers, in strict FIFO order by their tickets: if the first one does not fit, nothing is
// posted (R283). Calls that wait for a credit are skipped.
func (e *Engine) pump() {
	rq, rs := &e.requester, &e.responder
	e.stuck = false
	for e.open {
		calls, answers := rq.ready(), rs.answers.len() > 0
		if calls && answers {
			calls = (*rq.waiting.at(0)).ticket < (*rs.answers.at(0)).ticket
		}
		switch {
		case calls:
			if e.stuck = !e.sends.room(1, true); e.stuck {
				e.wantBuffers()
				return
			}
			rq.sendCall(rq.waiting.pop())
		case answers:
			if e.stuck = !e.sends.room((*rs.answers.at(0)).need()); e.stuck {
				e.wantBuffers()
				return
			}
			rs.post(rs.answers.pop())
		default:
			return
		}
	}
}

// wantBuffers asks for a send buffer for each message that has a credit, if it needs one.
func (e *Engine) wantBuffers() {
	rq := &e.requester
	e.sends.wantBuffers(e.responder.answers.len() + min(rq.waiting.len(), e.account.Counts().Free))
}
