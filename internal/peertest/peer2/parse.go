package peer2

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
)

// Experiments is the first number for experiments (A12). Header types
// and error codes from there on are those of extensions in tests.
const Experiments = 4294967040

// Parse decodes a message of version 2. It refuses everything that the document does not define: a
// sender must not send it. What extensions of tests define is not refused: a header type from
// Experiments on may have all flags but More, and its body is in Payload. With an error, the result
// has the fields before the fault.
func Parse(b []byte) (m Message, err error) {
	p := parser{b: b}
	m.XID, m.Vers, m.Credit, m.Type, m.Flags = p.next(), p.next(), p.next(), p.next(), p.next()
	switch {
	case p.err != nil:
	case m.Vers != 2:
		p.fail("version %d", m.Vers)
	case m.Flags&^(Response|More) != 0 && m.Type < Experiments:
		p.fail("flags %#x", m.Flags)
	case m.Flags&More != 0 && m.Type != Msg && m.Type != ConnProp:
		p.fail("MORE in a message of type %d", m.Type)
	}
	if p.err != nil {
		return m, p.err
	}
	switch m.Type {
	case Msg, NoMsg:
		p.lists(&m)
	case Error:
		p.error(&m)
	case ConnProp:
		if m.Flags&More != 0 {
			break // a part of a set: Payload has all of it
		}
		p.properties(&m)
	default:
		if m.Type < Experiments {
			p.fail("header type %d", m.Type)
		}
	}
	m.Payload = append([]byte(nil), p.b[min(p.at, len(p.b)):]...)
	if p.err == nil {
		p.err = check(&m)
	}
	return m, p.err
}

// check checks what holds between the fields of a message.
func check(m *Message) error {
	switch {
	case len(m.Payload) > 0 && m.Type != Msg && m.Type < Experiments && m.Flags&More == 0:
		return fmt.Errorf("%d bytes after the header of a message of type %d", len(m.Payload), m.Type)
	case m.IsGrant() && m.XID != 0:
		return fmt.Errorf("a grant with XID %#x", m.XID)
	case m.Flags&More != 0 && (m.Reads != nil || m.Writes != nil || m.Reply != nil):
		return fmt.Errorf("MORE with chunks")
	case m.Type == Error && m.Flags&Response == 0:
		return fmt.Errorf("an ERROR without RESPONSE")
	case m.Type == ConnProp && m.Flags&Response != 0:
		return fmt.Errorf("a CONNPROP with RESPONSE")
	case m.Credits() > m.Ceiling():
		return fmt.Errorf("grant of %d, the ceiling is %d", m.Credits(), m.Ceiling())
	case m.Key != 0 && !m.names(m.Key):
		return fmt.Errorf("rdma_inv_handle %#x is no handle of the message", m.Key)
	}
	return nil
}

// names reports whether key is a handle of m.
func (m *Message) names(key uint32) bool {
	all := append([][]peertest.Segment{m.Reads, m.Reply}, m.Writes...)
	for _, list := range all {
		for _, s := range list {
			if s.Key == key {
				return true
			}
		}
	}
	return false
}

// parser reads words. After an error all words are 0.
type parser struct {
	b   []byte
	at  int
	err error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *parser) next() uint32 {
	p.at += 4
	if p.at > len(p.b) {
		p.fail("message of %d bytes ends before byte %d", len(p.b), p.at)
	}
	if p.err != nil {
		return 0
	}
	return binary.BigEndian.Uint32(p.b[p.at-4:])
}

// more reads the word that says whether another element of a list follows.
func (p *parser) more() bool {
	v := p.next()
	if v > 1 {
		p.fail("presence word %#x", v)
	}
	return v == 1 && p.err == nil
}

func (p *parser) segment() peertest.Segment {
	return peertest.Segment{Key: p.next(), Length: p.next(), Addr: uint64(p.next())<<32 | uint64(p.next())}
}

func (p *parser) chunk() []peertest.Segment {
	list := []peertest.Segment{}
	for n := p.next(); n > 0 && p.err == nil; n-- {
		list = append(list, p.segment())
	}
	return list
}

func (p *parser) lists(m *Message) {
	m.Key = p.next()
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
		m.Reply = p.chunk()
	}
}

// error reads the union of an Error (§7.4).
func (p *parser) error(m *Message) {
	m.Code = p.next()
	words := 0
	switch m.Code {
	case ErrVers, ErrWriteResource:
		words = 2
	case ErrReadChunks, ErrWriteChunks, ErrSegments, ErrReplyResource:
		words = 1
	case ErrBadXDR, ErrHeaderType, ErrFlag, ErrSystem:
	default:
		if m.Code < Experiments {
			p.fail("error code %d", m.Code)
		}
	}
	for range words {
		m.Args = append(m.Args, p.next())
	}
}

// properties reads a whole set (§5.1).
func (p *parser) properties(m *Message) {
	seen := make(map[uint32]bool)
	for n := p.next(); n > 0 && p.err == nil; n-- {
		id, size := p.next(), int(p.next())
		if seen[id] {
			p.fail("property %d twice", id)
		}
		seen[id] = true
		padded := (size + 3) &^ 3
		if p.err == nil && padded > len(p.b)-p.at {
			p.fail("property %d of %d bytes, %d are left", id, size, len(p.b)-p.at)
		}
		if p.err != nil {
			return
		}
		m.Set = append(m.Set, Property{id, append([]byte(nil), p.b[p.at:p.at+size]...)})
		p.at += padded
		if id >= SendSize && id <= Reverse && size != 0 && size != 4 {
			p.fail("property %d of %d bytes", id, size)
		}
	}
}
