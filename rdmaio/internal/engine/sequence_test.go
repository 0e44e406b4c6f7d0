package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R283: each part of a continued Reply waits until the send queue has room for it, and the last one
// until there is room for the RDMA Writes, too.
func TestPartsWaitForRoom(t *testing.T) {
	const results = 3
	for wrs := results + 1; wrs < results+4; wrs++ {
		s := newTalking(t, 1, 0, 2, func(_ int, c *engine.Config) { c.SendWRs = wrs })
		m := peer2.Call(5, rpcCall2(5))
		for i := range uint32(results) {
			s.p.memory[10+i] = make([]byte, 8)
			m.Writes = append(m.Writes, []peertest.Segment{{Key: 10 + i, Length: 8}})
		}
		s.get(m)
		s.parsed()
		mem := &engineMemory{b: pattern(8)}
		for range results {
			s.reqs[0].Answer.WithResults().Data = append(s.reqs[0].Answer.Data, verbs.SGE{MR: mem, Length: 8})
		}
		s.answer(pattern(12200)) // four parts
		for n := 0; ; n++ {
			if filled := s.e.Stats().SendQueueFilled; filled > wrs {
				t.Fatalf("%d entries: %d are in use after %d completions", wrs, filled, n)
			}
			if len(s.completed) == 0 {
				break
			}
			s.complete()
		}
		list := s.parsed()
		if len(list) != 4 || len(list[3].Writes) != results || s.fail != nil {
			t.Fatalf("%d entries: %d messages, %v", wrs, len(list), s.fail)
		}
		if n := len(s.log); !slices.Equal(s.log[n-4:n-1], []string{"write", "write", "write"}) {
			t.Errorf("%d entries: requests %v", wrs, s.log)
		}
		for key, b := range s.p.memory {
			if !bytes.Equal(b, pattern(8)) {
				t.Errorf("%d entries: result %d is % x", wrs, key, b)
			}
		}
	}
}

// R33, R37; A26: a message whose header fits, but not with its payload, arrives as it was made,
// whatever its length and its lists, and in as few messages as are allowed to be so long.
func TestPartsOfAnyLength(t *testing.T) {
	for _, limit := range []int{0, 1500} {
		for _, chunks := range []int{0, 1, 50} {
			// The last part with and without a free byte, at the first three borders.
			exact := []int{0, 1}
			for n := 1000; n < 4200; n += 37 {
				exact = append(exact, n)
			}
			room := 4096
			if limit > 0 {
				room = limit
			}
			for k := range 3 {
				border := k*(room-36) + room - 36 - 8 - 16*chunks - 8
				exact = append(exact, border-1, border, border+1)
			}
			for _, n := range exact {
				p := newPair(t, [2]int{2, 0}, [2]int{0, 2}, func(_ int, c *engine.Config) { c.Limits.Segments, c.SendWRs = 64, 80 })
				p.run()
				p.ends[0].sent = nil
				p.ends[0].control(engine.EventSendSize, engine.Control{Size: limit})
				c := &engine.Call{XID: 5, Payload: [][]byte{rpcHead(5, header.Call), pattern(n)}}
				segments := c.WithOffer().Lists.AddWrite(chunks)
				for i := range segments {
					segments[i] = header.Segment{Handle: 9, Length: 4}
				}
				p.ends[0].step(engine.Event{Kind: engine.EventCall, Call: c})
				p.run()
				if got := p.ends[1].reqs; len(got) != 1 || !bytes.Equal(got[0].Message[8:], pattern(n)) || len(got[0].Offered().Writes[0]) != chunks {
					t.Fatalf("%d bytes, %d segments, messages of %d: %d Calls arrive; %v, %v", n, chunks, limit, len(got), c.Err, p.ends[1].fail)
				}
				most, head, lists := 4096, 36, 8+16*chunks
				if limit > 0 {
					most = limit
				}
				want := 1
				for left := n + 8; left+head+lists > most; want++ {
					left -= min(left, most-head)
				}
				if sent := p.ends[0].sent; len(sent) != want || slices.ContainsFunc(sent, func(b []byte) bool { return len(b) > most }) {
					t.Fatalf("%d bytes, %d segments: %d messages, want %d of at most %d bytes", n, chunks, len(sent), want, most)
				}
			}
		}
	}
}

