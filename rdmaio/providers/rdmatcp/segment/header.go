package segment

import (
	"encoding/binary"
	"fmt"
)

// Sizes, in bytes.
const (
	PrefixSize   = 4  // enough for Prefix
	ShortHeader  = 24 // of Send and ReadResponse
	LongHeader   = 32 // of Write and ReadRequest
	TrailerSize  = 4  // the CRC
	MaxLength    = 1<<16 - 1
	MaxControl   = 255 * 4
	MaxWire      = MaxLength + 1 + TrailerSize
	version      = 1
	bitBegin     = 8
	bitEnd       = 4
	maskType     = 3
	reservedByte = 18
)

// NoOrder is the Order of a message that may be processed at once.
const NoOrder = 0xffff

// Type is the type of a message.
type Type uint8

// The types (§3.4 Type). Send, Write and ReadRequest are group 1 of §4,
// ReadResponse is group 2.
const (
	Send Type = iota
	Write
	ReadRequest
	ReadResponse
)

// String names the type.
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

// HeaderSize is the size of the type's header without control data.
func (t Type) HeaderSize() int {
	if t == Write || t == ReadRequest {
		return LongHeader
	}
	return ShortHeader
}

// MaxPayload is how much payload fits into one segment of the type with no
// control data, such that none of it needs padding.
func (t Type) MaxPayload() int { return MaxLength&^3 - t.HeaderSize() }

// Header is a segment's header (§3).
type Header struct {
	Type       Type
	Res        uint8 // 4 bits of the client protocol
	Begin, End bool
	CLEN       uint8  // 32-bit words of control data
	Order      uint16 // see Stream
	Length     uint16 // header, control data and payload; neither padding nor CRC
	ConnID     uint64
	Number     uint32 // of the message

	// Offset is the Data Offset of a Send or ReadResponse, the RDMA Buffer
	// Offset of a Write or ReadRequest.
	Offset uint32

	// BufferID and RDMALength are those of a Write or ReadRequest.
	BufferID   uint32
	RDMALength uint32
}

// SetPayload sets Length for n bytes of payload after the control data that CLEN
// says; false if a segment cannot be that long.
func (h *Header) SetPayload(n int) bool {
	l := h.Type.HeaderSize() + h.Control() + n
	if n < 0 || l > MaxLength {
		return false
	}
	h.Length = uint16(l)
	return true
}

// Control is the size of the control data in bytes.
func (h *Header) Control() int { return int(h.CLEN) * 4 }

// Payload is the size of the payload in bytes; negative on a header that Decode
// would refuse.
func (h *Header) Payload() int { return int(h.Length) - h.Type.HeaderSize() - h.Control() }

// Padding is the number of zero bytes between payload and CRC.
func (h *Header) Padding() int { return -int(h.Length) & 3 }

// Wire is the size of the whole segment: the next one starts so many bytes
// after the start of this one (§5).
func (h *Header) Wire() int { return int(h.Length) + h.Padding() + TrailerSize }

// Put writes the header and returns its size; b must have HeaderSize bytes. It
// checks nothing: fields that cannot be right are written as they are.
func (h *Header) Put(b []byte) int {
	b = b[:h.Type.HeaderSize()]
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

// flags is the header's second byte.
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

// Prefix checks the first PrefixSize bytes of a segment, before anything in
// them is believed, and tells how long its header is.
func Prefix(b []byte) (headerSize int, err error) {
	if len(b) < PrefixSize {
		return 0, &Error{Rule: Truncated, Got: uint64(len(b)), Want: PrefixSize}
	}
	t := Type(b[1] & maskType)
	if b[0] != version { // §3.4 Version
		return 0, &Error{Rule: BadVersion, Type: t, Got: uint64(b[0]), Want: version}
	}
	size := t.HeaderSize()
	if l := binary.BigEndian.Uint16(b[2:]); int(l) < size { // §3.4 Segment Length
		return 0, &Error{Rule: LengthBelowHeader, Type: t, Got: uint64(l), Want: uint64(size)}
	}
	return size, nil
}

// Decode reads a header and checks what can be checked without knowing other
// segments. b may go on behind the header. Within a stream use Stream.Decode.
func (h *Header) Decode(b []byte) error {
	if err := h.read(b); err != nil {
		return err
	}
	return h.check()
}

// read reads a header of which Prefix says that it is one.
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
	if size == ShortHeader {
		h.Offset = binary.BigEndian.Uint32(b[20:])
	} else {
		h.BufferID = binary.BigEndian.Uint32(b[20:])
		h.Offset = binary.BigEndian.Uint32(b[24:])
		h.RDMALength = binary.BigEndian.Uint32(b[28:])
	}
	return nil
}

// check checks a header that was read by itself.
func (h *Header) check() error {
	switch p := h.Payload(); {
	case p < 0: // §3.4 CLEN, control data
		return h.refuse(ControlTooLong, uint64(h.Control()), uint64(int(h.Length)-h.Type.HeaderSize()))
	case h.Type != ReadRequest:
	case p > 0: // §3.3
		return h.refuse(RequestWithPayload, uint64(p), 0)
	case !h.Begin || !h.End: // §3.3
		return h.refuse(RequestNotWhole, uint64(h.flags()&(bitBegin|bitEnd)), bitBegin|bitEnd)
	}
	return nil
}

// refuse makes the error for a header that was read.
func (h *Header) refuse(rule Rule, got, want uint64) error {
	return &Error{Rule: rule, Type: h.Type, Got: got, Want: want}
}
