package verbstest

import (
	"errors"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// All outstanding requests complete once, as flushed, at both ends.
func testFlush(h *harness) {
	c, s := h.connected()
	c.recvs(7, 8)
	s.recvs(5, 8)
	h.must("disconnect", c.qp.Disconnect())
	h.lost(c)
	h.lost(s)
	h.wantErr("own reason", c.qp.Err(), verbs.ErrDisconnected)
	h.wantCause("peer's reason", s.qp.Err(), verbs.ErrPeerDisconnected)
	for e, n := range map[*end]int{c: 7, s: 5} {
		for i, wc := range e.wait(n) {
			h.wantFlushed(wc)
			if wc.WRID != uint64(i+1) {
				h.Errorf("flushed %d in place %d", wc.WRID, i)
			}
			if !errors.Is(wc.Err(), verbs.StatusError{Status: verbs.StatusFlushed}) {
				h.Errorf("error of a flushed completion: %v", wc.Err())
			}
		}
		e.quiet()
		_, err := e.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send}})
		h.wantErr("send after disconnect", err, verbs.ErrInvalidState)
		_, err = e.qp.PostRecv([]verbs.RecvWR{{}})
		h.wantErr("receive after disconnect", err, verbs.ErrInvalidState)
		h.check("disconnect again", e.qp.Disconnect())
	}
	h.wantCause("reason after a second disconnect", s.qp.Err(), verbs.ErrPeerDisconnected)
}

// If the disconnect has prevented a request, later ones in its queue are flushed too, even if they
// could have finished. A send queue completes in order: the first flushed request shows how far the
// queue has come.
func testFlushBehind(h *harness) {
	const n = 1 << 20
	for range 20 {
		c, s := h.connected()
		sink, src := c.region(n, verbs.AccessLocalWrite), s.region(n, verbs.AccessRemoteRead)
		s.recvs(1, 8)
		wrs := []verbs.SendWR{remote(verbs.RDMARead, src, 0, whole(sink)), {Opcode: verbs.Send, SGL: []verbs.SGE{c.text("behind")}}}
		for i := range wrs {
			wrs[i].WRID, wrs[i].Flags = c.nextID(), signaled
		}
		_, err := c.qp.PostSend(wrs)
		h.must("post", err)
		h.must("disconnect", c.qp.Disconnect())
		h.lost(c)
		wcs := c.wait(len(wrs))
		for i, wc := range wcs {
			if wc.WRID != wrs[i].WRID {
				h.Errorf("completion %d is of request %d, want %d", i, wc.WRID, wrs[i].WRID)
			}
		}
		if wcs[0].Status != verbs.StatusSuccess && wcs[1].Status != verbs.StatusFlushed {
			h.Errorf("a Send completed with %v behind a Read that completed with %v, want %v", wcs[1].Status, wcs[0].Status, verbs.StatusFlushed)
		}
	}
}

// A reason for the end arrives at an idle peer. At its own side it is an ordinary disconnect.
func testDisconnectReasons(h *harness) {
	for reason, want := range map[verbs.DisconnectReason]error{
		verbs.ReasonDone: verbs.ErrPeerDisconnected,
		verbs.ReasonRule: verbs.StatusError{Status: verbs.StatusRemoteInvalidRequest},
		verbs.ReasonTime: verbs.StatusError{Status: verbs.StatusRetryExceeded},
	} {
		for _, byClient := range []bool{true, false} {
			c, s := h.connected()
			if !byClient {
				c, s = s, c
			}
			c.recvs(2, 8)
			s.recvs(2, 8)
			d, ok := c.qp.(verbs.ReasonDisconnecter)
			if !ok {
				h.Skip("the provider gives no reasons (verbs.ReasonDisconnecter)")
			}
			err := d.DisconnectFor(reason)
			if errors.Is(err, verbs.ErrNotSupported) {
				h.Skipf("the provider gives no reasons: %v", err)
			}
			h.must("disconnect", err)
			h.failed(c)
			h.failed(s)
			h.wantErr("own reason", c.qp.Err(), verbs.ErrDisconnected)
			h.wantCause(reason.String()+": peer's reason", s.qp.Err(), want)
			if reason != verbs.ReasonDone {
				h.wantCause("peer's reason", s.qp.Err(), verbs.ErrConnectionBroken)
			}
			h.check("disconnect again", d.DisconnectFor(verbs.ReasonDone))
			h.wantCause("peer's reason after that", s.qp.Err(), want)
		}
	}
}

