package engine_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// versionsOf sets the versions of the end.
func versionsOf(numbers ...int) setup {
	return func(i int, c *engine.Config) { c.Versions = speaks(i, numbers...) }
}

// The answers to the offer of version 2. The client has made a Call before, which goes when there
// is a version (R42, R43, R178, R182, R184 to R186; A1, T96 to T98).
func TestClientActsOnAnswersToItsOffer(t *testing.T) {
	const xid = 0xfffffff0
	for _, c := range []struct {
		name   string
		answer []byte
		alone  bool   // the client has version 2 alone
		want   uint32 // the version; 0: none yet
		fails  bool
		says   string // of the failure
	}{
		{name: "properties", answer: answers(peer2.Props(xid)), want: 2},
		{name: "R43: ERROR of version 2", answer: answers(peer2.Err(xid, peer2.ErrBadXDR)), want: 2},
		{name: "R43: properties that are no XDR", answer: answers(peer2.Message{XID: xid, Type: peer2.ConnProp, Payload: []byte{1}}), want: 2},
		{name: "a grant", answer: answers(peer2.Grant()), want: 2},
		{name: "T96: ERR_VERS", answer: errVers(xid, 2, 1, 1, false), want: 1},
		{name: "T97: with flags", answer: errVers(xid, 2, 1, 1, true), want: 1},
		{name: "A2: of version 1", answer: errVers(xid, 1, 1, 1, false), want: 1},
		{name: "T98: the version refused is in the range", answer: errVers(xid, 2, 1, 2, false), want: 1},
		{name: "T98: all versions", answer: errVers(xid, 2, 0, ^uint32(0), false), want: 1},
		{name: "T98: a range without ours", answer: errVers(xid, 2, 5, 9, false), fails: true, says: "the peer supports versions 5 to 9, this side wants 2, 1"},
		{name: "T98: below all of ours", answer: errVers(xid, 2, 0, 0, false), fails: true, says: "the peer supports version 0, this side wants 2, 1"},
		{name: "T98: only the version refused", answer: errVers(xid, 2, 2, 2, false), fails: true},
		{name: "T98: an empty range", answer: errVers(xid, 2, 2, 1, false), fails: true},
		{name: "R185: no version in common", answer: errVers(xid, 2, 1, 1, false), alone: true, fails: true},
		{name: "a short message", answer: []byte("nonsense")},
		{name: "a message of version 1", answer: version1(xid, 1, 0, rpcReply2(xid))},
	} {
		t.Run(c.name, func(t *testing.T) {
			versions := versionsOf(2, 1)
			if c.alone {
				versions = versionsOf(2)
			}
			p := &pair{t: t}
			s := p.newSide(0, 2, 0, versions)
			first := s.call(7, nil)
			if len(s.sent) != 0 {
				t.Fatal("a Call goes before the offer")
			}
			s.step(engine.Event{Kind: engine.EventOpen})
			s.settle()
			offer := s.sent[0]
			if m := s.only(); m.Type != peer2.ConnProp || m.XID != xid || len(offer) < 28 || len(offer) > 1024 {
				t.Fatalf("offers %+v in %d bytes", m, len(offer))
			}
			s.receive(c.answer, 0)
			s.settle()
			if (s.fail != nil) != c.fails {
				t.Fatalf("ended with %v", s.fail)
			}
			if n := s.e.Stats().ErrorMessages; (n > 0) != (c.fails || c.want == 1) {
				t.Errorf("%d ERRORs are counted", n)
			}
			if c.fails {
				if !errors.Is(s.fail, engine.ErrNoVersion) || !errors.Is(first.Err, engine.ErrNoVersion) || first.Sent {
					t.Errorf("%v; the Call: %v, sent %v", s.fail, first.Err, first.Sent)
				}
				if !strings.Contains(s.fail.Error(), c.says) {
					t.Errorf("ended with %q, want %q in it", s.fail, c.says)
				}
				return
			}
			if c.want == 0 {
				if s.version != 0 || len(s.sent) != 0 || s.e.Stats().DroppedMessages != 1 {
					t.Fatalf("version %v, %d messages", s.version, len(s.sent))
				}
				s.receive(errVers(xid, 2, 1, 1, false), 0) // the answer still counts
				s.settle()
				c.want = 1
			}
			if s.version != c.want || len(s.sent) != 1 || binary.BigEndian.Uint32(s.sent[0][4:]) != c.want {
				t.Fatalf("version %v, %d messages, want %d and the Call", s.version, len(s.sent), c.want)
			}
			// R42, R190
			if want := map[uint32]int{1: header.LeastInline, 2: 4096}[c.want]; s.terms.Send != want {
				t.Errorf("messages of %d bytes, want %d", s.terms.Send, want)
			}
			if c.want == 1 { // R188: on the same connection
				s.receive(version1(7, 2, 0, rpcReply2(7)), 0)
			} else {
				s.get(peer2.Reply(7, rpcReply2(7)))
			}
			if first.Err != nil || len(s.done) != 1 || len(s.posts) != len(s.cfg.Recv) {
				t.Errorf("the Call: %v, %d ended, %d Receives", first.Err, len(s.done), len(s.posts))
			}
		})
	}
}

