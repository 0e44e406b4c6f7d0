package stranger

import (
	"encoding/binary"
	"fmt"
)

// Code is the reason of a Terminate (RFC 5040 §4.8 figure 9, RFC 5041 §7.2, RFC 6581 §8).
type Code struct{ Layer, Type, Code byte }

// The reasons.
var (
	RDMAPInvalidSTag   = Code{0, 1, 0} // remote protection
	RDMAPBounds        = Code{0, 1, 1}
	RDMAPAccess        = Code{0, 1, 2}
	RDMAPForeignSTag   = Code{0, 1, 3}
	RDMAPWrap          = Code{0, 1, 4}
	RDMAPNoInvalidate  = Code{0, 1, 9}
	RDMAPVersion       = Code{0, 2, 5} // remote operation
	RDMAPOpcode        = Code{0, 2, 6}
	RDMAPStream        = Code{0, 2, 7}
	RDMAPNoInvalidate2 = Code{0, 2, 9} // the same words, with the other error type
	RDMAPUnspecified   = Code{0, 2, 0xff}

	DDPInvalidSTag     = Code{1, 1, 0} // tagged
	DDPBounds          = Code{1, 1, 1}
	DDPForeignSTag     = Code{1, 1, 2}
	DDPWrap            = Code{1, 1, 3}
	DDPTaggedVersion   = Code{1, 1, 4}
	DDPInvalidQN       = Code{1, 2, 1} // untagged
	DDPNoBuffer        = Code{1, 2, 2}
	DDPInvalidMSN      = Code{1, 2, 3}
	DDPInvalidMO       = Code{1, 2, 4}
	DDPTooLong         = Code{1, 2, 5}
	DDPUntaggedVersion = Code{1, 2, 6}

	MPAClosed = Code{2, 0, 1}
	MPACRC    = Code{2, 0, 2}
	MPAMarker = Code{2, 0, 3}
	MPAFrame  = Code{2, 0, 4}
	MPALocal  = Code{2, 0, 5}
	MPADepth  = Code{2, 0, 6}
	MPANoRTR  = Code{2, 0, 7}
)

var reasons = map[Code]string{
	RDMAPInvalidSTag: "invalid STag", RDMAPBounds: "base or bounds violation", RDMAPAccess: "access rights violation",
	RDMAPForeignSTag: "STag not associated with RDMAP stream", RDMAPWrap: "TO wrap",
	RDMAPNoInvalidate: "STag cannot be invalidated", RDMAPVersion: "invalid RDMAP version", RDMAPOpcode: "unexpected opcode",
	RDMAPStream: "catastrophic error, localized", RDMAPNoInvalidate2: "STag cannot be invalidated", RDMAPUnspecified: "unspecified",
	DDPInvalidSTag: "invalid STag", DDPBounds: "base or bounds violation", DDPForeignSTag: "STag not associated with DDP stream",
	DDPWrap: "TO wrap", DDPTaggedVersion: "invalid DDP version", DDPInvalidQN: "invalid QN", DDPNoBuffer: "no buffer available",
	DDPInvalidMSN: "MSN range is not valid", DDPInvalidMO: "invalid MO", DDPTooLong: "message too long",
	DDPUntaggedVersion: "invalid DDP version", MPAClosed: "TCP connection lost", MPACRC: "CRC error", MPAMarker: "marker mismatch",
	MPAFrame: "invalid startup frame", MPALocal: "local catastrophic", MPADepth: "insufficient IRD", MPANoRTR: "no matching RTR",
}

// String returns the reason in words, with its numbers.
func (c Code) String() string {
	layer := "unknown layer"
	if int(c.Layer) < 3 {
		layer = []string{"RDMAP", "DDP", "MPA"}[c.Layer]
	}
	what := reasons[c]
	if what == "" {
		what = "unknown reason"
	}
	return fmt.Sprintf("%s: %s (%d/%d/%d)", layer, what, c.Layer, c.Type, c.Code)
}

// Terminate is the Terminate Header (RFC 5040 §4.8).
type Terminate struct {
	Code
	M, D, R  bool   // header control bits
	Reserved uint16 // 13 bits
	Length   uint16 // of the DDP segment; written if M or D
	DDP      []byte // written if D
	RDMA     []byte // written if R
}

// Bytes returns the header.
func (t *Terminate) Bytes() []byte {
	b := []byte{t.Layer<<4 | t.Type&15, t.Code.Code}
	b = binary.BigEndian.AppendUint16(b, flag[uint16](t.M, 0x8000)|flag[uint16](t.D, 0x4000)|flag[uint16](t.R, 0x2000)|t.Reserved&0x1fff)
	if t.M || t.D {
		b = binary.BigEndian.AppendUint16(b, t.Length)
	}
	if t.D {
		b = append(b, t.DDP...)
	}
	if t.R {
		b = append(b, t.RDMA...)
	}
	return b
}

// ParseTerminate decodes a header. Bytes behind the parts that the control bits name must be zero
// (RFC 5040 §7.1 sets absent headers to zero).
func ParseTerminate(b []byte) (t Terminate, err error) {
	if len(b) < 4 {
		return t, fmt.Errorf("stranger: Terminate Header of %d bytes, want 4 at least", len(b))
	}
	control := binary.BigEndian.Uint16(b[2:])
	t = Terminate{
		Code: Code{b[0] >> 4, b[0] & 15, b[1]},
		M:    control&0x8000 != 0, D: control&0x4000 != 0, R: control&0x2000 != 0, Reserved: control & 0x1fff,
	}
	rest := b[4:]
	cut := func(n int, what string) (part []byte) {
		if len(rest) < n && err == nil {
			err = fmt.Errorf("stranger: Terminate Header ends within its %s", what)
		}
		if err == nil {
			part, rest = rest[:n], rest[n:]
		}
		return part
	}
	if t.M || t.D {
		if part := cut(2, "DDP Segment Length"); part != nil {
			t.Length = binary.BigEndian.Uint16(part)
		}
	}
	if t.D {
		size := UntaggedHeader
		if len(rest) > 0 && rest[0]&0x80 != 0 {
			size = TaggedHeader
		}
		t.DDP = cut(size, "Terminated DDP Header")
	}
	if t.R {
		t.RDMA = cut(ReadHeader, "Terminated RDMA Header")
	}
	for _, octet := range rest {
		if octet != 0 && err == nil {
			err = fmt.Errorf("stranger: %d bytes behind the Terminate Header are not zero", len(rest))
		}
	}
	return t, err
}
