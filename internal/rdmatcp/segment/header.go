package segment

import (
	"encoding/binary"
	"fmt"
)

// Sizes, in bytes.
const (
	PrefixSize   = 4                           // what Prefix needs
	ShortHeader  = 24                          // header of a Send or ReadResponse
	LongHeader   = 32                          // header of a Write or ReadRequest
	TrailerSize  = 4                           // the CRC
	MaxLength    = 1<<16 - 1                   // largest Header.Length
	MaxControl   = 255 * 4                     // most control data of a segment
	MaxWire      = MaxLength + 1 + TrailerSize // largest segment
	version      = 1
	bitBegin     = 8
	bitEnd       = 4
	maskType     = 3
	reservedByte = 18
)

// NoOrder is the Order of a message that may be processed before any earlier one.
const NoOrder = 0xffff

// Type is the type of a message.
type Type uint8

// The types (draft-williams-rdmatcp-00 §3.4, Type). Send, Write and ReadRequest are group 1 of §4,
// ReadResponse is group 2.
const (
	Send Type = iota
	Write
	ReadRequest
	ReadResponse
)

// String returns the name of the type in the draft.
func (t Type) String() string {
	switch t {
	case Send:
		return "Send"
	case Write:
		return "RDMA_Write"
	case ReadRequest:
		return "RDMA_Read_Request"
	case ReadResponse:
		return "RDMA_Read_Response"
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// HeaderSize returns the size of the type's header in bytes, without control data.
func (t Type) HeaderSize() int {
	if t == Write || t == ReadRequest {
		return LongHeader
	}
	return ShortHeader
}

// MaxPayload returns the largest payload in bytes of a segment of the type that has
// neither control data nor padding.
func (t Type) MaxPayload() int { return MaxLength&^3 - t.HeaderSize() }

// Header is the header of a segment (draft-williams-rdmatcp-00 §3).
type Header struct {
	Type       Type
	Res        uint8  // the 4 bits of the client protocol, of any value (R341)
	Begin, End bool   // B and E: first and last segment of the message
	CLEN       uint8  // number of 32-bit words of control data
	Order      uint16 // earlier messages that it need not wait for, or NoOrder
	Length     uint16 // size of header, control data and payload in bytes
	ConnID     uint64 // Connection ID
	Number     uint32 // Message Number

	// Offset is the Data Offset of a Send or ReadResponse, and the RDMA Buffer Offset of
	// a Write or ReadRequest.
	Offset uint32

	BufferID   uint32 // RDMA Buffer ID of a Write or ReadRequest
	RDMALength uint32 // RDMA Length of a Write or ReadRequest
}

// SetPayload sets Length for n bytes of payload after CLEN words of control data. It
// returns false if a segment cannot be that long.
func (h *Header) SetPayload(n int) bool {
	l := h.Type.HeaderSize() + h.Control() + n
	if n < 0 || l > MaxLength {
		return false
	}
	h.Length = uint16(l)
	return true
}

// Control returns the size of the control data in bytes.
func (h *Header) Control() int { return int(h.CLEN) * 4 }

// Payload returns the size of the payload in bytes. It is negative for a header that
// Decode would refuse.
func (h *Header) Payload() int { return int(h.Length) - h.Type.HeaderSize() - h.Control() }

// Padding returns the number of bytes of padding between payload and CRC
// (draft-williams-rdmatcp-00 §3.4, Padding; R355).
func (h *Header) Padding() int { return -int(h.Length) & 3 }

// Wire returns the size of the whole segment in bytes, CRC included. The next segment
// starts right after it (draft-williams-rdmatcp-00 §5; R359).
func (h *Header) Wire() int { return int(h.Length) + h.Padding() + TrailerSize }

// Put writes the header to b and returns its size. It panics if b has fewer than
// HeaderSize bytes. It does not check the fields.
func (h *Header) Put(b []byte) int {
	b = b[:h.Type.HeaderSize()] // draft-williams-rdmatcp-00 §3.1, §3.2 and §3.3; R336 to R338
	b[0], b[1] = version, h.flags()
	binary.BigEndian.PutUint16(b[2:], h.Length)
	binary.BigEndian.PutUint64(b[4:], h.ConnID)
	binary.BigEndian.PutUint32(b[12:], h.Number)
	binary.BigEndian.PutUint16(b[16:], h.Order)
	b[reservedByte], b[19] = 0, h.CLEN
	if len(b) == ShortHeader {
		binary.BigEndian.PutUint32(b[20:], h.Offset)
		return ShortHeader
	}
	binary.BigEndian.PutUint32(b[20:], h.BufferID)
	binary.BigEndian.PutUint32(b[24:], h.Offset)
	binary.BigEndian.PutUint32(b[28:], h.RDMALength)
	return LongHeader
}

// flags returns the second byte of the header.
func (h *Header) flags() uint8 {
	flags := h.Res<<4 | uint8(h.Type)&maskType
	if h.Begin {
		flags |= bitBegin
	}
	if h.End {
		flags |= bitEnd
	}
	return flags
}

// Prefix checks the first PrefixSize bytes of a segment and returns the size of its
// header.
func Prefix(b []byte) (headerSize int, err error) {
	if len(b) < PrefixSize {
		return 0, &Error{Rule: Truncated, Got: uint64(len(b)), Want: PrefixSize}
	}
	t := Type(b[1] & maskType)
	if b[0] != version { // draft-williams-rdmatcp-00 §3.4, Version; R340
		return 0, &Error{Rule: BadVersion, Type: t, Got: uint64(b[0]), Want: version}
	}
	size := t.HeaderSize()
	if l := binary.BigEndian.Uint16(b[2:]); int(l) < size { // Segment Length; R343
		return 0, &Error{Rule: LengthBelowHeader, Type: t, Got: uint64(l), Want: uint64(size)}
	}
	return size, nil
}

// Decode reads a header from the start of b and checks it by itself, without regard to
// other segments. Use Stream.Decode for a segment of a stream.
func (h *Header) Decode(b []byte) error {
	if err := h.read(b); err != nil {
		return err
	}
	return h.check()
}

// read reads a header after checking it with Prefix.
func (h *Header) read(b []byte) error {
	size, err := Prefix(b)
	if err != nil {
		return err
	}
	t := Type(b[1] & maskType)
	if len(b) < size {
		return &Error{Rule: Truncated, Type: t, Got: uint64(len(b)), Want: uint64(size)}
	}
	*h = Header{
		Type:   t,
		Res:    b[1] >> 4,
		Begin:  b[1]&bitBegin != 0,
		End:    b[1]&bitEnd != 0,
		CLEN:   b[19],
		Order:  binary.BigEndian.Uint16(b[16:]),
		Length: binary.BigEndian.Uint16(b[2:]),
		ConnID: binary.BigEndian.Uint64(b[4:]),
		Number: binary.BigEndian.Uint32(b[12:]),
	}
	if size == ShortHeader { // draft-williams-rdmatcp-00 §3.1; R336, R337
		h.Offset = binary.BigEndian.Uint32(b[20:])
	} else { // draft-williams-rdmatcp-00 §3.2, §3.3; R338
		h.BufferID = binary.BigEndian.Uint32(b[20:])
		h.Offset = binary.BigEndian.Uint32(b[24:])
		h.RDMALength = binary.BigEndian.Uint32(b[28:])
	}
	return nil
}

// check checks a header by itself.
func (h *Header) check() error {
	switch p := h.Payload(); {
	case p < 0: // draft-williams-rdmatcp-00 §3.4, CLEN; R343, R351
		return h.refuse(ControlTooLong, uint64(h.Control()), uint64(int(h.Length)-h.Type.HeaderSize()))
	case h.Type != ReadRequest:
	case p > 0: // draft-williams-rdmatcp-00 §3.3; R339
		return h.refuse(RequestWithPayload, uint64(p), 0)
	case !h.Begin || !h.End: // R339
		return h.refuse(RequestNotWhole, uint64(h.flags()&(bitBegin|bitEnd)), bitBegin|bitEnd)
	}
	return nil
}

// refuse returns the error for a header that breaks a rule.
func (h *Header) refuse(rule Rule, got, want uint64) error {
	return &Error{Rule: rule, Type: h.Type, Got: got, Want: want}
}
