package peer2

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
)

// The header types (§6.2).
const (
	Msg      = 0
	NoMsg    = 1
	Error    = 4
	ConnProp = 5
)

// The flags (§6.3.2).
const (
	Response = 1
	More     = 2
)

// The codes of Error messages (§7.4).
const (
	ErrVers          = 1
	ErrBadXDR        = 2
	ErrHeaderType    = 3
	ErrFlag          = 4
	ErrReadChunks    = 5
	ErrWriteChunks   = 6
	ErrSegments      = 7
	ErrWriteResource = 8
	ErrReplyResource = 9
	ErrSystem        = 10
)

// The properties (§5.2).
const (
	SendSize     = 1
	ReceiveSize  = 2
	SegmentSize  = 3
	SegmentCount = 4
	Reverse      = 5
	HostAuth     = 6
)

// Message is one transport message (§6.1). Which fields it uses depends on Type.
type Message struct {
	XID    uint32
	Vers   uint32 // 0 stands for 2
	Credit uint32 // see Word
	Type   uint32
	Flags  uint32

	// Of Msg and NoMsg (§6.3.3).
	Key    uint32 // rdma_inv_handle
	Reads  []peertest.Segment
	Writes [][]peertest.Segment
	Reply  []peertest.Segment // nil without one

	Code uint32   // of an Error
	Args []uint32 // of an Error: the words of its arm
	Set  []Property

	Payload []byte // all bytes after the header
}

// Property is a property in its encoded form (§5.1).
type Property struct {
	ID   uint32
	Data []byte
}

// Word returns a credit word: the ceiling is in the high half, new credits are in the low half
// (§4.3.1).
func Word(ceiling, credits int) uint32 { return uint32(ceiling)<<16 | uint32(credits) }

// Ceiling returns the high half of the credit word.
func (m *Message) Ceiling() int { return int(m.Credit >> 16) }

// Credits returns the low half of the credit word.
func (m *Message) Credits() int { return int(m.Credit & 0xffff) }

// IsGrant reports whether m only grants credits (§6.4.2).
func (m *Message) IsGrant() bool {
	return m.Type == NoMsg && m.Reads == nil && m.Writes == nil && m.Reply == nil
}

// HasPayload reports whether m has an RPC message, or a part of one.
func (m *Message) HasPayload() bool { return m.Type == Msg || m.Type == NoMsg && !m.IsGrant() }

// IsCall reports whether m has a Call, or a part of one.
func (m *Message) IsCall() bool { return m.HasPayload() && m.Flags&Response == 0 }

// IsReply reports whether m has a Reply, or a part of one.
func (m *Message) IsReply() bool { return m.HasPayload() && m.Flags&Response != 0 }

// Bytes encodes m.
func (m Message) Bytes() []byte {
	var b []byte
	put := func(words ...uint32) {
		for _, w := range words {
			b = binary.BigEndian.AppendUint32(b, w)
		}
	}
	segment := func(s peertest.Segment) { put(s.Key, s.Length, uint32(s.Addr>>32), uint32(s.Addr)) }
	chunk := func(list []peertest.Segment) {
		put(1, uint32(len(list)))
		for _, s := range list {
			segment(s)
		}
	}
	if m.Vers == 0 {
		m.Vers = 2
	}
	put(m.XID, m.Vers, m.Credit, m.Type, m.Flags)
	switch m.Type {
	case Msg, NoMsg:
		put(m.Key)
		for _, s := range m.Reads {
			put(1, s.Position)
			segment(s)
		}
		put(0)
		for _, c := range m.Writes {
			chunk(c)
		}
		put(0)
		if m.Reply != nil {
			chunk(m.Reply)
		} else {
			put(0)
		}
	case Error:
		put(m.Code)
		put(m.Args...)
	case ConnProp:
		put(uint32(len(m.Set)))
		for _, p := range m.Set {
			put(p.ID, uint32(len(p.Data)))
			b = append(b, p.Data...)
			b = append(b, make([]byte, -len(p.Data)&3)...)
		}
	}
	return append(b, m.Payload...)
}

// String returns the message in one line, such as
//
//	Call 0x1 +3 of 8 read{at 40: 8 bytes key 0x11 addr 0x1000} + 40 inline
func (m Message) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %#x +%d of %d", m.kind(), m.XID, m.Credits(), m.Ceiling())
	if m.Vers != 2 && m.Vers != 0 {
		fmt.Fprintf(&b, " version %d", m.Vers)
	}
	if m.Flags&More != 0 {
		b.WriteString(" MORE")
	}
	if m.Type == NoMsg && !m.IsGrant() {
		b.WriteString(" NOMSG")
	}
	if extra := m.Flags &^ (Response | More); extra != 0 {
		fmt.Fprintf(&b, " flags %#x", extra)
	}
	if m.Key != 0 {
		fmt.Fprintf(&b, " invalidate %#x", m.Key)
	}
	for _, s := range m.Reads {
		fmt.Fprintf(&b, " read{at %d: %v}", s.Position, s)
	}
	for _, c := range m.Writes {
		fmt.Fprintf(&b, " write%v", c)
	}
	if m.Reply != nil {
		fmt.Fprintf(&b, " reply%v", m.Reply)
	}
	if m.Type == Error {
		fmt.Fprintf(&b, " code %d %v", m.Code, m.Args)
	}
	for _, p := range m.Set {
		fmt.Fprintf(&b, " %d=%x", p.ID, p.Data)
	}
	if len(m.Payload) > 0 {
		fmt.Fprintf(&b, " + %d inline", len(m.Payload))
	}
	return b.String()
}

func (m *Message) kind() string {
	switch {
	case m.IsGrant():
		return "grant"
	case m.IsCall():
		return "Call"
	case m.IsReply():
		return "Reply"
	case m.Type == Error:
		return "ERROR"
	case m.Type == ConnProp:
		return "CONNPROP"
	}
	return fmt.Sprintf("type %d", m.Type)
}
