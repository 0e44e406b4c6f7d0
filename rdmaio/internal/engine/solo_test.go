package engine_test

import (
	"encoding/binary"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// newSolo returns end i of a pair without the other one, whose messages the test makes. The end
// that dialed has offered its version.
func newSolo(t *testing.T, i, calls, serves int, change setup) *side {
	p := &pair{t: t, memory: make(map[uint32][]byte)}
	s := p.newSide(i, calls, serves, change)
	p.ends[i] = s
	if i == 0 {
		s.step(engine.Event{Kind: engine.EventOpen})
	}
	return s
}

// newTalking returns such an end, which has exchanged properties with a peer that grants enough.
func newTalking(t *testing.T, i, calls, serves int, change setup) *side {
	t.Helper()
	s := newSolo(t, i, calls, serves, change)
	s.get(peer2.Props(s.cfg.OfferXID))
	s.settle()
	if got := s.parsed(); len(got) != 1 || got[0].Type != peer2.ConnProp || s.version != 2 {
		t.Fatalf("begins with %+v", got)
	}
	s.sent = nil
	return s
}

// plenty is the credit word in the test's messages.
var plenty = peer2.Word(64, 16)

// get gives the end a message that grants enough, unless it says what it grants.
func (s *side) get(list ...peer2.Message) {
	s.p.t.Helper()
	for _, m := range list {
		if m.Credit == 0 {
			m.Credit = plenty
		}
		s.receive(m.Bytes(), 0)
		s.settle()
	}
}

// settle completes everything that was posted.
func (s *side) settle() {
	s.p.t.Helper()
	for s.complete() {
	}
	s.wire = nil
}

// parsed returns the messages that were sent, without grants, and forgets them.
func (s *side) parsed() (list []peer2.Message) {
	s.p.t.Helper()
	for _, b := range s.sent {
		if m, err := peer2.Parse(b); err != nil {
			s.p.t.Errorf("end %d sends % x: %v", s.i, b, err)
		} else if !m.IsGrant() {
			list = append(list, m)
		}
	}
	s.sent = nil
	return list
}

// only returns the message that was sent, apart from grants.
func (s *side) only() peer2.Message {
	s.p.t.Helper()
	list := s.parsed()
	if len(list) != 1 {
		s.p.t.Fatalf("%d messages are sent, want one: %+v; %v", len(list), list, s.fail)
	}
	return list[0]
}

// rpcCall2 and rpcReply2 are RPC messages.
func rpcCall2(xid uint32, rest ...byte) []byte { return append(rpcHead(xid, header.Call), rest...) }

func rpcReply2(xid uint32, rest ...byte) []byte { return append(rpcHead(xid, header.Reply), rest...) }

// version1 returns a message of version 1, without chunks.
func version1(xid, credit, proc uint32, payload []byte) []byte {
	var b []byte
	for _, w := range []uint32{xid, 1, credit, proc, 0, 0, 0} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return append(b, payload...)
}

// errVers returns an ERR_VERS of 28 bytes, or of 32 with flags.
func errVers(xid, vers, low, high uint32, flags bool) (b []byte) {
	words := []uint32{xid, vers, 1, 4, 1, low, high}
	if flags {
		words = []uint32{xid, vers, 1, 4, peer2.Response, 1, low, high}
	}
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// wide returns version 2 of an end that accepts, with messages of up to 8192 bytes.
func wide() []protocol.Version {
	own := v2.DefaultProperties()
	own.MaxSend = 8192
	return []protocol.Version{v2.New(v2.Config{Own: own})}
}
