package ibverbs

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// connected fails the test if the queue pair ends, after the provider's own requests are complete.
func (s *side) connected() {
	s.t.Helper()
	s.settleBinds()
	s.qp.mu.Lock()
	defer s.qp.mu.Unlock()
	if s.qp.end.begun {
		s.t.Errorf("the queue pair ends: %v", s.qp.end.why)
	}
}

// inEnd disconnects the queue pair, and runs f while it ends: before the device has stopped.
func (s *side) inEnd(w *watched, f func()) {
	s.t.Helper()
	ending, release := make(chan struct{}), make(chan struct{})
	w.once(modifyERR, func() { close(ending); <-release })
	go s.qp.Removed()
	<-ending
	f()
	close(release)
	s.must(s.qp.Disconnect())
}

// The peer learns of the end first, then the device stops, and only then objects are destroyed:
// windows before their queue pair, and the rdma_cm_id last.
func TestEndOfAConnectionStopsTheDeviceBeforeObjectsAreDestroyed(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c, _ := boundSides(t, f, 1)
	c.region(8, remoteRW)
	c.settleBinds()
	w.order()
	c.must(c.qp.Disconnect())
	want := []string{"rdma_disconnect", modifyERR, "ibv_dealloc_mw", "ibv_destroy_qp", "ibv_destroy_cq", "rdma_destroy_id"}
	if got := w.order(want...); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

// The completion of a request can be late: the device has executed it before it has stopped. The
// end waits for it, so that a message that the peer takes for received is not lost.
func TestEndDeliversWhatTheDeviceHasCompleted(t *testing.T) {
	for _, queue := range []string{"receive", "send"} {
		t.Run(queue, func(t *testing.T) {
			f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
			c, s := connectedSides(t, f)
			if queue == "receive" {
				for i := range uint64(3) {
					c.recv(i, c.region(8, verbs.AccessLocalWrite))
				}
				w.holdPolls(-1)
				s.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
				s.wait(1)
			} else {
				s.recv(1, s.region(8, verbs.AccessLocalWrite))
				w.holdPolls(-1)
				c.send(verbs.SendWR{WRID: 0, Opcode: verbs.Send, Flags: verbs.SendSignaled})
				s.wait(1)
			}
			w.once(modifyERR, func() { w.holdPolls(5) })
			c.must(c.qp.Disconnect())
			if wc := c.wait(1)[0]; wc.WRID != 0 || wc.Status != verbs.StatusSuccess {
				t.Errorf("completion %+v, want success", wc)
			}
			if queue == "receive" {
				for i, wc := range c.wait(2) {
					if wc.WRID != uint64(i+1) || wc.Status != verbs.StatusFlushed {
						t.Errorf("completion %d: %+v, want flushed", i+1, wc)
					}
				}
			}
		})
	}
}

// A request that is not signaled and was executed makes no completion, even when the connection
// fails afterwards.
func TestEndDoesNotFlushExecutedRequests(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c, s := connectedSides(t, f)
	s.recv(1, s.region(8, verbs.AccessLocalWrite))
	c.send(verbs.SendWR{WRID: 1, Opcode: verbs.Send})
	s.wait(1)
	c.must(c.qp.Disconnect())
	wcs := make([]verbs.WC, 4)
	if n, err := c.cq.Poll(wcs); n != 0 || err != nil {
		t.Errorf("Poll = %d, %v with %+v, want no completion", n, err, wcs[0])
	}
}

// While a queue pair ends, it takes no requests, and a revocation posts none: the device may be
// gone before it sees them.
func TestNothingIsPostedDuringTheEnd(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c, _ := boundSides(t, f, 2)
	mr, local := c.region(8, remoteRW), c.region(8, verbs.AccessLocalWrite)
	c.settleBinds()
	var done chan error
	c.inEnd(w, func() {
		w.order()
		if _, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send}}); !errors.Is(err, verbs.ErrInvalidState) {
			t.Errorf("PostSend: %v, want ErrInvalidState", err)
		}
		if _, err := c.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: local, Length: 8}}}}); !errors.Is(err, verbs.ErrInvalidState) {
			t.Errorf("PostRecv: %v, want ErrInvalidState", err)
		}
		done = make(chan error, 1)
		c.must(c.qp.Revoke([]verbs.MemoryRegion{mr}, func(err error) { done <- err }))
		other := c.region(8, remoteRW)
		if other.window != nil {
			t.Error("a window is bound during the end")
		}
		if n := w.count("ibv_post_send"); n != 0 {
			t.Errorf("%d posts during the end", n)
		}
		if err := c.qp.Err(); err != nil {
			t.Errorf("the queue pair is in error before the device has stopped: %v", err)
		}
	})
	c.must(<-done)
	if mr.State() != verbs.MRInvalid {
		t.Errorf("the region is %v after its revocation", mr.State())
	}
}

