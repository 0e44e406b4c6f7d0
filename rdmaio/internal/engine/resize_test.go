package engine_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// control passes an event with these inputs.
func (s *side) control(kind engine.EventKind, c engine.Control) {
	s.p.t.Helper()
	s.step(engine.Event{Kind: kind, Control: &c})
}

// sizes returns the sizes of the Receives that are posted.
func (s *side) sizes() (list []int) {
	for _, i := range s.posts {
		list = append(list, s.posted[i])
	}
	return list
}

// R237, R238: a larger size of Receives holds for each when it is posted next, and for the terms
// when no smaller one is posted. A smaller one holds for the terms at once. Each change is reported
// one time.
func TestReceiveSize(t *testing.T) {
	if diff := cmp.Diff([]int{4096, 4096, 4096, 4096}, newTalking(t, 1, 0, 2, nil).sizes()); diff != "" {
		t.Errorf("without Config.ReceiveSize: %s", diff)
	}
	s := newTalking(t, 1, 0, 2, func(_ int, c *engine.Config) { c.ReceiveSize = 2000 })
	if diff := cmp.Diff([]int{2000, 2000, 2000, 2000}, s.sizes()); diff != "" || s.terms.Recv != 2000 {
		t.Fatalf("%s; the terms say %d", diff, s.terms.Recv)
	}
	s.control(engine.EventReceiveSize, engine.Control{Size: 3000})
	s.get(peer2.Call(1, rpcCall2(1))) // it keeps its Receive, which counts when it is posted again
	for range 3 {
		if len(s.resized) != 0 || s.terms.Recv != 2000 {
			t.Fatalf("reported %v, the terms say %d, while Receives of %v are posted", s.resized, s.terms.Recv, s.sizes())
		}
		s.get(peer2.Err(99, peer2.ErrSystem))
	}
	if diff := cmp.Diff([]int{3000}, s.resized); diff != "" || s.terms.Recv != 3000 {
		t.Errorf("%s; the terms say %d", diff, s.terms.Recv)
	}
	s.answer(nil)
	s.settle()
	if diff := cmp.Diff([]int{3000, 3000, 3000, 3000}, s.sizes()); diff != "" {
		t.Error(diff)
	}
	s.get(peer2.Err(99, peer2.ErrSystem))
	for _, c := range []struct{ wish, got int }{{1000, 1000}, {0, 1}, {-7, 1}} {
		s.resized = nil
		s.control(engine.EventReceiveSize, engine.Control{Size: c.wish})
		if diff := cmp.Diff([]int{c.got}, s.resized); diff != "" || s.terms.Recv != c.got {
			t.Errorf("size %d: %s; the terms say %d", c.wish, diff, s.terms.Recv)
		}
	}
	s.resized = nil
	s.control(engine.EventReceiveSize, engine.Control{Size: 1 << 20}) // more than the memory has
	for range 4 {
		s.get(peer2.Err(99, peer2.ErrSystem))
	}
	if diff := cmp.Diff([]int{4096}, s.resized); diff != "" || s.terms.Recv != 4096 {
		t.Errorf("%s; the terms say %d", diff, s.terms.Recv)
	}
}

// A larger size that is taken back before all Receives had it changes nothing.
func TestReceiveSizeTakenBack(t *testing.T) {
	s := newTalking(t, 1, 0, 2, func(_ int, c *engine.Config) { c.ReceiveSize = 2000 })
	s.control(engine.EventReceiveSize, engine.Control{Size: 3000})
	s.get(peer2.Err(99, peer2.ErrSystem))
	s.control(engine.EventReceiveSize, engine.Control{Size: 2000})
	if diff := cmp.Diff([]int{2000}, s.resized); diff != "" || s.terms.Recv != 2000 {
		t.Errorf("%s; the terms say %d", diff, s.terms.Recv)
	}
}

// EventSendSize holds in place of the properties, up to the size of the send buffers. What the
// properties say stays in Advertised.
func TestSendSize(t *testing.T) {
	s := newTalking(t, 1, 0, 2, nil)
	for _, c := range []struct{ size, want int }{{1500, 1500}, {1 << 20, 4096}, {0, 4096}, {4095, 4095}} {
		s.control(engine.EventSendSize, engine.Control{Size: c.size})
		if s.terms.Send != c.want || s.terms.Advertised != 4096 {
			t.Errorf("size %d: messages of %d bytes, %d by the properties", c.size, s.terms.Send, s.terms.Advertised)
		}
	}
	// A larger one than the properties allow, with buffers for it.
	s = newTalking(t, 1, 0, 2, func(i int, c *engine.Config) {
		c.Versions = wide()
		for range 4 {
			m := &engineMemory{b: make([]byte, 8192)}
			c.Send = append(c.Send, engine.Buffer{MR: m, Bytes: m.b})
		}
	})
	s.control(engine.EventSendSize, engine.Control{Size: 8000})
	if s.terms.Send != 8000 || s.terms.Advertised != 4096 {
		t.Errorf("messages of %d bytes, %d by the properties", s.terms.Send, s.terms.Advertised)
	}
}

// R240, R241: EventRestrict allows less than the terms and never more. It stops the end that
// answers forward Calls from invalidating keys, and not the other end.
func TestRestrictNeverAllowsMoreThanTheTerms(t *testing.T) {
	levels := []header.Reverse{header.ReverseGeneral, header.ReverseInline, header.ReverseNone}
	for i := range 2 {
		for _, by := range levels {
			s := newSolo(t, i, 1, 1, nil)
			if i == 1 {
				s.get(peer2.Props(1, peer2.Prop(peer2.Reverse, 2-uint32(by))))
			} else {
				s.get(peer2.Props(s.cfg.OfferXID))
				by = header.ReverseGeneral // as its own properties say
			}
			if s.terms.Reverse != by || !s.terms.RemoteInvalidate {
				t.Fatalf("end %d: %+v, want reverse Calls of level %d", i, s.terms, by)
			}
			for _, r := range levels {
				what := fmt.Sprintf("end %d, terms of level %d, restricted to %d", i, by, r)
				s.control(engine.EventRestrict, engine.Control{Restrict: engine.Restrict{NoInvalidate: true, Reverse: &r}})
				if want := max(by, r); s.terms.Reverse != want {
					t.Errorf("%s: level %d", what, s.terms.Reverse)
				}
				if s.terms.RemoteInvalidate != (i == 0) {
					t.Errorf("%s: invalidates %v", what, s.terms.RemoteInvalidate)
				}
				s.control(engine.EventRestrict, engine.Control{})
				if s.terms.Reverse != by || !s.terms.RemoteInvalidate {
					t.Errorf("%s, then not: %+v", what, s.terms)
				}
			}
		}
	}
}