func testDisconnectStates(h *harness) {
	h.Run("init", func(h *harness) {
		e := h.newEnd(h.Client, verbs.QPConfig{})
		e.recvs(2, 8)
		h.must("disconnect", e.qp.Disconnect())
		h.failed(e)
		h.wantErr("reason", e.qp.Err(), verbs.ErrDisconnected)
	})
	h.Run("connecting", func(h *harness) {
		ln := h.listen()
		c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
		c.recvs(2, 8)
		ctx, cancel := h.context()
		defer cancel()
		req, res := h.dialing(ctx, ln, c)
		if st := c.qp.State(); st != verbs.StateConnecting {
			h.Errorf("state %v while dialing", st)
		}
		h.must("disconnect", c.qp.Disconnect())
		h.wantErr("dial", h.result(res), verbs.ErrDisconnected)
		h.failed(c)
		if _, err := req.Accept(ctx, s.qp, nil); h.Precise || err != nil {
			h.wantErr("accept", err, verbs.ErrPeerDisconnected)
		}
		h.failed(s)
	})
	h.Run("closed", func(h *harness) {
		c, s := h.connected()
		s.recvs(1, 8)
		h.must("close", c.qp.Close())
		h.check("close again", c.qp.Close())
		h.check("disconnect after close", c.qp.Disconnect())
		if st := c.qp.State(); st != verbs.StateClosed {
			h.Errorf("state %v after close", st)
		}
		h.failed(s)
		_, err := c.qp.PostRecv([]verbs.RecvWR{{}})
		h.wantErr("post after close", err, verbs.ErrInvalidState)
		ctx, cancel := h.context()
		defer cancel()
		_, err = h.Client.Dial(ctx, h.Addr, c.qp, nil)
		h.wantErr("dial after close", err, verbs.ErrInvalidState)
	})
	h.Run("both at once", func(h *harness) {
		for range 50 {
			c, s := h.connected()
			c.recvs(3, 8)
			s.recvs(3, 8)
			var wg sync.WaitGroup
			for _, e := range []*end{c, s} {
				wg.Go(func() { h.check("disconnect", e.qp.Disconnect()) })
			}
			wg.Wait()
			h.failed(c)
			h.failed(s)
		}
	})
}

// At whatever moment the connection is closed, each accepted request completes exactly once, as
// type end checks.
func testDisconnectUnderLoad(h *harness) {
	for round := range 20 {
		c, s := h.connected()
		buf, msg := s.region(16, verbs.AccessLocalWrite), c.text("load")
		for range 60 {
			s.recv(whole(buf))
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(time.Duration(round) * 5 * time.Microsecond)
			h.check("disconnect", s.qp.Disconnect())
		})
		accepted := 0
		for range 60 {
			n, err := c.qp.PostSend([]verbs.SendWR{{WRID: c.nextID(), Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{msg}}})
			accepted += n
			if err != nil {
				h.wantErr("post", err, verbs.ErrInvalidState)
				delete(c.open, c.id)
				break
			}
		}
		wg.Wait()
		h.lost(c)
		h.lost(s)
		delivered := 0
		for _, wc := range s.wait(60) {
			if wc.Status == verbs.StatusSuccess {
				delivered++
			} else {
				h.wantFlushed(wc)
			}
		}
		if got := len(c.wait(accepted)); delivered > got {
			h.Errorf("%d delivered of %d", delivered, got)
		}
		c.quiet()
		s.quiet()
	}
}

// Regions can be deregistered before the queue pair on which they are posted is closed. A message
// for them breaks the connection, or their deregistration does.
func testCloseOrder(h *harness) {
	c, s := h.connected()
	mr := s.region(16, verbs.AccessLocalWrite)
	s.recv(whole(mr))
	h.must("deregister", mr.Deregister())
	if h.EndsAtDeregister {
		h.lost(s)
		h.lost(c)
		if wc := s.wait(1)[0]; wc.Status != verbs.StatusLocalProtection && wc.Status != verbs.StatusFlushed {
			h.Errorf("completion %+v of a Receive whose region is gone, want %v or %v", wc, verbs.StatusLocalProtection, verbs.StatusFlushed)
		}
		return
	}
	id := c.send(c.text("into the void"))
	h.broken(c, s, id, verbs.StatusRemoteOperation, verbs.StatusLocalProtection)
}
