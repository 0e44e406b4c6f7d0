package stranger

import (
	"encoding/binary"
	"fmt"
)

// Opcode is an RDMAP opcode (RFC 5040 §4.1, figure 4).
type Opcode byte

// The opcodes.
const (
	Write Opcode = iota
	ReadRequest
	ReadResponse
	Send
	SendInvalidate
	SendSE
	SendSEInvalidate
	TerminateOp
)

// The queues of untagged messages (RFC 5040 §4.1, figure 4).
const (
	SendQueue = iota
	ReadQueue
	TerminateQueue
)

// Invalidates reports whether messages of the opcode name an STag to invalidate.
func (o Opcode) Invalidates() bool { return o == SendInvalidate || o == SendSEInvalidate }

// The sizes of headers (RFC 5041 §4.2, §4.3; RFC 5040 §4.4).
const (
	TaggedHeader   = 14
	UntaggedHeader = 18
	ReadHeader     = 28
)

// Segment is a DDP segment with its RDMAP fields. Each field is written as it is.
type Segment struct {
	Tagged, Last  bool
	DDPReserved   byte // 4 bits
	DDPVersion    byte // 2 bits
	RDMAPVersion  byte // 2 bits
	RDMAPReserved byte // 2 bits
	Opcode        Opcode

	STag uint32 // tagged
	TO   uint64

	Invalidate  uint32 // untagged
	QN, MSN, MO uint32

	Payload []byte
}

// header returns a segment of these versions.
func header(op Opcode, last bool) Segment {
	tagged := op == Write || op == ReadResponse
	return Segment{Tagged: tagged, Last: last, DDPVersion: 1, RDMAPVersion: 1, Opcode: op}
}

// Bytes returns the ULPDU of the segment.
func (s *Segment) Bytes() []byte { return append(s.Header(), s.Payload...) }

// Header returns the DDP header.
func (s *Segment) Header() []byte {
	be := binary.BigEndian
	b := []byte{
		flag[byte](s.Tagged, 0x80) | flag[byte](s.Last, 0x40) | s.DDPReserved&15<<2 | s.DDPVersion&3,
		s.RDMAPVersion&3<<6 | s.RDMAPReserved&3<<4 | byte(s.Opcode&15),
	}
	if s.Tagged {
		return be.AppendUint64(be.AppendUint32(b, s.STag), s.TO)
	}
	b = be.AppendUint32(be.AppendUint32(b, s.Invalidate), s.QN)
	return be.AppendUint32(be.AppendUint32(b, s.MSN), s.MO)
}

// ParseSegment decodes a ULPDU. The payload shares its memory.
func ParseSegment(b []byte) (s Segment, err error) {
	be := binary.BigEndian
	size := UntaggedHeader
	if len(b) > 0 && b[0]&0x80 != 0 {
		size = TaggedHeader
	}
	if len(b) < size {
		return s, fmt.Errorf("stranger: ULPDU of %d bytes, a DDP header has %d", len(b), size)
	}
	s = Segment{
		Tagged: b[0]&0x80 != 0, Last: b[0]&0x40 != 0, DDPReserved: b[0] >> 2 & 15, DDPVersion: b[0] & 3,
		RDMAPVersion: b[1] >> 6, RDMAPReserved: b[1] >> 4 & 3, Opcode: Opcode(b[1] & 15), Payload: b[size:],
	}
	if s.Tagged {
		s.STag, s.TO = be.Uint32(b[2:]), be.Uint64(b[6:])
		return s, nil
	}
	s.Invalidate, s.QN, s.MSN, s.MO = be.Uint32(b[2:]), be.Uint32(b[6:]), be.Uint32(b[10:]), be.Uint32(b[14:])
	return s, nil
}

// Read is an RDMA Read Request Header (RFC 5040 §4.4).
type Read struct {
	SinkSTag   uint32
	SinkTO     uint64
	Size       uint32
	SourceSTag uint32
	SourceTO   uint64
}

// Bytes returns the header.
func (r *Read) Bytes() []byte {
	be := binary.BigEndian
	b := be.AppendUint32(be.AppendUint64(be.AppendUint32(nil, r.SinkSTag), r.SinkTO), r.Size)
	return be.AppendUint64(be.AppendUint32(b, r.SourceSTag), r.SourceTO)
}

// ParseRead decodes a header, which has 28 bytes.
func ParseRead(b []byte) (r Read, err error) {
	if len(b) != ReadHeader {
		return r, fmt.Errorf("stranger: Read Request of %d bytes, want %d", len(b), ReadHeader)
	}
	be := binary.BigEndian
	return Read{
		SinkSTag: be.Uint32(b), SinkTO: be.Uint64(b[4:]), Size: be.Uint32(b[12:]),
		SourceSTag: be.Uint32(b[16:]), SourceTO: be.Uint64(b[20:]),
	}, nil
}
