package segment

import "math"

// Stream holds the receiver's state of one direction of a connection, against which it
// checks a segment: at most two open messages, one of each group of
// draft-williams-rdmatcp-00 §4 (R358). The zero value learns the Connection ID and the first
// message number from the first segment, as a server does.
type Stream struct {
	// ConnID is the Connection ID, if Known is set. A client sets both.
	ConnID uint64
	Known  bool

	started bool   // next is set
	next    uint32 // number of the next message of group 1

	group1 message
	group2 message
}

// message is the state of an open message.
type message struct {
	open     bool
	typ      Type
	number   uint32
	bufferID uint32
	base     uint32 // offset of the first byte
	length   uint32 // RDMA Length, or the length of the Read
	sent     uint64 // bytes of payload so far
}

// Read is an outstanding Read_Request of the receiver.
type Read struct {
	Number uint32
	Length uint32
}

// Open reports whether a message has begun and not ended.
func (s *Stream) Open() bool { return s.group1.open || s.group2.open }

// OpenGroup1 reports whether a Send or Write has begun and not ended.
func (s *Stream) OpenGroup1() bool { return s.group1.open }

// Next returns the number that the next message of group 1 must have. It is undefined
// before the first message.
func (s *Stream) Next() uint32 { return s.next }

// Offset returns the number of bytes of payload of the message before the segment h,
// which Accept has accepted.
func (s *Stream) Offset(h *Header) uint32 {
	if h.Type == Send || h.Type == ReadResponse {
		return h.Offset
	}
	return h.Offset - s.group1.base
}

// Decode reads a header and checks it by itself. Once the Connection ID is known, it is
// checked before the fields that follow it.
func (s *Stream) Decode(h *Header, b []byte) error {
	if err := h.read(b); err != nil {
		return err
	}
	if s.Known && h.ConnID != s.ConnID { // draft-williams-rdmatcp-00 §3.4, Connection ID; R344
		return h.refuse(WrongConnectionID, h.ConnID, s.ConnID)
	}
	return h.check()
}

// Accept checks the header of the next segment, which Decode has read, against the
// segments before it, and updates the stream. oldest is the receiver's oldest
// Read_Request without a complete response, or nil. The stream cannot be used after an
// error.
//
// The caller checks the rights and bounds of an RDMA range. For a Write it does so at
// the first segment, for all RDMALength bytes.
func (s *Stream) Accept(h *Header, oldest *Read) error {
	if !s.Known {
		s.ConnID, s.Known = h.ConnID, true
	}
	if h.ConnID != s.ConnID { // the caller may have used Header.Decode
		return h.refuse(WrongConnectionID, h.ConnID, s.ConnID)
	}
	if h.Type == ReadResponse {
		return s.response(h, oldest)
	}
	return s.request(h)
}

// request checks a segment of group 1.
func (s *Stream) request(h *Header) error {
	m := &s.group1
	if err := m.start(h); err != nil {
		return err
	}
	if h.Begin {
		// draft-williams-rdmatcp-00 §3.4, Message Number: the first one is the sender's
		// choice (R345).
		if s.started && h.Number != s.next {
			return h.refuse(NumberNotNext, uint64(h.Number), uint64(s.next))
		}
		s.started, s.next = true, h.Number+1
		*m = message{typ: h.Type, number: h.Number, bufferID: h.BufferID, length: math.MaxUint32}
		if h.Type != Send {
			m.base, m.length = h.Offset, h.RDMALength
		}
	}
	if err := m.follows(h); err != nil {
		return err
	}
	// draft-williams-rdmatcp-00 §3.4, RDMA Buffer Offset; R334
	if end := uint64(m.base) + uint64(m.length); h.Begin && h.Type != Send && end > 1<<32 {
		return h.refuse(OffsetWraps, end, 1<<32)
	}
	switch {
	case h.Type == ReadRequest: // it is one segment without payload
		return nil
	case h.Type == Send:
	case h.BufferID != m.bufferID: // draft-williams-rdmatcp-00 §3.4, RDMA Buffer ID; R353
		return h.refuse(BufferIDChanged, uint64(h.BufferID), uint64(m.bufferID))
	case h.RDMALength != m.length: // R354
		return h.refuse(RDMALengthChanged, uint64(h.RDMALength), uint64(m.length))
	}
	return m.add(h, h.Type == Write)
}

// response checks a segment of group 2.
func (s *Stream) response(h *Header, oldest *Read) error {
	m := &s.group2
	if err := m.start(h); err != nil {
		return err
	}
	if h.Begin {
		// draft-williams-rdmatcp-00 §4, read as: in the order of the requests (R346, R357)
		if oldest != nil && h.Number != oldest.Number {
			return h.refuse(WrongReadNumber, uint64(h.Number), uint64(oldest.Number))
		}
		*m = message{typ: h.Type, number: h.Number}
		if oldest != nil {
			m.length = oldest.Length
		}
	}
	if err := m.follows(h); err != nil {
		return err
	}
	if h.Begin && oldest == nil {
		return h.refuse(NoReadOutstanding, uint64(h.Number), 0)
	}
	return m.add(h, true)
}

// start checks that a segment has B if and only if it starts a message.
func (m *message) start(h *Header) error {
	switch {
	case h.Begin && m.open: // draft-williams-rdmatcp-00 §4: all of one message first; R342, R357
		return h.refuse(UnexpectedBegin, 1, 0)
	case !h.Begin && !m.open: // R342
		return h.refuse(MissingBegin, 0, 1)
	}
	return nil
}

// follows checks that a segment belongs to the message and that its offset follows the
// payload before.
func (m *message) follows(h *Header) error {
	// No message has 2^32 bytes. So base+sent wraps only if the message has reached the
	// last offset, and then any other offset is wrong too.
	want := m.base + uint32(m.sent)
	switch {
	case h.Number != m.number:
		return h.refuse(NumberChanged, uint64(h.Number), uint64(m.number))
	case h.Type != m.typ:
		return h.refuse(TypeChanged, uint64(h.Type), uint64(m.typ))
	case h.Offset == want:
		return nil
	case h.Begin: // draft-williams-rdmatcp-00 §3.4, Data Offset; R352
		return h.refuse(DataOffsetNotZero, uint64(h.Offset), 0)
	} // R352; for a Write R353
	return h.refuse(OffsetNotNext, uint64(h.Offset), uint64(want))
}

// add adds a segment's payload. If exact is set, the message must have as many bytes as
// its length says; otherwise it may have fewer.
func (m *message) add(h *Header, exact bool) error {
	m.sent += uint64(h.Payload())
	switch {
	case m.sent > uint64(m.length): // draft-williams-rdmatcp-00 §3.4, RDMA Length; R354
		return h.refuse(PayloadTooLong, m.sent, uint64(m.length))
	case h.End && exact && m.sent < uint64(m.length):
		return h.refuse(PayloadTooShort, m.sent, uint64(m.length))
	}
	m.open = !h.End
	return nil
}

// Waits reports whether a message with this number and Order must wait for an earlier
// message of its direction that has not been processed (draft-williams-rdmatcp-00 §3.4, Order;
// R348, R349).
func Waits(number uint32, order uint16, earlier uint32) bool {
	if order == NoOrder {
		return false
	}
	return int32(number-uint32(order)-1-earlier) >= 0
}
