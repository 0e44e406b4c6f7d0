package mpa

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Sizes, in bytes.
const (
	KeySize    = 16          // the key of a Frame
	FrameSize  = KeySize + 4 // a Frame without private data
	MaxPrivate = 512         // most private data (RFC 5044 §7.1.1), the set-up words included
	SetupSize  = 4           // the set-up words of an enhanced Frame (RFC 6581 §9)
)

// Unnegotiated is a read depth which says that the applications agree on it elsewhere
// (RFC 6581 §9.1).
const Unnegotiated = 0x3fff

// MaxDepth is the largest read depth that a Frame can carry.
const MaxDepth = Unnegotiated - 1

const (
	requestKey = "MPA ID Req Frame"
	replyKey   = "MPA ID Rep Frame"

	flagMarkers  = 0x80
	flagCRC      = 0x40
	flagReject   = 0x20
	flagEnhanced = 0x10

	controlHigh = 0x8000 // A in the first set-up word, C in the second
	controlLow  = 0x4000 // B in the first, D in the second
)

// Kind is the kind of a Frame.
type Kind uint8

// The kinds.
const (
	Request Kind = iota
	Reply
)

// String returns the name of the kind.
func (k Kind) String() string {
	if k == Request {
		return "MPA request"
	}
	return "MPA reply"
}

func (k Kind) key() string {
	if k == Request {
		return requestKey
	}
	return replyKey
}

// RTR is a set of ready-to-receive indications: the zero-length operations that an
// initiator can send first in the peer-to-peer model (RFC 6581 §9.2).
type RTR uint8

// The indications.
const (
	RTRSend  RTR = 1 << iota // flag B
	RTRWrite                 // flag C
	RTRRead                  // flag D
)

// String lists the indications, as in "Send|Write".
func (r RTR) String() string {
	var names []string
	for i, name := range []string{"Send", "Write", "Read"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "|")
}

// Setup holds the two set-up words of an enhanced Frame (RFC 6581 §9).
type Setup struct {
	IRD, ORD   uint16 // reads that the sender serves at once, and that it wants outstanding
	PeerToPeer bool   // flag A
	RTR        RTR    // flags B, C and D
}

// Frame is a request or a reply (RFC 5044 §7.1.1; RFC 6581 §6).
type Frame struct {
	Kind     Kind
	Markers  bool // M: the sender wants Markers in the FPDUs that it receives
	CRC      bool // C: the sender wants CRCs
	Reject   bool // R: the responder refuses the connection
	Enhanced bool // S: the private data begins with Setup; never set in revision 1
	Revision uint8
	Setup    Setup
	Private  []byte // the application's private data; Decode returns a part of its input
}

// limit returns the most private data that the application may add to the frame.
func (f *Frame) limit() int {
	if f.Enhanced {
		return MaxPrivate - SetupSize
	}
	return MaxPrivate
}

// Append appends the frame to b. It returns an *Error and b unchanged if the private data
// is too long, or if a depth is larger than Unnegotiated.
func (f *Frame) Append(b []byte) ([]byte, error) {
	if len(f.Private) > f.limit() {
		return b, fault(PrivateDataTooLong, len(f.Private), f.limit())
	}
	if f.Enhanced && max(f.Setup.IRD, f.Setup.ORD) > Unnegotiated {
		return b, fault(DepthTooLarge, int(max(f.Setup.IRD, f.Setup.ORD)), Unnegotiated)
	}
	var flags byte
	for _, x := range []struct {
		set  bool
		flag byte
	}{{f.Markers, flagMarkers}, {f.CRC, flagCRC}, {f.Reject, flagReject}, {f.Enhanced, flagEnhanced}} {
		if x.set {
			flags |= x.flag
		}
	}
	b = append(b, f.Kind.key()...)
	b = append(b, flags, f.Revision)
	if !f.Enhanced {
		b = binary.BigEndian.AppendUint16(b, uint16(len(f.Private)))
		return append(b, f.Private...), nil
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(f.Private)+SetupSize))
	return append(f.Setup.append(b), f.Private...), nil
}

