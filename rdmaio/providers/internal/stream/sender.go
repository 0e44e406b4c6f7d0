package stream

import "time"

// sender makes frames of requests and responses, and decides when they are written, and on which
// goroutine. queues.mu guards its fields, except out during a write: that belongs to the goroutine
// with the token.
//
//	            kick: something may be sent                  all was sent, or the end
//	no token ─────────────────────────────────> pump ────────────────────────────────> no token
//	    │                                        │ the socket is full, or payload is direct
//	    │ kick: a stream of posts, or not TCP    ▼
//	    └─────────────────────────────────────> writeLoop ── all was sent, or the end ─> no token
type sender struct {
	q *queues

	// The token: see pump.go.
	sending bool          // a goroutine has the token
	handoff chan struct{} // capacity 1: hands the token to the writer
	writing bool          // the writer was started
	out     *batch        // the batch of the token's holder; nil if none is borrowed

	// When to send.
	mayWrite     bool   // Sender.Ready has returned true
	corked       bool   // the reader will send: see cork
	held         int    // frames since corked was set; only the reader changes it
	inlineWrites int    // times that a posting goroutine has sent since the last arrival
	posts        int    // posts since the last arrival
	streaming    bool   // there was more than one post before the last arrival
	heard        bool   // a frame has arrived
	paused       bool   // Session.Pause is not over
	nudge        []byte // Session.Nudge
	nudgeDue     bool   // it must be sent

	// How far.
	sqNext  uint64 // number of the first request that was not sent as a whole
	begun   bool   // the Framer has begun request sqNext
	sqSent  int    // bytes of request sqNext that are in batches
	rspNext uint64 // number of the first response that is not in batches as a whole
}

// start begins a session, in which this side may send now, or once it has heard from the peer. q.mu
// must be held.
func (s *sender) start(now bool, session *Session) {
	s.mayWrite = now
	if session.Pause > 0 || len(session.Nudge) > 0 {
		s.nudge, s.paused = session.Nudge, session.Pause > 0
		s.q.timer = time.AfterFunc(session.Pause, func() { s.endPause(session.Patience, session.Sent) })
	}
}

// endPause ends Session.Pause, and is called once more after Session.Patience if there is a nudge.
// sent is Session.Sent.
func (s *sender) endPause(patience time.Duration, sent bool) {
	s.q.mu.Lock()
	defer s.q.mu.UnlockNotify()
	if s.q.ending {
		return
	}
	s.paused = false
	switch {
	case s.heard || s.nudge == nil:
	case patience > 0:
		s.q.timer = time.AfterFunc(patience, func() { s.endPause(0, sent) })
	default:
		s.nudgeDue = sent || s.sqNext > 0
	}
	s.kick()
}

// lastBytes returns what to send before the stream is closed: the rest of a write that
// the socket did not take at once and, if a frame can begin here, the report.
func (s *sender) lastBytes(c *Conn) (b []byte) {
	if c.truncated {
		return nil
	}
	if s.out != nil {
		for _, rest := range s.out.bufs {
			b = append(b, rest...)
		}
	}
	if s.q.last.Reason == ReasonNone || !s.mayWrite && !s.q.last.AtHand {
		return b
	}
	sent := NotBegun
	switch {
	case s.begun && s.sqSent > 0:
		sent = SentPart
	case s.begun:
		sent = BegunOnly
	}
	return c.framer.LastBytes(b, &s.q.last, sent)
}
