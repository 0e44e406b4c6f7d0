package engine_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
)

// ledger is Memory that records which buffers are taken. It fills them when they are given back, so
// that a later use is found.
type ledger struct {
	t   *testing.T
	out map[*byte]bool
}

func (l *ledger) Take(n int) []byte {
	b := bytes.Repeat([]byte{0xa5}, n)
	l.out[&b[0]] = true
	return b
}

func (l *ledger) Give(b []byte) {
	l.t.Helper()
	b = b[:cap(b)]
	if !l.out[&b[0]] {
		l.t.Errorf("%d bytes are given back that were not taken", len(b))
		return
	}
	delete(l.out, &b[0])
	for i := range b {
		b[i] = 0xdb
	}
}

// replyTo makes Call 5, whose Reply goes to memory of so many bytes.
func (s *side) replyTo(n int) *engine.Call {
	s.p.t.Helper()
	c := &engine.Call{XID: 5, Payload: [][]byte{rpcCall2(5)}, ReplyTo: make([]byte, 0, n)}
	s.step(engine.Event{Kind: engine.EventCall, Call: c})
	return c
}

// A continued Reply is assembled in Call.ReplyTo, and uses no other memory, if it fits there. If
// not, it moves to separate memory (R324).
func TestReplyTo(t *testing.T) {
	reply := rpcReply2(5, pattern(9000)...)
	for _, c := range []struct {
		room, cut int
		asks      bool
	}{
		{len(reply), 4000, false}, {len(reply) + 10, 4008, false}, {len(reply) - 1, 4000, true}, {100, 4000, true}, {0, 4000, true},
	} {
		s := newTalking(t, 0, 2, 0, nil)
		k := s.replyTo(c.room)
		s.get(peer2.Reply(5, reply).Split(c.cut, 8000)...)
		if k.Err != nil || !bytes.Equal(k.Reply, reply) {
			t.Errorf("%+v: %d bytes, %v", c, len(k.Reply), k.Err)
		}
		if s.asks > 0 != c.asks || s.reserved != 0 {
			t.Errorf("%+v: asked %d times for memory, %d bytes are not given back", c, s.asks, s.reserved)
		}
		if c.room >= len(reply) && &k.Reply[0] != &k.ReplyTo[:1][0] {
			t.Errorf("%+v: the Reply is not in ReplyTo", c)
		}
	}
}

// R135, T64: when a Call is cancelled in the middle of its Reply, ReplyTo is its caller's again,
// and nothing more is written there. The rest of the Reply is received, and so is the next one.
func TestReplyToEnds(t *testing.T) {
	reply := rpcReply2(5, pattern(9000)...)
	for _, memory := range []bool{true, false} {
		for name, end := range map[string]func(*side, *engine.Call){
			"cancelled": func(s *side, k *engine.Call) { s.step(engine.Event{Kind: engine.EventCancel, XID: 5, Call: k}) },
			"an ERROR":  func(s *side, _ *engine.Call) { s.get(peer2.Err(5, peer2.ErrSystem)) },
		} {
			s := newTalking(t, 0, 2, 0, func(_ int, c *engine.Config) {
				if !memory {
					c.Reserve = func(n int) bool { return n <= 0 }
				}
			})
			k := s.replyTo(len(reply))
			parts := peer2.Reply(5, reply).Split(4000, 8000)
			s.get(parts[0])
			end(s, k)
			if len(s.done) != 1 {
				t.Fatalf("%s: %d Calls ended, %v", name, len(s.done), s.fail)
			}
			clear(k.ReplyTo[:cap(k.ReplyTo)])
			s.get(parts[1:]...)
			if len(bytes.Trim(k.ReplyTo[:cap(k.ReplyTo)], "\x00")) > 0 {
				t.Errorf("%s: ReplyTo was written to", name)
			}
			next := &engine.Call{XID: 6, Payload: [][]byte{rpcCall2(6)}, ReplyTo: make([]byte, 0, len(reply))}
			s.step(engine.Event{Kind: engine.EventCall, Call: next})
			s.get(peer2.Reply(6, rpcReply2(6, pattern(9000)...)).Split(4000, 8000)...)
			if s.fail != nil || next.Err != nil || !bytes.Equal(next.Reply, rpcReply2(6, pattern(9000)...)) || s.reserved != 0 {
				t.Errorf("%s: the next Call: %v, %v, %d bytes", name, next.Err, s.fail, s.reserved)
			}
		}
	}
}
