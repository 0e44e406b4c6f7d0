package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// granting returns a message that grants n credits alone.
func granting(n int) peer2.Message {
	m := peer2.Grant()
	m.Credit = peer2.Word(8, n)
	return m
}

// newStarved returns a server to which its peer has granted no credit that is left, with two Calls
// to be answered.
func newStarved(t *testing.T, timeout time.Duration) *side {
	t.Helper()
	s := newSolo(t, 1, 0, 4, func(i int, c *engine.Config) {
		extended(i, c)
		c.ChainTimeout = timeout
	})
	s.p.now = 10 * time.Second
	one := peer2.Props(1)
	one.Credit = peer2.Word(8, 1)
	s.get(one)
	for xid := uint32(5); xid < 7; xid++ {
		m := peer2.Call(xid, rpcCall2(xid))
		m.Credit = peer2.Word(8, 0)
		s.get(m)
	}
	if len(s.reqs) != 2 || s.fail != nil {
		t.Fatalf("%d Calls, %v", len(s.reqs), s.fail)
	}
	s.parsed()
	return s
}

// T128: if a peer grants no credit while messages wait for one, the connection is closed
// Config.ChainTimeout after the last message was sent. No other event restarts that time.
func TestPeerWithoutCreditsLosesTheConnection(t *testing.T) {
	for name, wait := range map[string]func(s *side){
		"answers": func(s *side) {
			s.answer(nil)
			s.answer(nil)
		},
		"a continued answer":       func(s *side) { s.answer(pattern(12000)) },
		"the parts of an answer":   func(s *side) { s.get(granting(1)); s.answer(pattern(12000)) },
		"messages of an extension": func(s *side) { s.other(engine.Other{XID: 1, Type: 77}); s.other(engine.Other{XID: 2, Type: 77}) },
		"ERRORs": func(s *side) {
			for range 2 {
				s.other(engine.Other{XID: 3, Err: header.Error{Code: header.ErrSystem}})
			}
		},
	} {
		s := newStarved(t, time.Second)
		start := s.p.now
		if s.want != 0 {
			t.Fatalf("%s: deadline %v before something waits", name, s.want)
		}
		wait(s)
		at := func(want time.Duration, what string) {
			t.Helper()
			if s.want != start+want {
				t.Errorf("%s: %s the deadline is after %v, want %v", name, what, s.want-start, want)
			}
		}
		at(time.Second, "at first")
		s.p.now += 400 * time.Millisecond
		s.get(granting(0))
		at(time.Second, "after a message that grants nothing")
		s.get(granting(1))
		at(1400*time.Millisecond, "after a message has gone")
		s.p.now = start + 1400*time.Millisecond - 1
		s.step(engine.Event{Kind: engine.EventTimer})
		if s.fail != nil {
			t.Fatalf("%s: ended early: %v", name, s.fail)
		}
		s.p.now++
		s.step(engine.Event{Kind: engine.EventTimer})
		if !errors.Is(s.fail, engine.ErrTimeout) {
			t.Errorf("%s: ended with %v", name, s.fail)
		}
	}
}

// A wait that is over sets no deadline, and neither does a wait without a limit.
func TestNoStall(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Second} {
		s := newStarved(t, timeout)
		s.answer(nil)
		s.answer(pattern(9000))
		s.step(engine.Event{Kind: engine.EventTimer})
		if (s.want == 0) != (timeout == 0) || s.fail != nil {
			t.Errorf("limit %v: deadline %v, %v", timeout, s.want, s.fail)
		}
		s.get(granting(8))
		if s.want != 0 || len(s.parsed()) < 2 {
			t.Errorf("limit %v: deadline %v, when all was sent", timeout, s.want)
		}
		s.p.now += time.Hour
		s.step(engine.Event{Kind: engine.EventTimer})
		if s.fail != nil {
			t.Errorf("limit %v: ended with %v", timeout, s.fail)
		}
	}
}

// A drain waits for each answer, ERROR and part that waits for a credit, and for its completion.
func TestDrainWaitsForCredit(t *testing.T) {
	why := errors.New("drained")
	for name, wait := range map[string]func(s *side){
		"an answer":          func(s *side) { s.answer(nil) },
		"a continued answer": func(s *side) { s.answer(pattern(5000)) },
		"an ERROR": func(s *side) {
			s.other(engine.Other{XID: 3, Err: header.Error{Code: header.ErrSystem}})
		},
	} {
		s := newStarved(t, 0)
		wait(s)
		s.step(engine.Event{Kind: engine.EventDrain, Err: why})
		if s.fail != nil || !s.await {
			t.Errorf("%s: ended with %v before it was sent, completions awaited: %v", name, s.fail, s.await)
		}
		s.receive(granting(4).Bytes(), 0)
		if s.fail != nil {
			t.Errorf("%s: ended with %v before it has completed", name, s.fail)
		}
		s.settle()
		if !errors.Is(s.fail, why) || s.await {
			t.Errorf("%s: ended with %v, completions awaited: %v", name, s.fail, s.await)
		}
	}
}
