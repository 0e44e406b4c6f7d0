package rdmatcp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The profile: what two devices of this package agree on above the format, which
// knows no connection set-up, no errors and no invalidation.
//
// The first message of each direction is an RDMA_Write of no bytes to buffer
// 0, whose control data is a hello:
//
//	0   magic "rpd1"
//	4   version 1, flags, length of private data (1, 1, 2 bytes)
//	8   longest Send taken
//	12  Reads served at once, Reads wanted at once (2, 2 bytes)
//	16  private data, padded with zeros to whole words
//
// The 4 bits of the client protocol in each header, read from the first
// segment of a Send:
const (
	resSolicited = 0x1 // the receiver wants to wake up for it
	resControl   = 0x8 // the control data starts with profile words
	resReport    = 0xf // not a message: the reason why the connection ends
)

// The profile words of a Send with invalidate: opcode, key. Those of a report:
// reason, message number, buffer ID.
const (
	opInvalidate = 1
	controlWords = 2
	reportWords  = 3
)

const (
	helloMagic  = 0x72706431
	helloSize   = 16
	maxPrivate  = 1000
	flagReject  = 1 // the listener's owner said no
	flagRefused = 2 // nobody is there to ask
)

// hello is one side's part of the set-up.
type hello struct {
	flags     uint8
	maxSend   uint32
	resources uint16 // IRD
	depth     uint16 // ORD
	private   []byte
}

// append gives the hello as a segment.
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

// errProfile marks what is right for the format and wrong for the profile.
var errProfile = errors.New("not as the connection profile of package rdmatcp has it")

// decode reads the control data of a peer's first message.
func (p *hello) decode(h *segment.Header, control []byte) error {
	if h.Type != segment.Write || !h.Begin || !h.End || h.BufferID != 0 || h.RDMALength != 0 {
		return fmt.Errorf("first message is a %v of %d bytes to buffer %#x, want an RDMA_Write of none to buffer 0: %w", h.Type, h.Payload(), h.BufferID, errProfile)
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
		return fmt.Errorf("private data of %d bytes, want at most %d and what is there, %d: %w", n, maxPrivate, len(control)-helloSize, errProfile)
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

// reason is why a side ends the connection, as reports carry it.
type reason uint32

const (
	reasonGoodbye  reason = iota + 1 // Disconnect
	reasonFormat                     // a rule of the format, the profile or the protocol above
	reasonAccess                     // key, range, right or domain
	reasonLength                     // longer than the Receive, or than was said to be taken
	reasonReceiver                   // no Receive posted
	reasonReads                      // more Reads than agreed
	reasonFailed                     // this side could not do its part
	reasonSlow                       // over a time limit
)

// String tells it to the side that is told.
func (r reason) String() string {
	switch r {
	case reasonGoodbye:
		return "goodbye"
	case reasonFormat:
		return "a rule of the format, the profile or the protocol above was broken"
	case reasonAccess:
		return "a key, range or right was wrong"
	case reasonLength:
		return "a Send was longer than its Receive"
	case reasonReceiver:
		return "a Send found no Receive"
	case reasonReads:
		return "there were more Reads than agreed"
	case reasonFailed:
		return "the peer could not do its part"
	case reasonSlow:
		return "it took too long"
	}
	return fmt.Sprintf("reason %d, which is not known here", uint32(r))
}

// status is what a reported reason means to the side that is told.
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

// report is the last message of a side that ends the connection.
type report struct {
	reason reason
	number uint32 // of the peer's message that is to blame, if any
	buffer uint32 // its buffer ID or invalidated key, if any
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
