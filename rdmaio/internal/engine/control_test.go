package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// extended gives an end an extension, with the header type 77 and its flag 0x100.
func extended(i int, c *engine.Config) {
	own := v2.DefaultProperties()
	own.Reverse = v2.ReverseGeneral
	c.Versions = []protocol.Version{v2.New(v2.Config{
		Dialed: i == 0, Own: own, Invalidate: true,
		Types: func(htype uint32) (uint32, bool) { return 0x100, htype == 77 },
	})}
}

// other sends a message of an extension.
func (s *side) other(o engine.Other) {
	s.p.t.Helper()
	s.step(engine.Event{Kind: engine.EventOther, Control: &engine.Control{Other: o}})
}

// prefixes returns XID, header type and flags of the messages that were sent, without grants.
func (s *side) prefixes() (list [][]uint32) {
	for _, b := range s.sent {
		word := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
		if word(0) != 0 {
			list = append(list, []uint32{word(0), word(3), word(4)})
		}
	}
	return list
}

// A message of an extension goes as it is, and is counted once. One that is too long is returned,
// and the connection stays up.
func TestOtherIsSent(t *testing.T) {
	s := newTalking(t, 1, 0, 2, extended)
	if s.unsent != 0 {
		t.Errorf("%d messages of extensions are counted, of properties", s.unsent)
	}
	s.other(engine.Other{XID: 9, Type: 77, Flags: 0x100, Answer: true, Payload: pattern(40)})
	s.settle()
	if diff := cmp.Diff([][]uint32{{9, 77, 0x101}}, s.prefixes()); diff != "" {
		t.Error(diff)
	}
	if b := s.sent[0]; !bytes.Equal(b[20:], pattern(40)) {
		t.Errorf("sent % x", b)
	}
	s.sent = nil
	if s.unsent != 1 {
		t.Errorf("%d are counted, want 1", s.unsent)
	}
	s.other(engine.Other{XID: 8, Type: 77, Answer: true, Payload: pattern(5000)})
	s.settle()
	if len(s.others) != 1 || s.unsent != 2 || len(s.parsed()) != 0 || s.fail != nil {
		t.Fatalf("too long: %d returned, %d counted, %v", len(s.others), s.unsent, s.fail)
	}
	if o := s.others[0]; o.XID != 8 || o.Type != 77 || !o.Answer || o.Payload != nil || o.Unsent == nil {
		t.Errorf("too long: %+v", o)
	}
	s.step(engine.Event{Kind: engine.EventClose, Err: errors.New("closed")})
	before := s.e.Stats().ErrorMessages
	s.other(engine.Other{XID: 8, Err: header.Error{Code: header.ErrSystem}})
	if n := s.e.Stats().ErrorMessages - before; n != 0 {
		t.Errorf("%d ERRORs of a connection that is closed", n)
	}
}

// A message of an extension, and an ERROR that is about none of our Calls, are passed on unchanged,
// in memory that is not the Receive's.
func TestOtherIsReceived(t *testing.T) {
	s := newTalking(t, 1, 0, 2, extended)
	s.get(peer2.Message{XID: 5, Type: 77, Flags: 0x101, Payload: pattern(30)})
	var b []byte
	for _, w := range []uint32{6, 2, plenty, peer2.Error, peer2.Response, 99, 0x01020304} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	s.receive(b, 0)
	for range 2 * len(s.cfg.Recv) { // each Receive has other messages now
		s.get(peer2.Message{XID: 7, Type: 77, Payload: bytes.Repeat([]byte{7}, 100)})
	}
	want := []engine.Other{
		{XID: 5, Type: 77, Flags: 0x100, Answer: true, Payload: pattern(30)},
		{XID: 6, Answer: true, Payload: []byte{1, 2, 3, 4}, Err: header.Error{Code: 99}},
	}
	if diff := cmp.Diff(want, s.others[:2]); diff != "" {
		t.Error(diff)
	}
}

// An ERROR goes between the parts of a message, and nothing else does (A5).
func TestErrorBetweenParts(t *testing.T) {
	s := newSolo(t, 1, 0, 2, extended)
	grant := func(n int) peer2.Message {
		m := peer2.Grant()
		m.Credit = peer2.Word(8, n)
		return m
	}
	first := peer2.Props(1)
	first.Credit = peer2.Word(8, 1)
	s.get(first)
	call := peer2.Call(5, rpcCall2(5))
	call.Credit = peer2.Word(8, 1)
	s.get(call)
	s.parsed()
	s.answer(pattern(12000)) // there is a credit for one part of three
	s.settle()
	if list := s.parsed(); len(list) != 1 || list[0].Flags != peer2.Response|peer2.More {
		t.Fatalf("sent %+v, want the first part", list)
	}
	s.other(engine.Other{XID: 3, Type: 77})
	s.get(grant(1))
	if list := s.parsed(); len(list) != 1 || list[0].XID != 5 {
		t.Errorf("sent %+v, want the next part before a message of an extension", list)
	}
	s.step(engine.Event{Kind: engine.EventOther, Control: &engine.Control{Other: engine.Other{XID: 4, Err: header.Error{Code: header.ErrSystem}}}})
	s.get(grant(4))
	want := [][]uint32{{5, peer2.Msg, peer2.Response}, {3, 77, 0}, {4, peer2.Error, peer2.Response}}
	if diff := cmp.Diff(want, s.prefixes()); diff != "" { // control messages keep their order
		t.Error(diff)
	}

	s = newSolo(t, 1, 0, 2, extended)
	s.get(first)
	s.get(call)
	s.parsed()
	s.answer(pattern(12000))
	s.other(engine.Other{XID: 4, Err: header.Error{Code: header.ErrSystem}})
	s.settle()
	s.parsed()
	s.get(grant(1))
	if list := s.parsed(); len(list) != 1 || list[0].Type != peer2.Error {
		t.Errorf("sent %+v, want the ERROR before the next part", list)
	}
}

