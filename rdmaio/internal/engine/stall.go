package engine

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// stall is the wait of answers, of a message that is being continued, and of control messages for a
// credit of the peer. A peer that grants no credit could keep their memory, and the caller's, for
// as long as it likes. So the connection is then closed, as for a peer that accepts no message
// (T128). Our Calls that were not sent, not even in part, may wait for as long as their callers do.
type stall struct {
	on       stalled
	deadline time.Duration // 0: nothing waits for a credit
}

// stalled identifies what waits and how much of it is left: another value is progress.
type stalled struct {
	ticket uint64 // of the first answer
	left   int    // bytes of the sequence
	sent   uint64 // messages
}

// look notes at the end of a Step what waits for a credit, and since when.
func (st *stall) look(e *Engine) {
	s, answers := &e.sends.sequence, &e.responder.answers
	if !s.open && answers.len()+e.control.queue.len() == 0 || e.cfg.ChainTimeout == 0 || !e.open || e.account.Free(protocol.ClassAnswer) {
		st.deadline = 0
		return
	}
	var on stalled
	switch {
	case s.open:
		on.left = s.left + 1
	case answers.len() > 0:
		on.ticket = (*answers.at(0)).ticket
	default:
		on.sent = e.stats.Sent
	}
	if st.deadline == 0 || on != st.on {
		st.on, st.deadline = on, e.now+e.cfg.ChainTimeout
	}
	e.wake(st.deadline)
}

// timer closes the connection if the peer grants no credit in time.
func (st *stall) timer(e *Engine) {
	if e.open && st.deadline > 0 && st.deadline <= e.now {
		e.end(&Error{Reason: ErrTimeout, Detail: fmt.Sprintf("the peer granted no credit for a message that waits for one within %v", e.cfg.ChainTimeout)})
	}
}