// answers encodes a message that grants credits.
func answers(m peer2.Message) []byte {
	m.Credit = plenty
	return m.Bytes()
}

// T99: an offer without answer closes the connection after Config.OfferTimeout. With an answer
// there is no deadline.
func TestNoAnswer(t *testing.T) {
	s := newSolo(t, 0, 1, 0, nil)
	if s.want != time.Second {
		t.Fatalf("deadline %v, want %v", s.want, s.cfg.OfferTimeout)
	}
	s.p.now = s.want - 1
	s.step(engine.Event{Kind: engine.EventTimer})
	if s.fail != nil {
		t.Fatal("ended early")
	}
	s.p.now++
	s.step(engine.Event{Kind: engine.EventTimer})
	if !errors.Is(s.fail, engine.ErrNoAnswer) {
		t.Errorf("ended with %v", s.fail)
	}
	s = newTalking(t, 0, 1, 0, nil)
	s.p.now = time.Hour
	s.step(engine.Event{Kind: engine.EventTimer})
	if s.fail != nil || s.want != 0 {
		t.Errorf("after an answer: %v, deadline %v", s.fail, s.want)
	}
}

// R183, R187, R195; A2: a server refuses versions that it has not, in 28 bytes, and stays open. It
// keeps to the first version that it has, with the credits that its Receives allow (R172).
func TestServerVersions(t *testing.T) {
	for name, c := range map[string]struct {
		versions  []int
		low, high uint32
	}{
		"both": {[]int{1, 2}, 1, 2}, "both, turned": {[]int{2, 1}, 1, 2}, "version 2": {[]int{2}, 2, 2},
	} {
		for _, then := range c.versions {
			s := newSolo(t, 1, 1, 3, versionsOf(c.versions...))
			mine := s.call(9, nil)
			for _, vers := range []uint32{0xffffffff, 3, 7, 1 << 31} {
				s.receive(peer2.Message{XID: 5, Vers: vers, Payload: rpcCall2(5)}.Bytes(), 0)
				s.settle()
				if diff := cmp.Diff(errVers(5, vers, c.low, c.high, false), s.sent[0]); diff != "" {
					t.Errorf("%s: answer to version %d: %s", name, vers, diff)
				}
				s.sent = nil
			}
			s.receive([]byte("short"), 0)
			// No answer to an ERROR.
			s.receive(peer2.Message{XID: 5, Vers: 9, Type: peer2.Error, Code: 1}.Bytes(), 0)
			if len(s.sent) != 0 || s.version != 0 || s.fail != nil {
				t.Fatalf("%s: %d messages, version %d, %v", name, len(s.sent), s.version, s.fail)
			}
			if st := s.e.Stats(); st.FaultyMessages != 5 || st.DroppedMessages != 1 {
				t.Errorf("%s: %d faulty, %d dropped, want 5 of other versions and a short one", name, st.FaultyMessages, st.DroppedMessages)
			}
			s.counting, s.granted = then == 2, 1
			s.received, s.used, s.allowed = 0, 0, 0
			if then == 1 {
				s.receive(version1(6, 9, 0, rpcCall2(6)), 0)
				s.answer(nil)
				s.settle()
				if word := binary.BigEndian.Uint32(s.sent[len(s.sent)-1][8:]); word != 3 {
					t.Errorf("%s: grants %d credits of version 1, want 3", name, word)
				}
			} else {
				s.get(peer2.Props(6))
				if m := s.parsed()[0]; m.Ceiling() != 4+1 || m.Credits() != 4 || m.Type != peer2.ConnProp {
					t.Errorf("%s: grants %d of %d credits, want 4 of 5, which shows what account it is", name, m.Credits(), m.Ceiling())
				}
			}
			if s.version != uint32(then) || !mine.Sent || len(s.posts) != len(s.cfg.Recv) {
				t.Errorf("%s: version %v, want %d; Call sent %v, %d Receives", name, s.version, then, mine.Sent, len(s.posts))
			}
		}
	}
}

