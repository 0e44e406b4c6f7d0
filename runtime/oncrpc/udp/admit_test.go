package udp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A datagram that is not a whole Call, or comes from port 0, is counted and ignored.
func TestReceiveGarbage(t *testing.T) {
	s := newServer(t, nothing, nil)
	whole := callTo(7, 0)
	for i, tt := range []struct {
		b    []byte
		from netip.AddrPort
	}{
		{nil, farPeer},
		{whole[:7], farPeer},
		{whole[:minCall-1], farPeer},
		{replyOf(7, 100).Inline, farPeer},
		{bytes.Repeat([]byte{0xff}, 100), farPeer},
		{whole, netip.AddrPortFrom(farPeer.Addr(), 0)},
	} {
		s.receive(tt.b, nil, tt.from)
		if st := s.Stats(); st != (ServerStats{Garbage: uint64(i) + 1}) {
			t.Errorf("datagram %d: %+v", i, st)
		}
	}
	s.receive(whole, nil, farPeer)
	if st := s.Stats(); st.Calls != 1 {
		t.Errorf("a Call: %+v", st)
	}
}

// A source takes as many Requests as remain, and gives them back. A Call in progress is not taken
// twice, and each Request has its own memory.
func TestSourceTakesAtMostWhatRemains(t *testing.T) {
	s := newServer(t, nothing, &Config{MaxRequests: 7})
	other := netip.MustParseAddrPort("192.0.2.2:9")
	var held []*request
	admit := func(xid uint32, from netip.AddrPort) bool {
		b := callTo(xid, 4)
		r := s.admit(xid, b, from, s.local, nil)
		if r == nil {
			return false
		}
		clear(b)
		if !bytes.Equal(r.Message, callTo(xid, 4)) {
			t.Errorf("the Request is %x", r.Message)
		}
		held = append(held, r)
		return true
	}
	for round := range uint64(2) {
		for xid := range uint32(4) {
			if !admit(xid, farPeer) {
				t.Fatalf("round %d: Request %d was not admitted", round, xid)
			}
		}
		if admit(3, farPeer) || admit(4, farPeer) || !admit(3, other) || !admit(4, other) || admit(5, other) {
			t.Errorf("round %d: a source has more or less than remains", round)
		}
		if st := s.Stats(); st != (ServerStats{Calls: 6 * (round + 1), Repeated: round + 1, Excess: 2 * (round + 1)}) {
			t.Errorf("round %d: %+v", round, st)
		}
		for _, r := range held {
			r.Drop(nil)
		}
		held = nil
		s.mu.Lock()
		if s.requests != 0 || len(s.peers) != 0 {
			t.Errorf("round %d: %d Requests and %d peers are left", round, s.requests, len(s.peers))
			s.requests = 0 // Close would wait
		}
		s.mu.Unlock()
	}
}

// If a handler's message is too long or is not a reply to the Call, the client gets SYSTEM_ERR and
// the handler gets the reason. A second answer is refused.
func TestAnswersRefused(t *testing.T) {
	s := newServer(t, nothing, &Config{Logger: slog.New(slog.DiscardHandler)})
	for name, tt := range map[string]struct {
		m    oncrpc.Message
		want error
	}{
		"a reply":     {replyOf(7, 0), nil},
		"another XID": {replyOf(8, 0), oncrpc.ErrMessage},
		"a Call":      {oncrpc.Message{Inline: callTo(7, 0)}, oncrpc.ErrMessage},
		"too long":    {replyOf(7, MaxMessage&^3), ErrSize},
	} {
		r := s.admit(7, callTo(7, 0), farPeer, s.local, nil)
		r.peer.to = s.local // where it arrives, and is ignored
		results := make(chan error, 3)
		done := func(err error) { results <- err }
		r.Reply(tt.m, done)
		r.Reply(tt.m, done)
		r.Drop(done)
		close(results)
		var all []error
		for err := range results {
			all = append(all, err)
		}
		if len(all) != 3 || !errors.Is(all[0], tt.want) || tt.want == nil && all[0] != nil || !errors.Is(all[1], oncrpc.ErrAnswered) || !errors.Is(all[2], oncrpc.ErrAnswered) {
			t.Errorf("%s: %v, want %v and two refusals", name, all, tt.want)
		}
	}
}

