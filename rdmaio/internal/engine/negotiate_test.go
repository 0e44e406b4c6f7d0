package engine_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest/peer2"
)

// versionsOf sets the versions of the end.
func versionsOf(numbers ...int) setup {
	return func(i int, c *engine.Config) { c.Versions = speaks(i, numbers...) }
}

// The answers to the offer of version 2. The client has made a Call before, which goes when there
// is a version (R42, R43, R178, R182, R184 to R186; A1, T96 to T98).
func TestOffer(t *testing.T) {
	const xid = 0xfffffff0
	for _, c := range []struct {
		name   string
		answer []byte
		alone  bool   // the client has version 2 alone
		want   uint32 // the version; 0: none yet
		fails  bool
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
		{name: "T98: a range without ours", answer: errVers(xid, 2, 5, 9, false), fails: true},
		{name: "T98: below all of ours", answer: errVers(xid, 2, 0, 0, false), fails: true},
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
			if c.fails {
				if !errors.Is(s.fail, engine.ErrNoVersion) || !errors.Is(first.Err, engine.ErrNoVersion) || first.Sent {
					t.Errorf("%v; the Call: %v, sent %v", s.fail, first.Err, first.Sent)
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

// T99: an offer without answer ends the connection after Config.OfferTimeout. With an answer there
// is no deadline.
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
				if m := s.parsed()[0]; m.Ceiling() != 4 || m.Credits() != 4 || m.Type != peer2.ConnProp {
					t.Errorf("%s: grants %d of %d credits, want 4 of 4", name, m.Credits(), m.Ceiling())
				}
			}
			if s.version != uint32(then) || !mine.Sent || len(s.posts) != len(s.cfg.Recv) {
				t.Errorf("%s: version %v, want %d; Call sent %v, %d Receives", name, s.version, then, mine.Sent, len(s.posts))
			}
		}
	}
}

// R310: refusals of versions cost a bounded amount of memory, and end the connection only if there
// are more than Config.MaxErrors in a second.
func TestVersionFlood(t *testing.T) {
	s := newSolo(t, 1, 0, 2, nil)
	s.counting = false
	bad := peer2.Message{Vers: 7}.Bytes()
	for range 10000 { // nothing completes
		s.receive(bad, 0)
	}
	if st := s.e.Stats(); s.fail != nil || len(s.sent) != 4 || st.ErrorMessages > 10 || st.DroppedMessages < 9990 {
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

// R188, T101: a message of another version, when one is fixed, ends the connection. The server says
// before which version it is.
func TestFlip(t *testing.T) {
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
