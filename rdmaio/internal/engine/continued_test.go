package engine_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R153 to R155, R163 to R166; T86: Calls and Replies of any length arrive as they were made, both
// ways at the same time, also with one credit (T92).
func TestContinuedMessagesArriveWhole(t *testing.T) {
	for _, credits := range []int{1, 2, 5} {
		for _, n := range []int{0, 1, 4059, 4060, 4061, 8100, 8120, 8121, 30000, 65528} {
			p := newPair(t, [2]int{credits, credits}, [2]int{credits, credits}, nil)
			calls := [2]*engine.Call{p.ends[0].call(1, pattern(n)), p.ends[1].call(1, pattern(n))}
			p.run()
			for i, s := range p.ends {
				if len(s.reqs) != 1 {
					t.Fatalf("%d credits, %d bytes: end %d has %d Calls; %v", credits, n, i, len(s.reqs), s.fail)
				}
				if got := s.reqs[0].Message; !bytes.Equal(got[8:], pattern(n)) {
					t.Errorf("%d bytes: end %d receives %d others", n, i, len(got))
				}
				s.answer(pattern(n))
			}
			p.run()
			for i, c := range calls {
				if len(p.ends[i].done) != 1 || c.Err != nil || !bytes.Equal(c.Reply[8:], pattern(n)) {
					t.Errorf("%d credits, %d bytes: Call of end %d: %v, %d bytes", credits, n, i, c.Err, len(c.Reply))
				}
			}
			st := p.ends[0].e.Stats()
			if cont := 8+n+36 > 4096; (st.PartsSent > 1) != cont || (st.PartsReceived > 1) != cont {
				t.Errorf("%d bytes: %d parts sent, %d received", n, st.PartsSent, st.PartsReceived)
			}
			p.settled()
		}
	}
}

// T90; R162, R210: a message over Config.MaxContinued, or one for which there is no memory, is
// passed over to its end. A Call gets SYSTEM, the Call of a Reply ends, and the connection lives.
func TestContinuedTooLong(t *testing.T) {
	for name, change := range map[string]setup{
		"limit":  func(_ int, c *engine.Config) { c.MaxContinued = 10000 },
		"memory": func(_ int, c *engine.Config) { c.Reserve = func(n int) bool { return n <= 0 } },
	} {
		p := newPair(t, [2]int{2, 0}, [2]int{0, 2}, change)
		long := p.ends[0].call(1, pattern(12000))
		p.run()
		var refused *engine.PeerError
		if !errors.As(long.Err, &refused) || refused.Body.Code != header.ErrSystem {
			t.Errorf("%s: the Call ended with %v", name, long.Err)
		}
		short := p.ends[0].call(2, pattern(4))
		p.run()
		p.ends[1].answer(pattern(12000))
		p.run()
		var f *header.Fault
		if !errors.As(short.Err, &f) || f.Code != header.FaultLong {
			t.Errorf("%s: a Reply that is too long: %v", name, short.Err)
		}
		last := p.ends[0].call(3, nil)
		p.run()
		p.ends[1].answer(nil)
		p.run()
		if last.Err != nil || len(p.ends[0].done) != 3 {
			t.Errorf("%s: the next Call: %v, %d ended", name, last.Err, len(p.ends[0].done))
		}
		p.settled()
	}
}

// R164, R158; T94: the chunks of a continued Call are in its last part. Its data are put into the
// place that the bytes of all parts give. The Writes of a continued Reply go before its last part,
// which alone invalidates the key that the Call named (R260).
func TestContinuedWithChunks(t *testing.T) {
	p := newPair(t, [2]int{2, 0}, [2]int{0, 2}, nil)
	const at, n = 5000, 8
	p.memory[7], p.memory[8] = []byte("item 123"), make([]byte, 16)
	c := &engine.Call{XID: 5, Payload: [][]byte{rpcHead(5, header.Call), pattern(9000)}, NamedKey: 8}
	c.WithOffer().Lists.Reads = []header.ReadSegment{{Position: at, Segment: header.Segment{Handle: 7, Length: n}}}
	copy(c.WithOffer().Lists.AddWrite(1), []header.Segment{{Handle: 8, Length: 16}})
	p.ends[0].step(engine.Event{Kind: engine.EventCall, Call: c})
	p.run()
	s := p.ends[1]
	if len(s.reqs) != 1 {
		t.Fatalf("%d delivered: %v", len(s.reqs), s.fail)
	}
	whole := append(rpcHead(5, header.Call), pattern(9000)...)
	want := append(append(append([]byte(nil), whole[:at]...), "item 123"...), whole[at:]...)
	if !bytes.Equal(s.reqs[0].Message, want) {
		t.Error("the Call is not as it was made")
	}
	s.log = nil
	m := &engineMemory{b: []byte("a result")}
	s.reqs[0].Answer.WithResults().Data = []verbs.SGE{{MR: m, Length: 8}}
	r := s.answer(pattern(9000))
	p.run()
	if got := s.log[len(s.log)-2:]; got[0] != verbs.RDMAWrite.String() || got[1] != verbs.SendWithInvalidate.String() {
		t.Errorf("requests %v: want the Write before the last part", s.log)
	}
	if c.Err != nil || c.InvalidatedKey != 8 || !bytes.Equal(c.Reply[8:], pattern(9000)) || string(p.memory[8][:8]) != "a result" {
		t.Errorf("Reply of %d bytes: %v, key %d", len(c.Reply), c.Err, c.InvalidatedKey)
	}
	if len(s.out) != 1 || s.out[0] != r || r.Err != nil {
		t.Error("the answer is not released")
	}
	p.settled()
}