// A Conn has one Call for each XID, and gives back the place of one that was not sent. A report of
// the network fails all Calls in progress.
func TestCallsOfConn(t *testing.T) {
	s := newServer(t, nothing, nil)
	c, err := Dial(t.Context(), s.Addr(), &Config{MaxCalls: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		long := &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(1, MaxMessage&^3)}}
		if _, err := c.Call(t.Context(), long); !errors.Is(err, ErrSize) || c.places != 0 || c.calls.Len() != 0 {
			t.Fatalf("%v, %d places and %d Calls are left", err, c.places, c.calls.Len())
		}
	}
	var all []*pending
	for xid := range uint32(2) {
		p, err := c.begin(t.Context(), &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(xid, 0)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for range 3 {
		again := &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(1, 0)}}
		if _, err := c.Call(canceled(t), again); !errors.Is(err, context.Canceled) {
			t.Errorf("a Call that was cancelled before: %v", err)
		}
		if _, err := c.Call(t.Context(), again); !errors.Is(err, oncrpc.ErrXIDInUse) || c.places != 2 {
			t.Fatalf("an XID in use: %v, %d places are taken", err, c.places)
		}
	}
	waiting, err := c.begin(t.Context(), &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(2, 0)}}, nil)
	if err != nil || !waiting.waits {
		t.Fatalf("a Call has a place beyond MaxCalls: %v", err)
	}
	c.fail(syscall.EHOSTUNREACH)
	if waiting.over || waiting.times != 1 {
		t.Errorf("a Call that waited was sent %d times, and is over: %v", waiting.times, waiting.over)
	}
	c.receive(replyOf(2, 0).Inline)
	for i, p := range all {
		if len(p.done) != 1 {
			t.Fatalf("Call %d has not failed", i)
		}
		<-p.done
		var ce *oncrpc.CallError
		if _, err := c.result(p); !errors.As(err, &ce) || ce.Err != syscall.EHOSTUNREACH || !ce.MayHaveRun {
			t.Errorf("Call %d: %v", i, err)
		}
	}
	if c.calls.Len() != 0 || c.places != 0 {
		t.Errorf("%d Calls and %d places are left", c.calls.Len(), c.places)
	}
	for _, b := range [][]byte{nil, replyOf(9, 0).Inline, callTo(1, 0)} {
		c.receive(b)
	}
	if st := c.Stats(); st.StrayReplies != 3 {
		t.Errorf("%+v, want 3 stray replies", st)
	}
	for xid := range uint32(3) {
		if waiting, err = c.begin(t.Context(), &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(xid, 0)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.sock.Close()
	c.fail(syscall.EHOSTUNREACH)
	<-waiting.done
	var ce *oncrpc.CallError
	if _, err := c.result(waiting); !errors.As(err, &ce) || ce.Err != oncrpc.ErrClosed || ce.MayHaveRun {
		t.Errorf("a Call that waited and could not be sent: %v", err)
	}
	for _, want := range []error{oncrpc.ErrClosed, ErrIdle} {
		_, err := c.Call(t.Context(), &oncrpc.Call{Message: oncrpc.Message{Inline: callTo(1, 0)}})
		var ce *oncrpc.CallError
		if !errors.As(err, &ce) || ce.Err != want || ce.MayHaveRun || c.calls.Len() != 0 || c.places != 0 {
			t.Errorf("to send when the socket is closed: %v, want %v, and %d Calls are in progress", err, want, c.calls.Len())
		}
		c.down(ErrIdle)
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