// R33: a Call whose lists alone are too long for a Send fails by itself.
func TestListsTooLong(t *testing.T) {
	for _, limit := range []int{0, 1500} {
		s := newTalking(t, 0, 2, 0, nil)
		s.control(engine.EventSendSize, engine.Control{Size: limit})
		c := &engine.Call{XID: 5, Payload: [][]byte{rpcCall2(5)}}
		n := 300
		if limit > 0 {
			n = 100 // they fit the buffer
		}
		for i := range c.WithOffer().Lists.AddWrite(n) {
			c.Lists.Writes[0][i] = header.Segment{Handle: 9, Length: 4}
		}
		s.step(engine.Event{Kind: engine.EventCall, Call: c})
		if len(s.done) != 1 || c.Err == nil || c.Sent || s.fail != nil {
			t.Errorf("messages of %d: %v, sent %v; the connection: %v", limit, c.Err, c.Sent, s.fail)
		}
		next := s.call(6, nil)
		s.get(peer2.Reply(6, rpcReply2(6)))
		if next.Err != nil || next.Reply == nil {
			t.Errorf("messages of %d: the next Call: %v", limit, next.Err)
		}
	}
}

// T14, R169: a continued Call is in flight from its first part, as any other: the peer's ceiling
// holds the next Call back. After a continued Reply, a Call is a Call.
func TestContinuedCallIsInFlight(t *testing.T) {
	s := newSolo(t, 0, 2, 2, nil)
	one := peer2.Props(1)
	one.Credit = peer2.Word(1, 1)
	s.get(one)
	first := s.call(5, pattern(5000))
	for range 3 {
		m := peer2.Grant()
		m.Credit = peer2.Word(1, 1)
		s.get(m)
	}
	second := s.call(6, nil)
	if st := s.e.Stats(); st.InFlight != 1 || !first.Sent || second.Sent {
		t.Errorf("%d Calls in flight, of one allowed; the second was sent: %v", st.InFlight, second.Sent)
	}

	p := newPair(t, [2]int{2, 2}, [2]int{2, 2}, nil)
	for round := range uint32(3) {
		for i, s := range p.ends {
			c := s.call(1+round, pattern(9000))
			p.run()
			q := s.peer()
			if len(q.reqs) != 1 {
				t.Fatalf("round %d: a Call of end %d does not arrive: %v", round, i, q.fail)
			}
			q.answer(pattern(9000))
			p.run()
			if c.Err != nil || len(c.Reply) != 9008 {
				t.Errorf("round %d: Call of end %d: %v, %d bytes", round, i, c.Err, len(c.Reply))
			}
		}
	}
	for i, s := range p.ends {
		if a, b := s.e.Stats(), s.peer().e.Stats(); a.PartsSent != 18 || b.PartsReceived != 18 {
			t.Errorf("end %d: %d parts are sent, %d received, want 18", i, a.PartsSent, b.PartsReceived)
		}
	}
	p.settled()
}

// A part of a Call needs one entry of the send queue, so a queue of one sends all parts.
func TestContinuedCallNeedsOneEntry(t *testing.T) {
	s := newTalking(t, 0, 1, 0, func(_ int, c *engine.Config) { c.SendWRs = 1 })
	c := s.call(5, pattern(9000))
	s.settle()
	if n := len(s.parsed()); n != 3 || !c.Sent {
		t.Errorf("%d parts are sent, want 3; %v", n, c.Err)
	}
}

// R133: a handler may reply with pieces of its Call, from anywhere in the message. The Receive is
// in use for other messages before the last part is sent.
func TestReplyIsPartOfCall(t *testing.T) {
	for _, from := range []int{0, 1, 8, 100} {
		s := newSolo(t, 1, 0, 4, nil)
		one := peer2.Props(1)
		one.Credit = peer2.Word(8, 1)
		s.get(one)
		m := peer2.Call(5, rpcCall2(5, pattern(2000)...))
		m.Credit = peer2.Word(8, 1)
		s.get(m)
		s.parsed()
		r := s.reqs[0]
		want := bytes.Clone(r.Message[from:])
		r.Answer.Payload = [][]byte{rpcHead(5, header.Reply), pattern(5000), r.Message[from:], r.Message[from:]}
		s.step(engine.Event{Kind: engine.EventReply, Request: r})
		for range 3 * len(s.cfg.Recv) {
			e := peer2.Err(9, peer2.ErrSystem)
			s.get(e)
		}
		s.get(granting(4))
		var got []byte
		for _, m := range s.parsed() {
			got = append(got, m.Payload...)
		}
		if !bytes.Equal(got[8+5000:], append(want[:len(want):len(want)], want...)) {
			t.Errorf("from byte %d: the Reply ends in %d other bytes", from, len(got)-5008)
		}
	}
}

