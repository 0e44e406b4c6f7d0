package engine

import "time"

// shrinkInterval is the time after which unused borrowed send buffers are returned.
const shrinkInterval = time.Second

// sendBuffers holds the buffers into which messages are encoded. A connection has as many as
// messages were recently in flight. Those beyond its own it borrows, and returns.
type sendBuffers struct {
	free     []*Buffer // used last at the end
	own      int       // never given back
	borrowed int
	asked    bool          // Effects.WantBuffers was set, and not answered
	dry      bool          // there was no memory to borrow, and nothing has come back since
	most     int           // in use at a time, since shrinkBuffers ran last
	shrinkAt time.Duration // when unused ones are returned
}

// used returns the number of buffers with a message in flight.
func (s *sendBuffers) used() int { return s.own + s.borrowed - len(s.free) }

// last is the buffer to use next; there must be one.
func (s *sendBuffers) last() *Buffer { return s.free[len(s.free)-1] }

// take uses it.
func (s *sendBuffers) take() {
	s.free = s.free[:len(s.free)-1]
	s.most = max(s.most, s.used())
}

// put takes a buffer back whose message has left it.
func (s *sendBuffers) put(b *Buffer) {
	s.free = append(s.free, b)
	s.dry = false
}

// wantBuffers asks for buffers, as many as there are messages that wait for nothing else.
func (e *Engine) wantBuffers() {
	s := &e.sends
	if len(s.free) > 0 || s.asked || s.dry || s.borrowed == e.cfg.MaxBorrowed {
		return
	}
	s.asked = true
	wait := e.answers.len() + min(e.waiting.len(), e.credit.Granted()-e.credit.InFlight())
	e.eff.WantBuffers = min(wait, e.cfg.MaxBorrowed-s.borrowed)
}

// addBuffers takes what EventBuffers brings. Without memory a message waits for a buffer that is in
// use; there is one, or it would not wait.
func (e *Engine) addBuffers(list []*Buffer) {
	s := &e.sends
	s.asked = false
	if !e.open {
		e.eff.Return = append(e.eff.Return, list...)
		return
	}
	if s.dry = len(list) == 0 && len(s.free) == 0; s.borrowed == 0 {
		s.shrinkAt = e.now + shrinkInterval
	}
	for _, b := range list {
		b.borrowed = true
		s.free = append(s.free, b)
	}
	s.borrowed += len(list)
}

// shrinkBuffers returns the borrowed buffers that were not in use at any time since its last run.
func (e *Engine) shrinkBuffers() {
	s := &e.sends
	if s.borrowed == 0 || e.now < s.shrinkAt {
		return
	}
	spare := s.own + s.borrowed - max(s.own, s.most)
	kept := s.free[:0]
	for _, b := range s.free {
		if b.borrowed && spare > 0 {
			spare--
			s.borrowed--
			e.eff.Return = append(e.eff.Return, b)
			continue
		}
		kept = append(kept, b)
	}
	clear(s.free[len(kept):])
	s.free = kept
	s.most, s.shrinkAt = s.used(), e.now+shrinkInterval
}

// returnBuffers gives all borrowed buffers back when the connection is gone.
func (e *Engine) returnBuffers() {
	all := e.sends.free
	for i := range e.chains.len() {
		if b := e.chains.at(i).buf; b != nil {
			all = append(all, b)
		}
	}
	for _, b := range all {
		if b.borrowed {
			e.eff.Return = append(e.eff.Return, b)
		}
	}
	e.sends = sendBuffers{}
}
