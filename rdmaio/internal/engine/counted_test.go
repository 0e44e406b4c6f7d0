package engine_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// R178; T8: before the first grant the client has one message in flight, whatever Calls wait. A
// first grant of 0 counts as 1. An ERROR for the first message allows another one.
func TestFirstGrant(t *testing.T) {
	for name, c := range map[string]struct {
		m    peer2.Message
		word uint32
		want int
	}{
		"T8: no credits":        {peer2.Props(1), peer2.Word(4, 0), 1},
		"one":                   {peer2.Props(1), peer2.Word(4, 1), 1},
		"three":                 {peer2.Props(1), peer2.Word(4, 3), 3},
		"R179: over a ceiling":  {peer2.Props(1), peer2.Word(2, 0xffff), 2},
		"R177: an ERROR":        {peer2.Err(1, peer2.ErrBadXDR), peer2.Word(4, 4), 1},
		"R180: the most":        {peer2.Props(1), 0xffffffff, 5},
		"a ceiling of nothing":  {peer2.Props(1), peer2.Word(0, 0), 1},
		"a grant alone":         {peer2.Grant(), peer2.Word(4, 2), 2},
		"a Reply to no Call":    {peer2.Reply(9, rpcReply2(9)), peer2.Word(4, 2), 2},
		"a message of no sense": {peer2.Message{Type: 77}, peer2.Word(4, 2), 2},
	} {
		s := newSolo(t, 0, 5, 0, nil)
		for xid := range uint32(5) {
			s.call(xid+1, nil)
		}
		s.settle()
		if n := len(s.parsed()); n != 1 {
			t.Fatalf("%d messages before a grant", n)
		}
		c.m.Credit = c.word
		s.receive(c.m.Bytes(), 0)
		if n := len(s.parsed()); n != c.want || s.fail != nil {
			t.Errorf("%s: %d Calls go, want %d; %v", name, n, c.want, s.fail)
		}
	}
}

// R170; T1, T12, T15: a message beyond the credits makes either end close the connection.
func TestBeyondCredits(t *testing.T) {
	over := func(s *side) bool {
		f := new(header.Fault)
		return errors.As(s.fail, &f) && f.Code == header.FaultCredit
	}
	s := newSolo(t, 1, 0, 4, nil)
	first, second := peer2.Props(1).Bytes(), peer2.Call(2, rpcCall2(2)).Bytes()
	s.step(s.arrives(first, 0), s.arrives(second, 0))
	if !over(s) || len(s.reqs) != 0 {
		t.Errorf("T15: two messages before the first grant: %v", s.fail)
	}

	s = newTalking(t, 1, 0, 4, nil) // it has granted 4 credits
	var flood []engine.Event
	for xid := range uint32(5) {
		flood = append(flood, s.arrives(peer2.Call(xid, rpcCall2(xid)).Bytes(), 0))
	}
	s.step(flood...)
	if !over(s) {
		t.Errorf("T1: five Calls for four credits: %v", s.fail)
	}

	for i := range 2 {
		s = newTalking(t, i, 2, 2, nil)
		flood = flood[:0]
		for range 5 + i { // the client's peer has used one of four, and one Grant needs no credit
			flood = append(flood, s.arrives(peer2.Grant().Bytes(), 0))
		}
		if s.step(flood...); !over(s) || len(s.sent) > 0 {
			t.Errorf("T12: end %d, Grants at once: %v, and it sends %d messages", i, s.fail, len(s.sent))
		}
	}
}

// A peer that sends Grants alone, each with a credit, gets new credits in time, by half as many
// Grants at most (R171, R176).
func TestGrantsAloneGetCredits(t *testing.T) {
	for i := range 2 {
		s := newTalking(t, i, 2, 2, nil)
		left, grants := 3, 0
		for n := range 100 {
			if left == 0 {
				t.Fatalf("end %d: no credit after %d Grants", i, n)
			}
			left--
			s.get(peer2.Grant())
			for _, b := range s.sent {
				m, err := peer2.Parse(b)
				if err != nil || !m.IsGrant() || s.fail != nil {
					t.Fatalf("end %d answers a Grant with % x: %v; %v", i, b, err, s.fail)
				}
				left += m.Credits()
				grants++
			}
			s.sent = nil
		}
		if grants > 50 {
			t.Errorf("end %d answers 100 Grants with %d", i, grants)
		}
	}
}