// A server at its limit of Calls grants no credit for a continued Call that has arrived completely:
// its peer would send another.
func TestNoGrantAfterLastPart(t *testing.T) {
	s := newTalking(t, 1, 0, 1, nil)
	s.get(peer2.Call(5, rpcCall2(5, pattern(100)...)).Split(50)...)
	if len(s.reqs) != 1 {
		t.Fatalf("%d Calls; %v", len(s.reqs), s.fail)
	}
	if free := s.granted - s.received; free != 0 {
		t.Errorf("%d credits are granted while the only Call is served", free)
	}
}

// A Call with more segments than the send queue has entries is served (R205, R217): the Reads of
// the Call, and the Writes of the Reply, go in batches. The Writes precede the Send (R4).
func TestListsLongerThanTheSendQueue(t *testing.T) {
	for _, wrs := range []int{2, 3, 8} {
		for n := 1; n <= 16; n++ {
			s := newTalking(t, 1, 0, 2, func(_ int, c *engine.Config) { c.SendWRs = wrs })
			m := peer2.Call(5, rpcCall2(5))
			var write []peertest.Segment
			for i := range n {
				seg := peertest.Segment{Key: 3, Length: 4, Addr: uint64(4 * i), Position: 8}
				m.Reads = append(m.Reads, seg)
				seg.Key, seg.Position = 4, 0
				write = append(write, seg)
			}
			m.Writes = [][]peertest.Segment{write}
			s.p.memory[3], s.p.memory[4] = pattern(4*n), make([]byte, 4*n)
			if s.get(m); len(s.reqs) != 1 || !bytes.Equal(s.reqs[0].Message, append(rpcCall2(5), pattern(4*n)...)) {
				t.Fatalf("queue of %d, %d segments: the Call is not delivered as it was made: %+v", wrs, n, s.parsed())
			}
			s.log = nil
			r := s.reqs[0]
			result := &engineMemory{b: pattern(4 * n)}
			r.Answer.WithResults().Data = []verbs.SGE{{MR: result, Length: 4 * n}}
			r.Answer.Payload = [][]byte{rpcReply2(5)}
			for s.step(engine.Event{Kind: engine.EventReply, Request: r}); ; {
				if st := s.e.Stats(); st.SendQueueFilled > wrs {
					t.Fatalf("queue of %d, %d segments: %d entries in use", wrs, n, st.SendQueueFilled)
				}
				if len(s.out) > 0 && len(s.sent) == 0 {
					t.Fatalf("queue of %d, %d segments: released before the Reply: %v", wrs, n, s.out[0].Err)
				}
				if len(s.sent) == 0 && !s.await {
					t.Fatalf("queue of %d, %d segments: no completion is awaited, and the Reply waits", wrs, n)
				}
				if len(s.log) > n+1 {
					t.Fatalf("queue of %d, %d segments: a Write is posted twice: %q", wrs, n, s.log)
				}
				if !s.complete() {
					break
				}
			}
			if len(s.log) != n+1 || s.log[n] != verbs.Send.String() || !bytes.Equal(s.p.memory[4], result.b) {
				t.Errorf("queue of %d, %d segments: %q, want %d Writes of all the result, and a Send", wrs, n, s.log, n)
			}
			if len(s.out) != 1 || s.out[0].Err != nil || s.e.Stats().SendQueueFilled != 0 {
				t.Errorf("queue of %d, %d segments: %d Requests are released, %d entries in use", wrs, n, len(s.out), s.e.Stats().SendQueueFilled)
			}
		}
	}
}