// append appends the set-up words.
func (s *Setup) append(b []byte) []byte {
	ird, ord := s.IRD, s.ORD
	if s.PeerToPeer {
		ird |= controlHigh
		if s.RTR&RTRSend != 0 {
			ird |= controlLow
		}
		if s.RTR&RTRWrite != 0 {
			ord |= controlHigh
		}
		if s.RTR&RTRRead != 0 {
			ord |= controlLow
		}
	}
	b = binary.BigEndian.AppendUint16(b, ird)
	return binary.BigEndian.AppendUint16(b, ord)
}

// read reads the set-up words. Without flag A, it ignores the other flags (RFC 6581 §9.2).
func (s *Setup) read(b []byte) {
	ird, ord := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	*s = Setup{IRD: ird & Unnegotiated, ORD: ord & Unnegotiated, PeerToPeer: ird&controlHigh != 0}
	if !s.PeerToPeer {
		return
	}
	if ird&controlLow != 0 {
		s.RTR |= RTRSend
	}
	if ord&controlHigh != 0 {
		s.RTR |= RTRWrite
	}
	if ord&controlLow != 0 {
		s.RTR |= RTRRead
	}
}

// PrivateLength checks the first FrameSize bytes of a frame of a kind, and returns how many
// bytes follow them.
func PrivateLength(b []byte, kind Kind) (int, error) {
	if len(b) < FrameSize {
		return 0, fault(Truncated, len(b), FrameSize)
	}
	if key := string(b[:KeySize]); key != kind.key() { // RFC 5044 §7.1.2 rules 5 and 8
		if key == (kind ^ 1).key() {
			return 0, fault(SameRole, int(kind^1), int(kind))
		}
		return 0, &Error{Rule: BadKey, Got: binary.BigEndian.Uint64(b), Want: binary.BigEndian.Uint64([]byte(kind.key()))}
	}
	if rev := b[KeySize+1]; rev < 1 || rev > 2 {
		return 0, fault(BadRevision, int(rev), 2)
	}
	n := int(binary.BigEndian.Uint16(b[KeySize+2:]))
	switch enhanced := b[KeySize]&flagEnhanced != 0 && b[KeySize+1] >= 2; {
	case n > MaxPrivate:
		return 0, fault(PrivateDataTooLong, n, MaxPrivate)
	case enhanced && n < SetupSize:
		return 0, fault(SetupMissing, n, SetupSize)
	}
	return n, nil
}

// Decode reads a frame of f.Kind from b, which holds nothing else.
func (f *Frame) Decode(b []byte) error {
	n, err := PrivateLength(b, f.Kind)
	if err != nil {
		return err
	}
	if len(b) < FrameSize+n {
		return fault(Truncated, len(b), FrameSize+n)
	}
	if len(b) > FrameSize+n { // RFC 5044 §7.1.1 PD_Length
		return fault(BytesBehind, len(b), FrameSize+n)
	}
	flags, rev := b[KeySize], b[KeySize+1]
	*f = Frame{
		Kind:     f.Kind,
		Markers:  flags&flagMarkers != 0,
		CRC:      flags&flagCRC != 0,
		Reject:   flags&flagReject != 0 && f.Kind == Reply, // not checked in a request
		Enhanced: flags&flagEnhanced != 0 && rev >= 2,
		Revision: rev,
		Private:  b[FrameSize:len(b):len(b)],
	}
	if f.Enhanced {
		f.Setup.read(f.Private)
		f.Private = f.Private[SetupSize:]
	}
	return nil
}

// String describes the frame for logs.
func (f *Frame) String() string {
	s := fmt.Sprintf("%v revision %d, markers %v, CRC %v, %d bytes of private data", f.Kind, f.Revision, f.Markers, f.CRC, len(f.Private))
	if f.Reject {
		s += ", rejected"
	}
	if f.Enhanced {
		s += fmt.Sprintf(", IRD %d, ORD %d", f.Setup.IRD, f.Setup.ORD)
	}
	if f.Setup.PeerToPeer {
		s += fmt.Sprintf(", peer-to-peer with %v", f.Setup.RTR)
	}
	return s
}