// A request can succeed although its region was deregistered after the post.
func TestRequestThatSucceedsBeforeTheEndIsNotFailed(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c, s := connectedSides(t, f)
	to := s.region(8, verbs.AccessLocalWrite)
	doom := func(e *bool) { *e = true }
	f.client.Device("fake0").Stall(true)
	c.send(verbs.SendWR{WRID: 1, Opcode: verbs.Send, Flags: verbs.SendSignaled})
	s.recv(2, to)
	c.qp.mu.Lock()
	doom(&c.qp.sq.at(c.qp.sq.head).doomed)
	c.qp.mu.Unlock()
	s.qp.mu.Lock()
	doom(&s.qp.rq.at(s.qp.rq.head).doomed)
	s.qp.mu.Unlock()
	f.client.Device("fake0").Stall(false)
	for _, end := range []*side{c, s} {
		if wc := end.wait(1)[0]; wc.Status != verbs.StatusSuccess {
			t.Errorf("completion %+v, want success", wc)
		}
	}
}

// The device completes a Send while an earlier Read is outstanding. A Send between them is not
// signaled, and complete with the Send.
func TestReadCompletesAfterLaterRequests(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{UnorderedReads: true}, noPings)
	c, s := connectedSides(t, f)
	src, sink := s.region(8, verbs.AccessRemoteRead), c.region(8, verbs.AccessLocalWrite)
	s.recv(1, s.region(8, verbs.AccessLocalWrite))
	s.recv(2, s.region(8, verbs.AccessLocalWrite))
	f.server.Device("fake1").HoldReads(true)
	c.send(
		verbs.SendWR{
			WRID: 1, Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, RKey: src.RKey(), RemoteAddr: src.RemoteAddr(),
			SGL: []verbs.SGE{{MR: sink, Length: 8}},
		},
		verbs.SendWR{WRID: 2, Opcode: verbs.Send}, verbs.SendWR{WRID: 3, Opcode: verbs.Send, Flags: verbs.SendSignaled})
	s.wait(2)
	c.until("the last Send is complete at the device", func(q *queuePair) bool { return q.sq.reached == q.sq.tail })
	f.server.Device("fake1").HoldReads(false)
	c.until("all requests complete", func(q *queuePair) bool { return q.sq.len() == 0 })
	for i, wc := range c.wait(2) {
		if want := []uint64{1, 3}[i]; wc.WRID != want || wc.Status != verbs.StatusSuccess {
			t.Errorf("completion %+v, want success of %d", wc, want)
		}
	}
}

// Disconnect during Dial, just before Dial or Accept would give the queue pair to the connection
// manager: it may be destroyed already.
func TestQueuePairThatEndsIsNotConnected(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c := newConnection(f.c, 0)
	if err := c.open(); err != nil {
		t.Fatal(err)
	}
	q := newSide(t, f.c, verbs.QPConfig{})
	q.qp.mu.Lock()
	q.qp.conn = c
	q.qp.mu.Unlock()
	var joined error
	w.once(modifyERR, func() {
		joined = c.join(q.qp, func(lib.ID) error {
			t.Error("a queue pair that ends is connected")
			return nil
		})
	})
	q.must(q.qp.Disconnect())
	if !errors.Is(joined, verbs.ErrDisconnected) {
		t.Errorf("join: %v, want ErrDisconnected", joined)
	}
}

// When its context is cancelled, Dial destroys what it has made, and reports why.
func TestDialEndsWithItsContext(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c, s := newSide(t, f.c, verbs.QPConfig{}), newSide(t, f.s, verbs.QPConfig{})
	ln, err := s.dev.Listen(t.Context(), "127.0.0.2:0")
	c.must(err)
	defer ln.Close()
	cause := errors.New("the caller has no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	w.once("rdma_connect", func() { cancel(cause) })
	if _, err := c.dev.Dial(ctx, ln.Addr(), c.qp, nil); !errors.Is(err, cause) {
		t.Errorf("Dial: %v, want %v", err, cause)
	}
	if got, want := w.order("rdma_destroy_id", "ibv_destroy_qp"), []string{"ibv_destroy_qp", "rdma_destroy_id"}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if c.qp.State() != verbs.StateError {
		t.Errorf("the queue pair is in state %v", c.qp.State())
	}
}

// A library may report a completion twice. The first one counts.
func TestSecondCompletionOfARequestIsIgnored(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	c, _ := connectedSides(t, f)
	f.client.Device("fake0").Stall(true)
	c.recv(1, c.region(8, verbs.AccessLocalWrite))
	c.recv(2, c.region(8, verbs.AccessLocalWrite))
	for i := range uint64(2) {
		c.send(verbs.SendWR{WRID: 10 + i, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled})
	}
	c.qp.mu.Lock()
	good, flushed := abi.WC{Status: abi.StatusSuccess}, abi.WC{Status: abi.StatusFlushed}
	// The oldest ones are open, so both completions find their requests.
	for _, wc := range []*abi.WC{&good, &flushed} {
		c.qp.rq.received(c.qp.rq.head+1, wc)
		c.qp.sent(c.qp.sq.head+1, wc)
	}
	if s := c.qp.sq.at(c.qp.sq.head + 1).status; s != verbs.StatusSuccess {
		t.Errorf("the Write is %v, want success", s)
	}
	if s := c.qp.rq.at(c.qp.rq.head + 1).wc.Status; s != verbs.StatusSuccess {
		t.Errorf("the Receive is %v, want success", s)
	}
	c.qp.mu.UnlockNotify()
	f.client.Device("fake0").Stall(false)
}
