package rdmaio

import (
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// lone lets the caller of a Call that is alone on its connection handle the peer's messages itself
// (verbs.Progresser). So no other goroutine has to wake it for the reply.
//
//	the only Call, no data chunks ──> Progress ──> answered ──────────────────> return
//	                                     │             └─ others came ──> Resume ──> return
//	                                     └─ returned before ─┐
//	any other Call ──> Resume ───────────────────────────────┴─> wait for the answer
//
// A second Call does not wait for the first: a caller in Progress runs the engine for all. When it
// returns, Resume makes the provider continue for the Calls that are left.
type lone struct {
	qp      verbs.Progresser // nil if callers handle no messages
	calls   atomic.Int32     // Calls between begin and end
	polling atomic.Bool      // a caller is in Progress
}

// begin is called for a Call that was posted. It may return before the Call is answered.
func (l *lone) begin(s *slot) {
	if l.qp == nil {
		return
	}
	if l.calls.Add(1) > 1 || s.movesData() {
		l.qp.Resume()
		return
	}
	s.polling.Store(true)
	l.polling.Store(true)
	l.qp.Progress(s.isAnswered)
	l.polling.Store(false)
	s.polling.Store(false)
	if l.calls.Load() > 1 {
		l.qp.Resume()
	}
}

// submitted is called for a Call that is about to be posted by a goroutine that does not wait for
// it, and end when it is over. resume must follow when it is posted.
func (l *lone) submitted() {
	if l.qp != nil {
		l.calls.Add(1)
	}
}

// movesData reports whether the peer will probably move data by RDMA. A chunk for a long reply is
// seldom used: most replies fit inline.
func (s *slot) movesData() bool {
	if s.offered == nil {
		return false
	}
	for i := range s.regions {
		if c := s.regions[i].chunk; c != replyChunk && c != ownReplyChunk {
			return true
		}
	}
	return false
}

// resume makes the provider handle all input by itself, because a caller waits for a notification.
func (l *lone) resume() {
	if l.qp != nil {
		l.qp.Resume()
	}
}

// end is called for each begin, when the Call has returned.
func (l *lone) end() {
	if l.qp != nil {
		l.calls.Add(-1)
	}
}

// answer finishes the wait for a Call. The runner of the engine calls it.
func (l *lone) answer(s *slot) {
	s.answered.Store(true)
	if s.polling.Load() {
		l.qp.Wake() // no effect on this goroutine's own Progress
	}
	s.done <- struct{}{}
}
