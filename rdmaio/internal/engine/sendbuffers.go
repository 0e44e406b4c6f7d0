package engine

import "time"

// shrinkInterval is the time after which unused borrowed send buffers are returned.
const shrinkInterval = time.Second

// sendBuffers holds the buffers into which messages are encoded. A connection has as many as
// messages were recently in flight. It borrows, and returns, those in addition to its permanent
// ones.
type sendBuffers struct {
	free     []*Buffer // used last at the end
	own      int       // never given back
	borrowed int
	asked    bool          // Effects.WantBuffers was set, and not answered
	dry      bool          // there was no memory to borrow, and nothing has come back since
	most     int           // in use at a time, since shrinkBuffers ran last
	shrinkAt time.Duration // when unused ones are returned
}

// newSendBuffers returns the permanent buffers, the one to be used first at the front.
func newSendBuffers(own []Buffer) (s sendBuffers) {
	s.own = len(own)
	for i := range own {
		s.free = append(s.free, &own[len(own)-1-i])
	}
	return s
}

// used returns the number of buffers with a message in flight.
func (s *sendBuffers) used() int { return s.own + s.borrowed - len(s.free) }

// last is the buffer to use next; there must be one.
func (s *sendBuffers) last() *Buffer { return s.free[len(s.free)-1] }

// take takes the buffer that last returns.
func (s *sendBuffers) take() {
	s.free = s.free[:len(s.free)-1]
	s.most = max(s.most, s.used())
}

// put takes a buffer back whose message has left it.
func (s *sendBuffers) put(b *Buffer) {
	s.free = append(s.free, b)
	s.dry = false
}

// wantBuffers asks for buffers for the n messages that wait for nothing else.
func (sq *sendQueue) wantBuffers(n int) {
	s := &sq.buffers
	if len(s.free) > 0 || s.asked || s.dry || s.borrowed == sq.cfg.MaxBorrowed {
		return
	}
	s.asked = true
	sq.eff.WantBuffers = min(n, sq.cfg.MaxBorrowed-s.borrowed)
}

// addBuffers takes what EventBuffers brings. Without memory a message waits for a buffer that is in
// use. There is one, because otherwise the message would not wait.
func (sq *sendQueue) addBuffers(list []*Buffer) {
	s := &sq.buffers
	s.asked = false
	if !sq.open {
		sq.eff.Return = append(sq.eff.Return, list...)
		return
	}
	if s.dry = len(list) == 0 && len(s.free) == 0; s.borrowed == 0 {
		s.shrinkAt = sq.now + shrinkInterval
	}
	for _, b := range list {
		b.borrowed = true
		s.free = append(s.free, b)
	}
	s.borrowed += len(list)
}

// shrinkBuffers returns the borrowed buffers that were not in use at any time since its last run.
func (sq *sendQueue) shrinkBuffers() {
	s := &sq.buffers
	if s.borrowed == 0 || sq.now < s.shrinkAt {
		return
	}
	spare := s.own + s.borrowed - max(s.own, s.most)
	kept := s.free[:0]
	for _, b := range s.free {
		if b.borrowed && spare > 0 {
			spare--
			s.borrowed--
			sq.eff.Return = append(sq.eff.Return, b)
			continue
		}
		kept = append(kept, b)
	}
	clear(s.free[len(kept):])
	s.free = kept
	s.most, s.shrinkAt = s.used(), sq.now+shrinkInterval
}

// returnBuffers returns all borrowed buffers when the connection is gone.
func (sq *sendQueue) returnBuffers() {
	all := sq.buffers.free
	for i := range sq.chains.len() {
		if b := sq.chains.at(i).buf; b != nil {
			all = append(all, b)
		}
	}
	for _, b := range all {
		if b.borrowed {
			sq.eff.Return = append(sq.eff.Return, b)
		}
	}
	sq.buffers = sendBuffers{}
}