// ADR 0049: a Call that is cancelled while its parts are sent arrives whole, and the memory of its
// caller is its own at once.
func TestCancelInSequence(t *testing.T) {
	for parts := range 4 {
		p := newPair(t, [2]int{1, 0}, [2]int{0, 1}, nil)
		p.run()
		mine := pattern(12200)
		c := &engine.Call{XID: 9, Payload: [][]byte{rpcHead(9, header.Call), mine}}
		copy(c.WithOffer().Lists.AddWrite(1), []header.Segment{{Handle: 8, Length: 16}})
		p.ends[0].step(engine.Event{Kind: engine.EventCall, Call: c})
		for range parts {
			p.ends[0].deliver()
			p.ends[1].deliver()
		}
		p.ends[0].step(engine.Event{Kind: engine.EventCancel, XID: 9, Call: c})
		if len(p.ends[0].done) != 1 || !c.Abandoned || !c.Sent {
			t.Fatalf("after %d parts: cancelled %+v", parts, c)
		}
		clear(mine)
		clear(c.Payload[0])
		clear(c.Lists.Writes[0])
		p.run()
		if len(p.ends[1].reqs) != 1 || !bytes.Equal(p.ends[1].reqs[0].Message, append(rpcHead(9, header.Call), pattern(12200)...)) {
			t.Fatalf("after %d parts: the Call does not arrive as it was made", parts)
		}
		if l := p.ends[1].reqs[0].Offered().Writes; len(l) != 1 || l[0][0].Handle != 8 {
			t.Errorf("after %d parts: write chunks %v", parts, l)
		}
		p.ends[1].answer(nil)
		p.run()
		next := p.ends[0].call(10, nil)
		p.run()
		p.ends[1].answer(nil)
		p.run()
		if next.Err != nil || len(p.ends[0].done) != 2 {
			t.Errorf("after %d parts: the next Call: %v", parts, next.Err)
		}
		p.settled()
	}
}

// T93; R284: a connection that is lost in mid-sequence, at either end, gives the memory of the
// parts back, and each RPC ends once.
func TestLostInSequence(t *testing.T) {
	why := errors.New("lost")
	for parts := range 8 {
		p := newPair(t, [2]int{2, 0}, [2]int{0, 2}, nil)
		p.run()
		first := p.ends[0].call(1, pattern(4))
		p.run()
		p.ends[1].answer(pattern(20000))
		second := p.ends[0].call(2, pattern(20000))
		for range parts {
			p.ends[0].deliver()
			p.ends[1].deliver()
		}
		for _, s := range p.ends {
			s.step(engine.Event{Kind: engine.EventBroken, Err: why})
			if s.reserved != 0 {
				t.Errorf("after %d parts end %d has %d bytes", parts, s.i, s.reserved)
			}
		}
		if len(p.ends[0].done) != 2 || first.Err != nil && !errors.Is(first.Err, why) || !errors.Is(second.Err, why) {
			t.Errorf("after %d parts: %d ended, %v, %v", parts, len(p.ends[0].done), first.Err, second.Err)
		}
		if len(p.ends[1].out) != 1 {
			t.Errorf("after %d parts: %d Requests released", parts, len(p.ends[1].out))
		}
	}
}

// A drain waits for the last part of a message that is being sent, however few credits there are.
func TestDrainInSequence(t *testing.T) {
	why := errors.New("drained")
	p := newPair(t, [2]int{1, 0}, [2]int{0, 1}, nil)
	c := p.ends[0].call(1, nil)
	p.run()
	r := p.ends[1].answer(pattern(20000))
	p.ends[1].step(engine.Event{Kind: engine.EventDrain, Err: why})
	p.run()
	if c.Err != nil || !bytes.Equal(c.Reply[8:], pattern(20000)) || !errors.Is(p.ends[1].fail, why) || r.Err != nil {
		t.Errorf("the Call: %v, %d bytes; the server: %v, %v", c.Err, len(c.Reply), p.ends[1].fail, r.Err)
	}
}

// R155: properties wait for the end of the message that is being sent in parts, and Calls and
// answers do. The pair checks it.
func TestNothingInSequence(t *testing.T) {
	p := newPair(t, [2]int{2, 1}, [2]int{1, 2}, nil)
	p.run()
	for xid := uint32(1); xid < 6; xid++ {
		p.ends[0].call(xid, pattern(20000))
		p.ends[1].call(xid, pattern(20000))
		p.ends[0].step(engine.Event{Kind: engine.EventProperties, Control: &engine.Control{}})
		p.ends[0].deliver()
		p.ends[1].deliver()
		p.ends[1].step(engine.Event{Kind: engine.EventProperties, Control: &engine.Control{}})
		p.run()
		for _, s := range p.ends {
			for len(s.reqs) > 0 {
				s.answer(pattern(20000))
			}
		}
	}
	p.run()
	if len(p.ends[0].done) != 5 || len(p.ends[1].done) != 5 {
		t.Errorf("%d and %d Calls end", len(p.ends[0].done), len(p.ends[1].done))
	}
	p.settled()
}