// Property sets that wait together are sent as they were given, each with the engine's own
// properties.
func TestPropertySetsThatWait(t *testing.T) {
	s := newSolo(t, 1, 0, 2, nil)
	first := peer2.Props(0x1234)
	first.Credit = peer2.Word(8, 1)
	s.get(first)
	if m := s.only(); m.XID != 0x1234 { // A7: the answer to the client's
		t.Errorf("the first set has XID %#x", m.XID)
	}
	for id := uint32(1000); id < 1003; id++ {
		s.step(engine.Event{Kind: engine.EventProperties, Control: &engine.Control{Props: []header.Property{{ID: id, Data: []byte{byte(id)}}}}})
	}
	s.get(peer2.Grant())
	list := s.parsed()
	if len(list) != 3 {
		t.Fatalf("%d sets are sent, want 3", len(list))
	}
	for i, m := range list {
		if p := m.Set[len(m.Set)-1]; len(m.Set) != 6 || p.ID != 1000+uint32(i) {
			t.Errorf("set %d: %+v", i, m.Set)
		}
	}
}

// What a set of properties is passed on with is not the Receive, and only a message of host
// authentication in a later set is passed on.
func TestPropertiesAreCopied(t *testing.T) {
	s := newSolo(t, 1, 0, 2, nil)
	auth := func(b byte) peer2.Property { return peer2.Property{ID: 6, Data: []byte{0, 0, 0, 4, b, b, b, b}} }
	s.get(peer2.Props(1, auth(1)), peer2.Props(2), peer2.Props(3, auth(2)))
	for range 2 * len(s.cfg.Recv) {
		s.get(peer2.Err(99, peer2.ErrSystem))
	}
	if len(s.props) != 1 || len(s.props[0]) != 1 || !bytes.Equal(s.props[0][0].Data, auth(1).Data) {
		t.Errorf("the first set is %x", s.props)
	}
	if len(s.auth) != 1 || string(s.auth[0]) != "\x02\x02\x02\x02" {
		t.Errorf("messages of later sets: %x, want that of the third", s.auth)
	}
	told := s.told
	s.get(peer2.Call(7, rpcCall2(7)))
	if s.told != told {
		t.Error("a Call changes the terms")
	}
}

// A set that the connection's end cuts off costs nothing.
func TestSetCutOff(t *testing.T) {
	s := newTalking(t, 1, 0, 2, nil)
	m := peer2.Props(1, peer2.Property{ID: 500, Data: pattern(100)})
	m.Flags = peer2.More
	s.get(m)
	if s.reserved == 0 {
		t.Error("a set that goes on costs nothing")
	}
	s.step(engine.Event{Kind: engine.EventBroken, Err: errors.New("lost")})
	if s.reserved != 0 || s.await {
		t.Errorf("at the end %d bytes are reserved, completions awaited: %v", s.reserved, s.await)
	}
}

// An end that serves no Calls drops them, and answers nothing.
func TestCallsAreNotServed(t *testing.T) {
	s := newTalking(t, 0, 2, 0, nil)
	s.get(peer2.Call(7, rpcCall2(7)))
	if list := s.parsed(); len(list) != 0 || s.e.Stats().DroppedMessages != 1 || len(s.reqs) != 0 || s.fail != nil {
		t.Errorf("sent %+v, %d dropped, %v", list, s.e.Stats().DroppedMessages, s.fail)
	}
}

// T107: messages of extensions are guarded like Calls. A Call in the Step of the host
// authentication message, which the driver has not seen, is not refused.
func TestGuardOfOthers(t *testing.T) {
	closed := func(i int, c *engine.Config) {
		extended(i, c)
		c.Guard = func() bool { return false }
	}
	s := newTalking(t, 1, 0, 2, closed)
	s.get(peer2.Message{XID: 5, Type: 77})
	if !errors.Is(s.fail, engine.ErrEarly) || len(s.others) != 0 {
		t.Errorf("a message of an extension: %v, %d passed on", s.fail, len(s.others))
	}
	s = newTalking(t, 1, 0, 2, closed)
	auth := peer2.Props(1, peer2.Property{ID: 6, Data: make([]byte, 4)})
	auth.Credit = plenty
	call := peer2.Call(7, rpcCall2(7))
	call.Credit = plenty
	s.step(s.arrives(auth.Bytes(), 0), s.arrives(call.Bytes(), 0))
	if s.fail != nil || len(s.reqs) != 1 || len(s.auth) != 1 {
		t.Errorf("with the authentication: %v, %d Calls, %d messages", s.fail, len(s.reqs), len(s.auth))
	}
}