// A grant waits for room in the send queue like any message.
func TestGrantWaitsForRoom(t *testing.T) {
	s := newSolo(t, 1, 0, 4, func(_ int, c *engine.Config) { c.SendWRs = 1 })
	m := peer2.Props(1)
	m.Credit = plenty
	s.receive(m.Bytes(), 0) // its answer takes the entry
	for range 4 {
		e := peer2.Err(9, peer2.ErrSystem)
		e.Credit = plenty
		s.receive(e.Bytes(), 0)
		if n := s.e.Stats().SendQueueFilled; n > 1 {
			t.Fatalf("%d entries are in use, there is one", n)
		}
	}
	if s.grants != 0 || !s.await {
		t.Errorf("%d grants are sent without room, completions awaited: %v", s.grants, s.await)
	}
	s.settle()
	if s.grants != 1 {
		t.Errorf("%d grants are sent, want 1", s.grants)
	}
}

// Effects.WantBuffers: as many as there are messages that wait for nothing but a send buffer.
func TestBuffersWanted(t *testing.T) {
	full := make([]byte, 4000) // and headers: a send buffer
	s := newBuffered(t, 1)
	var events []engine.Event
	for xid := range uint32(3) {
		events = append(events, engine.Event{Kind: engine.EventCall, Call: &engine.Call{XID: xid, Payload: [][]byte{rpcCall2(xid, full...)}}})
	}
	s.step(events...)
	if s.wanted != 2 {
		t.Errorf("three Calls and a buffer: %d further ones are wanted, want 2", s.wanted)
	}
	s = newBuffered(t, 1)
	s.call(7, pattern(11000)) // three parts
	if s.wanted != 2 {
		t.Errorf("three parts and a buffer: %d further ones are wanted, want 2", s.wanted)
	}
	s = newBuffered(t, 1)
	events = events[:1]
	for xid := range uint32(2) {
		events = append(events, engine.Event{Kind: engine.EventOther, Control: &engine.Control{Other: engine.Other{XID: 50 + xid, Type: 77}}})
	}
	s.step(events...)
	if s.wanted != 2 {
		t.Errorf("three messages and a buffer: %d further ones are wanted, want 2", s.wanted)
	}
	s = newBuffered(t, 1)
	events = nil
	for xid := range uint32(9) { // the peer grants fewer
		events = append(events, engine.Event{Kind: engine.EventCall, Call: &engine.Call{XID: xid, Payload: [][]byte{rpcCall2(xid, full...)}}})
	}
	s.step(events...)
	if s.wanted != 5 {
		t.Errorf("nine Calls, six credits and a buffer: %d further ones are wanted, want 5", s.wanted)
	}
}

// newBuffered returns a client with so many send buffers, which may borrow others, and 6 credits.
func newBuffered(t *testing.T, n int) *side {
	t.Helper()
	s := newSolo(t, 0, 9, 2, func(i int, c *engine.Config) {
		extended(i, c)
		c.MaxBorrowed = 20
		for range n {
			m := &engineMemory{b: make([]byte, 4096)}
			c.Send = append(c.Send, engine.Buffer{MR: m, Bytes: m.b})
		}
	})
	s.settle()
	m := peer2.Props(s.cfg.OfferXID)
	m.Credit = peer2.Word(9, 6)
	s.get(m)
	return s
}

// R287: A cancelled Call appears in Effects.Settled when its Reply has arrived or the connection is
// closed.
func TestSettledHasWhatACancelledCallLeaves(t *testing.T) {
	for _, ends := range []bool{false, true} {
		s := newSolo(t, 0, 2, 0, nil)
		two := peer2.Props(1)
		two.Credit = peer2.Word(3, 3) // a grant takes one
		s.get(two)
		c := s.call(5, nil)
		if n := s.e.Credits(); n != 2 {
			t.Errorf("%d Calls may be in progress, want 2", n)
		}
		s.step(engine.Event{Kind: engine.EventCancel, XID: 5, Call: c, Control: &engine.Control{Left: "memory"}})
		if credits := s.e.Credits(); len(s.settledOf) != 0 || credits != 1 {
			t.Errorf("settled %v at once, %d credits, want 1 of 2", s.settledOf, credits)
		}
		if ends {
			s.step(engine.Event{Kind: engine.EventBroken, Err: errors.New("lost")})
		} else {
			m := peer2.Reply(5, rpcReply2(5))
			m.Credit = peer2.Word(3, 2)
			s.get(m)
			if n := s.e.Credits(); n != 2 {
				t.Errorf("%d credits afterwards, want 2", n)
			}
		}
		if got := fmt.Sprint(s.settledOf); got != "[memory]" {
			t.Errorf("settled %s", got)
		}
	}
}
