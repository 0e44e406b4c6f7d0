package ddp

import "math"

// Sequence counts the messages that this side sends to a queue. The zero value is ready to
// use.
type Sequence struct{ sent uint32 }

// Next returns the message sequence number of the next message: 1, 2, and so on, modulo
// 2^32 (RFC 5041 §4.3 MSN).
func (s *Sequence) Next() uint32 {
	s.sent++
	return s.sent
}

// Queue holds the receiver's state of an untagged queue. The zero value waits for message
// 1. It cannot be used after an error.
type Queue struct {
	done uint32 // messages that have ended, modulo 2^32
	mo   uint32 // payload of the open message
	ulp  uint8
	ulp2 uint32
	open bool
}

// Open reports whether a message has begun and not ended.
func (q *Queue) Open() bool { return q.open }

// MSN returns the sequence number of the open message, or of the next one.
func (q *Queue) MSN() uint32 { return q.done + 1 }

// Begins reports whether the next segment starts a message.
func (q *Queue) Begins() bool { return !q.open }

// Accept checks the header of the next segment of the queue, which has n bytes of payload,
// and updates the queue. The caller checks that the message has a buffer, and that the
// payload fits into it at h.MO.
func (q *Queue) Accept(h *Header, n int) error {
	switch {
	case h.MSN != q.MSN():
		return h.refuse(NumberNotNext, uint64(h.MSN), uint64(q.MSN()))
	case h.MO != q.mo:
		return h.refuse(OffsetNotNext, uint64(h.MO), uint64(q.mo))
	case q.open && (h.ULP != q.ulp || h.ULP2 != q.ulp2):
		return h.refuse(ULPChanged, uint64(h.ULP)<<32|uint64(h.ULP2), uint64(q.ulp)<<32|uint64(q.ulp2))
	case uint64(h.MO)+uint64(n) > math.MaxUint32: // RFC 5041 §5.2
		return h.refuse(MessageTooLong, uint64(h.MO)+uint64(n), math.MaxUint32)
	}
	q.open, q.mo, q.ulp, q.ulp2 = true, q.mo+uint32(n), h.ULP, h.ULP2
	if h.Last {
		*q = Queue{done: q.done + 1}
	}
	return nil
}

// Tagged holds the receiver's state of tagged messages. It cannot be used after an error.
type Tagged struct {
	open bool
	ulp  uint8
	stag uint32
	next uint64 // the offset behind the payload so far
	base uint64
	wrap bool // the payload so far ends at 2^64
}

// Open reports whether a message has begun and not ended.
func (t *Tagged) Open() bool { return t.open }

// Begins reports whether the next tagged segment starts a message.
func (t *Tagged) Begins() bool { return !t.open }

// Base returns the offset of the first byte of the message to which the last segment that
// Accept has accepted belongs.
func (t *Tagged) Base() uint64 { return t.base }

// Accept checks the header of the next tagged segment, which has n bytes of payload, and
// updates the state. The caller checks STag, range and rights.
func (t *Tagged) Accept(h *Header, n int) error {
	begins := !t.open
	switch {
	case begins:
		t.ulp, t.stag, t.next, t.base, t.wrap = h.ULP, h.STag, h.TO, h.TO, false
	case h.ULP != t.ulp:
		return h.refuse(TaggedULPChanged, uint64(h.ULP), uint64(t.ulp))
	case n == 0 && h.Last: // an empty end: its place is never used
	case h.STag != t.stag:
		return h.refuse(STagChanged, uint64(h.STag), uint64(t.stag))
	case h.TO != t.next:
		return h.refuse(TONotNext, h.TO, t.next)
	}
	if n > 0 {
		end := t.next + uint64(n)
		if t.wrap || end < t.next && end != 0 {
			return h.refuse(TOWraps, h.TO, math.MaxUint64)
		}
		t.next, t.wrap = end, end == 0
	}
	t.open = !h.Last
	return nil
}
