package udp

import (
	"net/netip"
	"runtime/debug"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A Request takes memory for its Call, and its handler may reserve more. The share of its source in
// a third of MaxMemory limits that, and another third. All is given back with the answer.
// Another source has memory at the same time.
func TestRequestsTakeMemoryOfTheirSource(t *testing.T) {
	const each = 44
	s := newServer(t, nothing, &Config{MaxMemory: 3*16*each + 9})
	other := netip.MustParseAddrPort("192.0.2.2:9")
	for round := range uint64(2) {
		var held []*request
		admit := func(xid uint32, from netip.AddrPort) bool {
			r := s.admit(xid, callTo(xid, 4), from, s.local, nil)
			if r != nil {
				held = append(held, r)
			}
			return r != nil
		}
		for xid := range uint32(8) { // half of 16
			if !admit(xid, farPeer) {
				t.Fatalf("round %d: Request %d was not admitted", round, xid)
			}
		}
		if admit(8, farPeer) || !admit(1, other) || admit(2, other) {
			t.Errorf("round %d: a source has more or less than its share", round)
		}
		if n := s.memory.Used(); n != 9*each {
			t.Errorf("round %d: %d bytes are used, want %d", round, n, 9*each)
		}
		if st := s.Stats(); st.Excess != 2*(round+1) {
			t.Errorf("round %d: %+v", round, st)
		}
		held[0].Drop(nil)
		held[8].Drop(nil)
		if held = held[1:8]; !held[0].Reserve(each/2) || held[0].Reserve(9*each) || s.memory.Used() != 7*each+each/2 {
			t.Errorf("round %d: %d bytes are used after a part was given back", round, s.memory.Used())
		}
		for _, r := range held {
			r.Drop(nil)
		}
		if n := s.memory.Used(); n != 0 {
			t.Errorf("round %d: %d bytes are used in the end", round, n)
		}
	}
	unlimited := newServer(t, nothing, &Config{MaxMemory: -1})
	r := unlimited.admit(1, callTo(1, 4), farPeer, unlimited.local, nil)
	if !r.Reserve(1 << 30) {
		t.Error("there is a limit")
	}
	r.Drop(nil)
}

// bounded is a Handler whose replies have a bound.
type bounded struct{ oncrpc.HandlerFunc }

func (bounded) ReplyBound(_, _, _ uint32) int { return 1000 }

// Handlers without a bound wait while the reserve is used: for each source a quarter of
// MaxRequests. Calls beyond that are ignored. Handlers with a bound run.
func TestHandlersWithoutABoundWait(t *testing.T) {
	s := newServer(t, nothing, &Config{MaxMemory: 3 << 20, MaxRequests: 8})
	others := s.memory.Join(admission.Source{}).Ticket(0)
	others.Reply(1 << 20) // more than the share has room for
	ran := make(chan uint32, 8)
	h := func(r *oncrpc.Request) {
		xid, _, _ := oncrpc.Peek(r.Message)
		ran <- xid
		r.Drop(nil)
	}
	serve := func(xid uint32, h oncrpc.Handler) {
		s.admit(xid, callTo(xid, 0), farPeer, s.local, nil).Serve(h)
	}
	for xid := range uint32(3) {
		serve(xid, oncrpc.HandlerFunc(h))
	}
	state := func() (waiting, requests int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, src := range s.sources {
			waiting += src.waiting
		}
		return waiting, s.requests
	}
	for waiting, requests := state(); waiting != 2 || requests != 2; waiting, requests = state() {
		time.Sleep(time.Millisecond)
	}
	if st := s.Stats(); st.Excess != 1 || len(ran) != 0 {
		t.Errorf("%+v, want one ignored; %d handlers run, want none", st, len(ran))
	}
	serve(7, bounded{h})
	if xid := <-ran; xid != 7 {
		t.Errorf("the handler of Call %d runs, want the one with a bound", xid)
	}
	others.End()
	<-ran
	<-ran
	for waiting, requests := state(); waiting != 0 || requests != 0; waiting, requests = state() {
		time.Sleep(time.Millisecond)
	}
}

// A handler that panics as an oncrpc.Bounder drops its Request.
func TestBoundThatPanicsDropsTheRequest(t *testing.T) {
	s := newServer(t, nothing, nil)
	s.admit(1, callTo(1, 0), farPeer, s.local, nil).Serve(noBound{})
	if err := s.Close(); err != nil || s.requests != 0 {
		t.Errorf("%v, %d Requests are left", err, s.requests)
	}
}

// noBound is a Handler whose bound panics.
type noBound struct{ bounded }

func (noBound) ReplyBound(_, _, _ uint32) int { panic("no bound") }

// A long reply that is not sent counts until the garbage collector has run.
func TestRepliesNotSentAreWaste(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	s := newServer(t, nothing, nil)
	all := s.memory.Left()
	for i, want := range []int{0, 2 * (24 + 68<<10)} {
		r := s.admit(7, callTo(7, 0), farPeer, s.local, nil)
		r.peer.to = s.local // where it arrives, and is ignored
		r.Reply(replyOf(7, i*68<<10), nil)
		if got := all - s.memory.Left(); got != want {
			t.Errorf("reply %d: %d bytes are wasted, want %d", i, got, want)
		}
	}
}
