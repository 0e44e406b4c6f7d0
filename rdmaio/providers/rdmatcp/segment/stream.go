package segment

import "math"

// Stream is what the receiver of one direction of a connection must know to
// check a segment against those before it: two open messages at most, one for
// each group of §4. The zero value takes the Connection ID and the first message
// number from the first segment, as a server does.
type Stream struct {
	// ConnID is the connection's, once Known. A client sets both.
	ConnID uint64
	Known  bool

	started bool   // next is known
	next    uint32 // number of the next message of group 1

	group1 message
	group2 message
}

// message is an open message.
type message struct {
	open     bool
	typ      Type
	number   uint32
	bufferID uint32
	base     uint32 // offset of the first byte
	length   uint32 // RDMA Length, or length of the Read
	sent     uint64 // payload so far
}

// Read is a Read_Request of ours that waits for its Read_Response.
type Read struct {
	Number uint32
	Length uint32
}

// Open reports whether a message has begun and not ended.
func (s *Stream) Open() bool { return s.group1.open || s.group2.open }

// OpenGroup1 reports the same of Sends and Writes.
func (s *Stream) OpenGroup1() bool { return s.group1.open }

// Next is the number that the next message of group 1 must have; it means
// nothing before the first one.
func (s *Stream) Next() uint32 { return s.next }

// Offset is how much payload of a message came before the segment h, which
// Accept took.
func (s *Stream) Offset(h *Header) uint32 {
	if h.Type == Send || h.Type == ReadResponse {
		return h.Offset
	}
	return h.Offset - s.group1.base
}

// Decode reads a header and checks what can be checked of it alone, but the
// Connection ID, once it is known, before anything behind it is believed.
func (s *Stream) Decode(h *Header, b []byte) error {
	if err := h.read(b); err != nil {
		return err
	}
	if s.Known && h.ConnID != s.ConnID { // §3.4 Connection ID; §5
		return h.refuse(WrongConnectionID, h.ConnID, s.ConnID)
	}
	return h.check()
}

// Accept checks a segment's header, which Decode has passed, and moves on. oldest
// is our oldest Read_Request without a whole response, nil if there is none. After
// an error the stream is lost.
//
// Rights and bounds of an RDMA range are the caller's to check: for a Write, at
// its first segment, those of all RDMALength bytes.
func (s *Stream) Accept(h *Header, oldest *Read) error {
	if !s.Known {
		s.ConnID, s.Known = h.ConnID, true
	}
	if h.ConnID != s.ConnID { // for those who used Header.Decode
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
		// §3.4 Message Number: the first one is the sender's choice.
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
	if end := uint64(m.base) + uint64(m.length); h.Begin && h.Type != Send && end > 1<<32 {
		return h.refuse(OffsetWraps, end, 1<<32)
	}
	switch {
	case h.Type == ReadRequest: // one segment without payload: nothing to add up
		return nil
	case h.Type == Send:
	case h.BufferID != m.bufferID:
		return h.refuse(BufferIDChanged, uint64(h.BufferID), uint64(m.bufferID))
	case h.RDMALength != m.length:
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
		if oldest != nil && h.Number != oldest.Number { // §4: in order, which can only mean that of the requests
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
	case h.Begin && m.open:
		return h.refuse(UnexpectedBegin, 1, 0)
	case !h.Begin && !m.open:
		return h.refuse(MissingBegin, 0, 1)
	}
	return nil
}

// follows checks that a segment is of the message and continues its offset.
func (m *message) follows(h *Header) error {
	// No message has 2^32 bytes, so base+sent wraps only when its last byte was
	// the last there is; then any offset but this is wrong too.
	want := m.base + uint32(m.sent)
	switch {
	case h.Number != m.number:
		return h.refuse(NumberChanged, uint64(h.Number), uint64(m.number))
	case h.Type != m.typ:
		return h.refuse(TypeChanged, uint64(h.Type), uint64(m.typ))
	case h.Offset == want:
		return nil
	case h.Begin:
		return h.refuse(DataOffsetNotZero, uint64(h.Offset), 0)
	}
	return h.refuse(OffsetNotNext, uint64(h.Offset), uint64(want))
}

// add counts a segment's payload; exact messages have a length to meet.
func (m *message) add(h *Header, exact bool) error {
	m.sent += uint64(h.Payload())
	switch {
	case m.sent > uint64(m.length):
		return h.refuse(PayloadTooLong, m.sent, uint64(m.length))
	case h.End && exact && m.sent < uint64(m.length):
		return h.refuse(PayloadTooShort, m.sent, uint64(m.length))
	}
	m.open = !h.End
	return nil
}

// Waits reports whether a message with this number and Order must wait for an
// earlier message of its direction that is not processed yet (§3.4 Order).
func Waits(number uint32, order uint16, earlier uint32) bool {
	if order == NoOrder {
		return false
	}
	return int32(number-uint32(order)-1-earlier) >= 0
}
