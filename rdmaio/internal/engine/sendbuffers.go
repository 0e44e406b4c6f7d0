package engine

import "time"

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