// R171, R174, R176, R181: with ceilings of one credit the ends go on for any number of RPCs, also
// with messages in parts and cancelled Calls, and do not exchange grants when they are done.
func TestOneCredit(t *testing.T) {
	p := newPair(t, [2]int{1, 0}, [2]int{0, 1}, nil)
	for xid := uint32(1); xid <= 50; xid++ {
		n := 9000 * int(xid%2)
		c := p.ends[0].call(xid, pattern(n))
		if xid%5 == 0 {
			p.ends[0].deliver()
			p.ends[0].step(engine.Event{Kind: engine.EventCancel, XID: xid, Call: c})
		}
		p.run()
		p.ends[1].answer(pattern(n))
		p.run()
		if len(p.ends[0].done) != int(xid) || c.Err != nil {
			t.Fatalf("Call %d: %v, %d ended", xid, c.Err, len(p.ends[0].done))
		}
	}
	p.settled()
}

// R160, R171: a Call whose handler is slow is answered by a grant, once, so that the next one can
// be sent. A peer with credits left gets none.
func TestGrantForSlowHandler(t *testing.T) {
	s := newTalking(t, 1, 0, 2, nil)
	grants := func() (n int) {
		for _, b := range s.sent {
			if m, err := peer2.Parse(b); err != nil || !m.IsGrant() || m.XID != 0 || m.Credits() == 0 { // R174
				t.Fatalf("sends %+v, %v", m, err)
			}
			n++
		}
		s.sent = nil
		return n
	}
	s.get(peer2.Call(1, rpcCall2(1)))
	if n := grants(); n != 0 {
		t.Errorf("%d grants, and the peer has as many credits as there is room", n)
	}
	s.answer(nil)
	s.settle()
	s.parsed()
	s.get(peer2.Call(2, rpcCall2(2)))
	s.answer(nil)
	s.settle()
	if m := s.only(); m.Credits() == 0 {
		t.Errorf("a Reply grants %d credits", m.Credits())
	}
}

// A Call that waits for a credit goes when one comes, in its order; an answer does, too (T92).
func TestWaitForCredit(t *testing.T) {
	s := newSolo(t, 0, 4, 2, nil)
	m := peer2.Props(1)
	m.Credit = peer2.Word(4, 1)
	s.get(m)
	for xid := range uint32(3) {
		s.call(xid+1, nil)
	}
	call := peer2.Call(9, rpcCall2(9))
	call.Credit = peer2.Word(4, 0)
	s.get(call)
	s.answer(nil)
	s.settle()
	if got := s.parsed(); len(got) != 2 || got[1].XID != 1 {
		t.Fatalf("sends %+v", got)
	}
	if st := s.e.Stats(); st.Waiting != 3 {
		t.Errorf("%d wait, want two Calls and an answer", st.Waiting)
	}
	m = peer2.Grant()
	m.Credit = peer2.Word(4, 3)
	s.get(m)
	if got := s.parsed(); len(got) != 3 || got[0].XID != 2 || got[1].XID != 3 || !got[2].IsReply() {
		t.Errorf("with credits: %+v", got)
	}
}

// R160, R171: a peer in the middle of a continued Call gets a credit for the rest, also from a
// server that serves as many Calls as it can.
func TestGrantForRest(t *testing.T) {
	s := newTalking(t, 1, 0, 1, nil)
	s.get(peer2.Call(1, rpcCall2(1)))
	s.step(engine.Event{Kind: engine.EventProperties, Control: &engine.Control{}})
	s.settle()
	if m := s.only(); m.Credits() != 1 {
		t.Fatalf("properties grant %d credits", m.Credits())
	}
	for range 3 {
		s.get(peer2.Call(2, rpcCall2(2)).Split(4)[0])
		if n := len(s.sent); n != 1 || s.fail != nil {
			t.Fatalf("%d messages, want a grant; %v", n, s.fail)
		}
		if n := len(s.parsed()); n != 0 {
			t.Errorf("%d messages are no grants", n)
		}
	}
}