// An end that accepted waits for the first message: it offers no version when the connection opens
// (A1).
func TestServerOffersNothing(t *testing.T) {
	s := newSolo(t, 1, 1, 2, nil)
	s.step(engine.Event{Kind: engine.EventOpen})
	if s.settle(); len(s.sent) != 0 || s.want != 0 || s.version != 0 {
		t.Errorf("%d messages, a deadline of %v, version %d", len(s.sent), s.want, s.version)
	}
	s.get(peer2.Props(1))
	if m := s.only(); m.Type != peer2.ConnProp || s.version != 2 {
		t.Errorf("answers %+v in version %d", m, s.version)
	}
}

// What the device allows for RDMA Reads holds with each version.
func TestDeviceLimitsHoldInEachVersion(t *testing.T) {
	for _, numbers := range [][]int{{1}, {2}} {
		s := newSolo(t, 0, 1, 0, versionsOf(numbers...))
		s.control(engine.EventTerms, engine.Control{Terms: &header.Terms{Send: 2048, Recv: 2048, Reads: 3, NoReadChunks: true, ReadsUnknown: true}})
		if numbers[0] == 2 {
			s.get(peer2.Props(s.cfg.OfferXID))
		}
		if got := s.terms; s.version != uint32(numbers[0]) || got.Reads != 3 || !got.NoReadChunks || !got.ReadsUnknown {
			t.Errorf("version %d has %d Reads, no read chunks %v, Reads unknown %v", s.version, got.Reads, got.NoReadChunks, got.ReadsUnknown)
		}
	}
}

// R310: refusals of versions cost a bounded amount of memory, and end the connection only if there
// are more than Config.MaxErrors in a second.
func TestVersionFlood(t *testing.T) {
	s := newSolo(t, 1, 0, 2, nil)
	s.counting = false
	bad := peer2.Message{Vers: 7}.Bytes()
	// Nothing completes: four ERRORs are in send buffers, and one more than Receives waits.
	for range 10000 {
		s.receive(bad, 0)
	}
	if st := s.e.Stats(); s.fail != nil || len(s.sent) != 4 || st.ErrorMessages != 9 || st.DroppedMessages != 9991 {
		t.Errorf("%v, %d sent, %+v", s.fail, len(s.sent), st)
	}
	s = newSolo(t, 1, 0, 2, func(_ int, c *engine.Config) { c.MaxErrors = 5 })
	s.counting = false
	for n := range 6 {
		if s.fail != nil {
			t.Fatalf("ended after %d refusals", n)
		}
		s.receive(bad, 0)
		s.settle()
	}
	if !errors.Is(s.fail, engine.ErrTooManyErrors) {
		t.Errorf("ended with %v", s.fail)
	}
}

// R188, T101: a message of another version than the fixed one closes the connection. A server first
// answers which version is fixed.
func TestOtherVersionEndsTheConnection(t *testing.T) {
	for _, fixed := range []uint32{1, 2} {
		other := version1(3, 2, 0, rpcCall2(3))
		if fixed == 1 {
			other = peer2.Call(3, rpcCall2(3)).Bytes()
		}
		s := newSolo(t, 1, 0, 2, versionsOf(1, 2))
		s.counting = false
		if fixed == 1 {
			s.receive(version1(1, 2, 0, rpcCall2(1)), 0)
			s.answer(nil)
		} else {
			s.get(peer2.Props(1))
		}
		s.settle()
		s.reqs, s.sent = nil, nil
		s.receive(other, 0)
		if diff := cmp.Diff([][]byte{errVers(3, 3-fixed, fixed, fixed, false)}, s.sent); diff != "" {
			t.Errorf("server of version %d: %s", fixed, diff)
		}
		s.settle()
		if f := new(header.Fault); !errors.As(s.fail, &f) || f.Code != header.FaultVersion || len(s.reqs) != 0 {
			t.Errorf("server of version %d: ended with %v", fixed, s.fail)
		}

		s = newSolo(t, 0, 2, 2, nil)
		s.counting = false
		if fixed == 1 {
			s.receive(errVers(s.cfg.OfferXID, 2, 1, 1, false), 0)
		} else {
			s.get(peer2.Props(1))
		}
		c := s.call(3, nil)
		s.settle()
		s.receive(other, 0)
		if f := new(header.Fault); !errors.As(s.fail, &f) || f.Code != header.FaultVersion || c.Err == nil {
			t.Errorf("client of version %d: ended with %v", fixed, s.fail)
		}
	}
}

