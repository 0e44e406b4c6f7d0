package mem_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Both ends respond from inside their notifications, more often than the stack would allow if each
// response were a nested call. The first post runs them all.
func TestNotificationsDoNotNest(t *testing.T) {
	_, client, server := openPair(t)
	const rounds = 100_000
	var c, s *side
	var depth, deepest, got atomic.Int64
	handle := func(e *side) bool {
		wcs := e.poll(t)
		for _, wc := range wcs {
			if wc.Opcode != verbs.WCRecv || wc.Status != verbs.StatusSuccess || got.Add(1) >= rounds {
				continue
			}
			if _, err := e.qp.PostRecv([]verbs.RecvWR{{SGL: e.sge(4)}}); err != nil {
				t.Error(err)
			}
			if _, err := e.qp.PostSend([]verbs.SendWR{{Flags: verbs.SendSignaled, SGL: e.sge(4)}}); err != nil {
				t.Error(err)
			}
		}
		return len(wcs) > 0
	}
	answer := func(self **side) func() {
		return func() {
			deepest.Store(max(deepest.Load(), depth.Add(1)))
			defer depth.Add(-1)
			for again := true; again; {
				for handle(*self) {
				}
				if err := (*self).cq.Arm(false); err != nil {
					t.Error(err)
				}
				again = handle(*self)
			}
		}
	}
	c, s = newSide(t, client, sideConfig{notify: answer(&c)}), newSide(t, server, sideConfig{notify: answer(&s)})
	join(t, c, s)
	for _, e := range []*side{c, s} {
		if _, err := e.qp.PostRecv([]verbs.RecvWR{{SGL: e.sge(4)}}); err != nil {
			t.Fatal(err)
		}
		if err := e.cq.Arm(false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.qp.PostSend([]verbs.SendWR{{Flags: verbs.SendSignaled, SGL: c.sge(4)}}); err != nil {
		t.Fatal(err)
	}
	if got.Load() < rounds || deepest.Load() != 1 {
		t.Errorf("%d messages received, want %d; notifications nested %d deep", got.Load(), rounds, deepest.Load())
	}
}

// Two goroutines post at once on one connection, from both ends, and their notifications
// disconnect. Nothing blocks, and no completion is lost.
func TestDisconnectFromNotification(t *testing.T) {
	for range 50 {
		_, client, server := openPair(t)
		var c, s *side
		var lost sync.WaitGroup
		lost.Add(2)
		c = newSide(t, client, sideConfig{notify: func() { c.qp.Disconnect() }, lost: lost.Done})
		s = newSide(t, server, sideConfig{notify: func() { s.qp.Disconnect() }, lost: lost.Done})
		join(t, c, s)
		var wg sync.WaitGroup
		for _, e := range []*side{c, s} {
			if err := e.cq.Arm(false); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				e.qp.PostRecv([]verbs.RecvWR{{SGL: e.sge(8)}}) // the connection may be down already
			}
		}
		for _, e := range []*side{c, s} {
			wg.Go(func() {
				for range 4 {
					e.qp.PostSend([]verbs.SendWR{{Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: e.mr, Offset: 100, Length: 8}}}})
				}
			})
		}
		wg.Wait()
		lost.Wait()
	}
}

// R290: the memory belongs to the caller when Invalidate returns. The race detector would find a
// copy that still runs.
func TestInvalidateWaitsForCopies(t *testing.T) {
	for range 30 {
		_, c, s := newPair(t)
		for i := range c.mr.Bytes() {
			c.mr.Bytes()[i] = 0xa5
		}
		wr := verbs.SendWR{Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled, SGL: c.sge(sideBytes), RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr()}
		var wg sync.WaitGroup
		started := make(chan struct{})
		wg.Go(func() {
			for i := 0; ; i++ {
				if i == 20 {
					close(started)
				}
				if _, err := c.qp.PostSend([]verbs.SendWR{wr}); err != nil {
					return
				}
				c.poll(t)
			}
		})
		<-started
		if err := s.mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		clear(s.mr.Bytes())
		wg.Wait()
		for i, b := range s.mr.Bytes() {
			if b != 0 {
				t.Fatalf("byte %d was written after Invalidate", i)
			}
		}
	}
}

// Each Arm leads to one notification, and only for completions that it asks for. (The interface
// allows further notifications, but this provider does not send any.)
func TestArmIsExact(t *testing.T) {
	_, client, server := openPair(t)
	calls := 0
	c, s := newSide(t, client, sideConfig{}), newSide(t, server, sideConfig{notify: func() { calls++ }})
	join(t, c, s)
	if _, err := s.qp.PostRecv(make([]verbs.RecvWR, 20)); err != nil {
		t.Fatal(err)
	}
	const none, any, solicited = 0, 1, 2
	for i, tc := range []struct {
		arm   int
		flags verbs.SendFlags
		want  int
	}{
		{none, 0, 0},
		{any, 0, 1},
		{none, 0, 0}, // once only
		{any, verbs.SendSolicited, 1},
		{solicited, 0, 0},
		{none, verbs.SendSolicited, 1}, // still armed
		{none, verbs.SendSolicited, 0},
	} {
		calls = 0
		if tc.arm != none {
			if err := s.cq.Arm(tc.arm == solicited); err != nil {
				t.Fatal(err)
			}
		}
		post(t, c, verbs.SendWR{Flags: tc.flags})
		if calls != tc.want {
			t.Errorf("step %d: %d notifications, want %d", i, calls, tc.want)
		}
	}
}
