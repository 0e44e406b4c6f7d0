package rdmatcp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The connection profile adds to the format: connection set-up, error reports and remote
// invalidation.
//
// The first message of each direction is an RDMA_Write of no bytes to buffer 0. Its
// control data is a hello:
//
//	0   magic "rpd1"
//	4   version 1, flags, length of private data (1, 1, 2 bytes)
//	8   length of the longest Send that this side accepts
//	12  Reads that this side serves at once, Reads that it wants served at once (2, 2 bytes)
//	16  private data, padded with zeros to whole words
//
// The profile uses the 4 bits of the header that belong to the client protocol. They
// are read from the first segment of a Send:
const (
	resSolicited = 0x1 // the Send is a solicited event
	resControl   = 0x8 // the control data starts with profile words
	resReport    = 0xf // the Send is a report: why the connection is closed
)

// The profile words of a SendWithInvalidate are an opcode and a key; a report's
// are a reason, a message number and a buffer ID.
const (
	opInvalidate = 1
	controlWords = 2
	reportWords  = 3
)

const (
	helloMagic  = 0x72706431
	helloSize   = 16
	maxPrivate  = 1000
	flagReject  = 1 // ConnRequest.Reject
	flagRefused = 2 // the listener is closed or its backlog is full
)

// hello is the first message of one side.
type hello struct {
	flags     uint8
	maxSend   uint32
	resources uint16 // IRD
	depth     uint16 // ORD
	private   []byte
}

// append appends the hello as a segment.
func (p *hello) append(b []byte, id uint64, number uint32) ([]byte, error) {
	control := make([]byte, helloSize, helloSize+maxPrivate)
	binary.BigEndian.PutUint32(control, helloMagic)
	control[4], control[5] = 1, p.flags
	binary.BigEndian.PutUint16(control[6:], uint16(len(p.private)))
	binary.BigEndian.PutUint32(control[8:], p.maxSend)
	binary.BigEndian.PutUint16(control[12:], p.resources)
	binary.BigEndian.PutUint16(control[14:], p.depth)
	control = append(control, p.private...)
	control = append(control, make([]byte, -len(p.private)&3)...)
	return segment.Append(b, &segment.Header{Type: segment.Write, Begin: true, End: true, ConnID: id, Number: number}, control, nil)
}

// errProfile marks a message that obeys the format and breaks the profile.
var errProfile = errors.New("the peer broke the connection profile (docs/rdmatcp.md)")

// decode reads the control data of a peer's first message.
func (p *hello) decode(h *segment.Header, control []byte) error {
	if h.Type != segment.Write || !h.Begin || !h.End || h.BufferID != 0 || h.RDMALength != 0 {
		return fmt.Errorf("first message is a %v of %d bytes to buffer %#x, want an RDMA_Write of no bytes to buffer 0: %w", h.Type, h.Payload(), h.BufferID, errProfile)
	}
	if len(control) < helloSize {
		return fmt.Errorf("first message has %d bytes of control data, want at least %d: %w", len(control), helloSize, errProfile)
	}
	if m := binary.BigEndian.Uint32(control); m != helloMagic {
		return fmt.Errorf("first message starts with %#x, want %#x: %w", m, helloMagic, errProfile)
	}
	if control[4] != 1 {
		return fmt.Errorf("profile version %d, want 1: %w", control[4], errProfile)
	}
	n := int(binary.BigEndian.Uint16(control[6:]))
	if n > maxPrivate || n > len(control)-helloSize {
		return fmt.Errorf("first message announces %d bytes of private data and has room for %d, want at most %d: %w", n, len(control)-helloSize, maxPrivate, errProfile)
	}
	*p = hello{
		flags:     control[5],
		maxSend:   binary.BigEndian.Uint32(control[8:]),
		resources: binary.BigEndian.Uint16(control[12:]),
		depth:     binary.BigEndian.Uint16(control[14:]),
		private:   append([]byte(nil), control[helloSize:helloSize+n]...),
	}
	return nil
}

// reason is the reason in a report: why its sender closes the connection.
type reason uint32

const (
	reasonGoodbye  reason = iota + 1 // Disconnect
	reasonFormat                     // a rule was broken: of format, profile or upper protocol
	reasonAccess                     // a key, range, right or domain was wrong
	reasonLength                     // a Send was longer than its Receive, or than the hello allows
	reasonReceiver                   // a Send found no Receive
	reasonReads                      // there were more Reads than negotiated
	reasonFailed                     // the sender of the report failed
	reasonSlow                       // a time limit was exceeded
)

// String describes the reason to the receiver of the report.
func (r reason) String() string {
	switch r {
	case reasonGoodbye:
		return "goodbye"
	case reasonFormat:
		return "a rule of the format, the profile or the protocol above was broken"
	case reasonAccess:
		return "a key, range, right or domain was wrong"
	case reasonLength:
		return "a Send was longer than its Receive"
	case reasonReceiver:
		return "a Send found no Receive posted"
	case reasonReads:
		return "there were more Reads than negotiated"
	case reasonFailed:
		return "the peer failed to carry out a valid request"
	case reasonSlow:
		return "a time limit was exceeded"
	}
	return fmt.Sprintf("unknown reason %d", uint32(r))
}

// reasonOf returns the reason to report for one of package stream.
func reasonOf(why stream.Reason) reason {
	switch why {
	case stream.ReasonGoodbye:
		return reasonGoodbye
	case stream.ReasonFormat:
		return reasonFormat
	case stream.ReasonAccess:
		return reasonAccess
	case stream.ReasonLength:
		return reasonLength
	case stream.ReasonReceiver:
		return reasonReceiver
	case stream.ReasonReads:
		return reasonReads
	case stream.ReasonSlow:
		return reasonSlow
	}
	return reasonFailed
}

// status returns the completion status that a reported reason means for the receiver of
// the report.
func (r reason) status() verbs.Status {
	switch r {
	case reasonAccess:
		return verbs.StatusRemoteAccess
	case reasonLength, reasonReads, reasonFormat:
		return verbs.StatusRemoteInvalidRequest
	case reasonReceiver:
		return verbs.StatusRNRRetryExceeded
	case reasonSlow:
		return verbs.StatusRetryExceeded
	}
	return verbs.StatusRemoteOperation
}

// report is the last message of the side that closes the connection.
type report struct {
	reason reason
	number uint32 // number of the peer's message that caused the end, or 0
	buffer uint32 // the buffer ID of that message, or the key that it invalidates, or 0
}

func (r report) append(b []byte, id uint64, number uint32) ([]byte, error) {
	var control [4 * reportWords]byte
	binary.BigEndian.PutUint32(control[0:], uint32(r.reason))
	binary.BigEndian.PutUint32(control[4:], r.number)
	binary.BigEndian.PutUint32(control[8:], r.buffer)
	return segment.Append(b, &segment.Header{Type: segment.Send, Res: resReport, Begin: true, End: true, ConnID: id, Number: number}, control[:], nil)
}

func decodeReport(control []byte) report {
	return report{
		reason: reason(binary.BigEndian.Uint32(control[0:])),
		number: binary.BigEndian.Uint32(control[4:]),
		buffer: binary.BigEndian.Uint32(control[8:]),
	}
}