// R188, T101: so it is at an end that has version 2 alone. The message is counted as one fault.
func TestFlipOfOneVersion(t *testing.T) {
	for i := range 2 {
		s := newTalking(t, i, 2*(1-i), 2*i, versionsOf(2))
		s.counting = false
		s.receive(version1(3, 2, 0, rpcCall2(3)), 0)
		s.settle()
		if f := new(header.Fault); !errors.As(s.fail, &f) || f.Code != header.FaultVersion || s.e.Stats().FaultyMessages != 1 {
			t.Errorf("end %d: ended with %v, %d faults", i, s.fail, s.e.Stats().FaultyMessages)
		}
	}
}

// A client that prefers version 1, or has no other, offers nothing: its Calls go at once.
func TestNoOffer(t *testing.T) {
	for _, numbers := range [][]int{{1}, {1, 2}} {
		s := newSolo(t, 0, 1, 0, versionsOf(numbers...))
		s.counting = false
		if len(s.sent) != 0 || s.version != 1 || s.want != 0 {
			t.Errorf("versions %v: %d messages, version %d, deadline %v", numbers, len(s.sent), s.version, s.want)
		}
		s.call(3, nil)
		if len(s.sent) != 1 || binary.BigEndian.Uint32(s.sent[0][4:]) != 1 {
			t.Errorf("versions %v: %d messages", numbers, len(s.sent))
		}
	}
}

// What waits to be sent in the version that was refused is not sent in another.
func TestFallBackForgets(t *testing.T) {
	s := newSolo(t, 0, 1, 0, nil)
	s.settle()
	s.sent = nil
	s.control(engine.EventProperties, engine.Control{Props: []header.Property{{ID: 500}}})
	s.receive(errVers(s.cfg.OfferXID, 2, 1, 1, false), 0)
	s.settle()
	if len(s.sent) != 0 || s.version != 1 || s.fail != nil {
		t.Errorf("version %d: %d messages, %v", s.version, len(s.sent), s.fail)
	}
}

// R171, R172: messages that come before the version is known do not use Receives that can be
// granted: each Call after them keeps its Receive, or is copied, as it would without them.
func TestReceivesBeforeTheVersion(t *testing.T) {
	var want []int
	for _, before := range []int{0, 1, 7} {
		s := newSolo(t, 1, 0, 1, nil)
		s.counting = false
		for range before {
			s.receive([]byte("short"), 0)
		}
		s.received, s.used, s.allowed, s.granted = 0, 0, 0, 1
		s.counting = true
		s.get(peer2.Props(1))
		var posts []int
		for xid := uint32(1); xid < 4; xid++ {
			s.get(peer2.Call(xid, rpcCall2(xid)))
			posts = append(posts, len(s.posts))
			s.answer(nil)
			s.settle()
		}
		if want == nil {
			want = posts
		}
		if diff := cmp.Diff(want, posts); diff != "" || s.fail != nil {
			t.Errorf("after %d short messages: Receives that are posted while a Call is served: %s; %v", before, diff, s.fail)
		}

		c := newSolo(t, 0, 1, 0, nil)
		c.settle()
		for range before {
			c.receive([]byte("short"), 0)
		}
		c.get(peer2.Props(c.cfg.OfferXID))
		if n := c.e.Stats().PostedRecvs; n != len(c.cfg.Recv) || len(c.posts) != n {
			t.Errorf("after %d short messages the client has %d Receives", before, n)
		}
	}
}

// A connection is lost for the provider's reason, not for the flushed request before it.
func TestFlushedIsNoReason(t *testing.T) {
	why := errors.New("the reason")
	s := newTalking(t, 0, 1, 0, nil)
	s.call(5, nil)
	wc := s.completed[0]
	wc.Status = verbs.StatusFlushed
	s.step(completion(wc))
	if s.fail != nil {
		t.Fatalf("ended with %v", s.fail)
	}
	s.step(engine.Event{Kind: engine.EventBroken, Err: why})
	if !errors.Is(s.fail, why) {
		t.Errorf("ended with %v", s.fail)
	}
}
