package rawpeer

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Kind is the kind of an RPC-over-RDMA version 1 message, as far as its bytes show.
type Kind string

// The kinds of messages.
const (
	Call  Kind = "Call"
	Reply Kind = "Reply"
	Error Kind = "RDMA_ERROR"
	Done  Kind = "RDMA_DONE"
)

// Message is the header of a message (RFC 8166 §4.1). Parse is written from the document, without
// the generated code or other code of the transport, so that tests can check these with it.
type Message struct {
	XID, Credit uint32
	Kind        Kind
	Code        uint32 // of an RDMA_ERROR
	Long        bool   // RDMA_NOMSG: the RPC message is in a chunk
	Reads       []Segment
	Writes      [][]Segment
	ReplyChunk  []Segment // nil without one
	Inline      int       // bytes after the header
}

// Segment is one segment of a chunk.
type Segment struct {
	Position    uint32 // of a read segment
	Key, Length uint32
	Addr        uint64
}

// Parse parses the first bytes of a message. They must include its header and, of RDMA_MSG, the XID
// and direction of the RPC message. With an error, the result has the fields before the fault.
func Parse(b string) (m Message, err error) {
	p := parser{b: b}
	m.XID, m.Credit = p.word(0), p.word(8)
	vers, proc := p.word(4), p.word(12)
	p.at = 16
	switch {
	case p.err != nil:
	case vers != 1 && proc != 4: // an RDMA_ERROR has the version of the message that it answers
		p.err = fmt.Errorf("version %d", vers)
	case proc == 3:
		m.Kind = Done
	case proc == 4:
		m.Kind = Error
		if len(b) >= 20 {
			m.Code = p.next()
		}
	case proc > 1:
		p.err = fmt.Errorf("procedure %d", proc)
	default:
		m.Long = proc == 1
		p.lists(&m)
		p.direction(&m)
	}
	m.Inline = max(0, len(b)-p.at)
	return m, p.err
}

// parser reads words. After an error all words are 0.
type parser struct {
	b   string
	at  int
	err error
}

func (p *parser) word(at int) uint32 {
	if at+4 > len(p.b) && p.err == nil {
		p.err = fmt.Errorf("message of %d bytes ends before byte %d", len(p.b), at+4)
	}
	if p.err != nil {
		return 0
	}
	return binary.BigEndian.Uint32([]byte(p.b[at : at+4]))
}

func (p *parser) next() uint32 {
	p.at += 4
	return p.word(p.at - 4)
}

// more reads the word that says whether another element of a list follows.
func (p *parser) more() bool {
	v := p.next()
	if v > 1 && p.err == nil {
		p.err = fmt.Errorf("presence word %#x", v)
	}
	return v == 1 && p.err == nil
}

func (p *parser) segment() Segment {
	return Segment{Key: p.next(), Length: p.next(), Addr: uint64(p.next())<<32 | uint64(p.next())}
}

func (p *parser) chunk() []Segment {
	list := []Segment{}
	for n := p.next(); n > 0 && p.err == nil; n-- {
		list = append(list, p.segment())
	}
	return list
}

func (p *parser) lists(m *Message) {
	for p.more() {
		position := p.next()
		s := p.segment()
		s.Position = position
		m.Reads = append(m.Reads, s)
	}
	for p.more() {
		m.Writes = append(m.Writes, p.chunk())
	}
	if p.more() {
		m.ReplyChunk = p.chunk()
	}
}

// direction distinguishes Calls from Replies: by the RPC message, or of RDMA_NOMSG by the read
// list, which only a Call has.
func (p *parser) direction(m *Message) {
	m.Kind = Reply
	if m.Long {
		if len(m.Reads) > 0 {
			m.Kind = Call
		}
		return
	}
	xid, direction := p.word(p.at), p.word(p.at+4)
	switch {
	case p.err != nil:
	case direction > 1:
		p.err = fmt.Errorf("RPC message of type %d", direction)
	case xid != m.XID:
		p.err = fmt.Errorf("the header has XID %#x, the RPC message %#x", m.XID, xid)
	}
	if direction == 0 {
		m.Kind = Call
	}
}

// String returns the header in one line, such as
//
//	Call 0x1 credit 32 read{at 40: 8 bytes key 0x11 addr 0x1000} + 40 inline
func (m Message) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %#x credit %d", m.Kind, m.XID, m.Credit)
	if m.Kind == Error {
		fmt.Fprintf(&b, " code %d", m.Code)
	}
	if m.Long {
		b.WriteString(" RDMA_NOMSG")
	}
	for _, s := range m.Reads {
		fmt.Fprintf(&b, " read{at %d: %v}", s.Position, s)
	}
	for _, c := range m.Writes {
		fmt.Fprintf(&b, " write%v", c)
	}
	if m.ReplyChunk != nil {
		fmt.Fprintf(&b, " reply%v", m.ReplyChunk)
	}
	if m.Inline > 0 {
		fmt.Fprintf(&b, " + %d inline", m.Inline)
	}
	return b.String()
}

func (s Segment) String() string {
	return fmt.Sprintf("%d bytes key %#x addr %#x", s.Length, s.Key, s.Addr)
}

// Raw is a message as its bytes are.
type Raw []byte

// String returns the header in words, or the bytes and their fault.
func (r Raw) String() string {
	m, err := Parse(string(r))
	if err != nil {
		return fmt.Sprintf("%x (%v)", []byte(r), err)
	}
	return m.String()
}
