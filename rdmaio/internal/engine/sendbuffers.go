package engine

import "time"

// sendBuffers holds the buffers into which messages are encoded. A connection has as many as were
// recently in use. It borrows, and returns, those in addition to its permanent ones.
//
// Messages that are small follow each other in one buffer, the open one, also while earlier ones
// are in flight. It is free again when all of them have left it:
//
//	free ──take──> open ──take──> open ──take: the message needs another one──> full
//	  ^             │              │                                             │
//	  └─────────────┴──────────────┴──────── put: the last message has left it ──┘
type sendBuffers struct {
	free     []*Buffer // used last at the end
	open     *Buffer   // in use, the one that was taken last; or nil
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

// used returns the number of buffers with messages in flight.
func (s *sendBuffers) used() int { return s.own + s.borrowed - len(s.free) }

// last is the buffer to use next; there must be one.
func (s *sendBuffers) last() *Buffer { return s.free[len(s.free)-1] }

// rest returns the size of the free part of the open buffer in bytes.
func (s *sendBuffers) rest() int {
	if s.open == nil {
		return 0
	}
	return len(s.open.Bytes) - s.open.end
}

// take notes a message of n bytes in a buffer: the open one, after its other messages, or the one
// that last returns.
func (s *sendBuffers) take(b *Buffer, n int) {
	if b != s.open {
		s.free = s.free[:len(s.free)-1]
		s.most = max(s.most, s.used())
		s.open = b
	}
	b.messages++
	b.at, b.end = b.end, b.end+aligned(n)
}

// put notes that a message has left its buffer. The last one takes the buffer back.
func (s *sendBuffers) put(b *Buffer) {
	if b.messages--; b.messages > 0 {
		return
	}
	if b == s.open {
		s.open = nil
	}
	b.at, b.end = 0, 0
	s.free = append(s.free, b)
	s.dry = false
}

// aligned returns the bytes that a message of n bytes takes in a buffer: whole cache lines.
func aligned(n int) int { return (n + cacheLine - 1) &^ (cacheLine - 1) }
