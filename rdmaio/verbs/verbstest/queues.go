package verbstest

import (
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A post refuses requests with errors that it can detect, and has no other effect.
func testPostErrors(h *harness) {
	c, s := h.connected()
	h.fresh(c, s)
	foreign := h.newEnd(h.Client, verbs.QPConfig{}).region(8, verbs.AccessLocalWrite)
	ro, rw := c.region(8, 0), c.region(8, verbs.AccessLocalWrite)
	dead := c.region(8, verbs.AccessLocalWrite)
	h.must("invalidate", dead.Invalidate())
	long := make([]verbs.SGE, 64)
	for i := range long {
		long[i] = verbs.SGE{MR: rw, Length: 0}
	}
	for _, tc := range []struct {
		name string
		sgl  []verbs.SGE
		want error
		recv error // the error for a Receive; may be nil
	}{
		{"no region", []verbs.SGE{{Length: 1}}, verbs.ErrInvalidWR, verbs.ErrInvalidWR},
		{"behind the end", []verbs.SGE{{MR: rw, Offset: 4, Length: 5}}, verbs.ErrInvalidWR, verbs.ErrInvalidWR},
		{"offset behind the end", []verbs.SGE{{MR: rw, Offset: 9}}, verbs.ErrInvalidWR, verbs.ErrInvalidWR},
		{"negative offset", []verbs.SGE{{MR: rw, Offset: -1, Length: 1}}, verbs.ErrInvalidWR, verbs.ErrInvalidWR},
		{"negative length", []verbs.SGE{{MR: rw, Offset: 1, Length: -1}}, verbs.ErrInvalidWR, verbs.ErrInvalidWR},
		{"sum overflows", []verbs.SGE{{MR: rw, Offset: 1, Length: int(^uint(0) >> 1)}}, verbs.ErrInvalidWR, verbs.ErrInvalidWR},
		{"too many elements", long, verbs.ErrInvalidWR, verbs.ErrInvalidWR},
		{"foreign domain", []verbs.SGE{whole(foreign)}, verbs.ErrForeignObject, verbs.ErrForeignObject},
		{"invalid region", []verbs.SGE{whole(dead)}, verbs.ErrAccess, verbs.ErrAccess},
		{"second element bad", []verbs.SGE{whole(rw), {MR: rw, Offset: 9}}, verbs.ErrInvalidWR, verbs.ErrInvalidWR},
		{"read only", []verbs.SGE{whole(ro)}, nil, verbs.ErrAccess},
	} {
		for _, op := range []verbs.Opcode{verbs.Send, verbs.RDMAWrite, verbs.RDMARead} {
			want := tc.want
			if op == verbs.RDMARead {
				want = tc.recv // a Read's list is a target, like a Receive's
			}
			if want == nil {
				continue
			}
			n, err := c.qp.PostSend([]verbs.SendWR{{Opcode: op, Flags: signaled, SGL: tc.sgl}})
			h.wantErr(tc.name+", "+op.String(), err, want)
			if n != 0 {
				h.Errorf("%s: %d taken", tc.name, n)
			}
		}
		_, err := c.qp.PostRecv([]verbs.RecvWR{{SGL: tc.sgl}})
		h.wantErr(tc.name+", receive", err, tc.recv)
	}
	_, err := c.qp.PostSend([]verbs.SendWR{{Opcode: 99}})
	h.wantErr("unknown opcode", err, verbs.ErrInvalidWR)
	c.quiet()
	if r := h.Client.Resources(); c.qp.State() != verbs.StateConnected || r.PostedRecvs+r.PostedSends != 0 {
		h.Errorf("state %v, %+v after refusals", c.qp.State(), r)
	}
}

// fresh checks the state of a new connection.
func (h *harness) fresh(c, s *end) {
	h.Helper()
	for _, e := range []*end{c, s} {
		if st := e.qp.State(); st != verbs.StateConnected || e.qp.Err() != nil {
			h.Fatalf("state %v, error %v on a fresh connection", st, e.qp.Err())
		}
	}
}

// As with bad_wr of libibverbs, requests before the bad one are posted, and later ones are not.
func testBadWR(h *harness) {
	c, s := h.connected()
	s.recvs(4, 8)
	good := c.text("good")
	wrs := make([]verbs.SendWR, 5)
	for i := range wrs {
		wrs[i] = verbs.SendWR{WRID: uint64(i + 1), Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{good}}
	}
	wrs[2].SGL = []verbs.SGE{{MR: good.MR, Offset: 99, Length: 1}}
	n, err := c.qp.PostSend(wrs)
	h.wantErr("batch", err, verbs.ErrInvalidWR)
	if n != 2 {
		h.Fatalf("%d taken, want 2", n)
	}
	c.id, c.open = 2, map[uint64]bool{1: true, 2: true}
	c.wait(2)
	s.wait(2)
	c.quiet()
	s.quiet()

	buf := s.region(8, verbs.AccessLocalWrite)
	n, err = s.qp.PostRecv([]verbs.RecvWR{{WRID: 5, SGL: []verbs.SGE{whole(buf)}}, {WRID: 6, SGL: []verbs.SGE{{}}}, {WRID: 7}})
	s.id, s.open[5] = 5, true
	h.wantErr("batch of receives", err, verbs.ErrInvalidWR)
	if n != 1 {
		h.Errorf("%d receives taken, want 1", n)
	}
}

// A queue accepts as many requests as it was created for, and as many again after their
// completions were polled.
func testQueueFull(h *harness) {
	c := h.newEnd(h.Client, verbs.QPConfig{MaxSendWR: 3, MaxRecvWR: 3})
	s := h.newEnd(h.Server, verbs.QPConfig{})
	h.connect(c, s, nil, nil)
	for range 3 {
		s.recvs(3, 8)
		wrs := make([]verbs.SendWR, 4)
		for i := range wrs {
			wrs[i] = verbs.SendWR{WRID: c.nextID(), Opcode: verbs.Send, Flags: signaled}
		}
		n, err := c.qp.PostSend(wrs)
		h.wantErr("4 sends into a queue of 3", err, verbs.ErrQueueFull)
		if n != 3 {
			h.Fatalf("%d sends taken, want 3", n)
		}
		delete(c.open, wrs[3].WRID)
		s.wait(3)
		c.wait(3)
	}
	n, err := c.qp.PostRecv(make([]verbs.RecvWR, 4))
	h.wantErr("4 receives into a queue of 3", err, verbs.ErrQueueFull)
	if n != 3 {
		h.Errorf("%d receives taken, want 3", n)
	}
}

// An unsignaled request's entry is freed together with the entry of the next signaled request.
func testUnsignaled(h *harness) {
	c := h.newEnd(h.Client, verbs.QPConfig{MaxSendWR: 4})
	s := h.newEnd(h.Server, verbs.QPConfig{})
	h.connect(c, s, nil, nil)
	for range 3 {
		s.recvs(4, 8)
		for range 3 {
			c.post(verbs.SendWR{Opcode: verbs.Send})
		}
		id := c.send()
		_, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send}})
		h.wantErr("fifth send", err, verbs.ErrQueueFull)
		s.wait(4)
		c.ok(id, verbs.WC{Opcode: verbs.WCSend})
	}
	c.quiet()
	if n := h.Client.Resources().PostedSends; n != 0 {
		h.Errorf("%d entries of the send queue in use", n)
	}
}

// RFC 5042 §6.4.3.2: queue pairs cannot reserve more entries than a completion queue has.
func testReservation(h *harness) {
	pd, err := h.Client.AllocPD()
	h.must("alloc pd", err)
	_, err = h.Client.CreateCQ(0, nil)
	h.wantErr("queue of nothing", err, verbs.ErrInvalidValue)
	_, err = h.Client.CreateCQ(h.Client.Attributes().MaxCQE+1, nil)
	h.wantErr("queue above the limit", err, verbs.ErrTooLarge)
	cq, err := h.Client.CreateCQ(10, nil)
	h.must("create cq", err)
	room := cq.Cap()
	cfg := verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: room - 5, MaxRecvWR: 5}
	qp, err := pd.CreateQP(cfg)
	h.must("create qp", err)
	_, err = pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 1, MaxRecvWR: 1})
	h.wantErr("more than the queue holds", err, verbs.ErrQueueFull)
	h.wantErr("close of a queue in use", cq.Close(), verbs.ErrBusy)
	h.wantErr("close of a domain in use", pd.Close(), verbs.ErrBusy)
	h.wantErr("close of a device in use", h.Client.Close(), verbs.ErrBusy)

	_, err = qp.PostRecv(make([]verbs.RecvWR, 5))
	h.must("post", err)
	h.must("close", qp.Close())
	_, err = pd.CreateQP(cfg)
	h.wantErr("completions of the closed one still take room", err, verbs.ErrQueueFull)
	wcs := make([]verbs.WC, 10)
	if n, err := cq.Poll(wcs); n != 5 || err != nil {
		h.Errorf("%d completions after close, want 5 (%v)", n, err)
	}
	qp, err = pd.CreateQP(cfg)
	h.must("create qp again", err)
	h.must("close", qp.Close())
	for name, bad := range map[string]struct {
		cfg  verbs.QPConfig
		want error
	}{
		"no queues":       {verbs.QPConfig{}, verbs.ErrInvalidValue},
		"above the limit": {verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: h.Client.Attributes().MaxSendWR + 1}, verbs.ErrTooLarge},
		"negative":        {verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxRecvSGE: -1}, verbs.ErrInvalidValue},
		"negative bound":  {verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxBoundMRs: -1}, verbs.ErrInvalidValue},
	} {
		_, err := pd.CreateQP(bad.cfg)
		h.wantErr(name, err, bad.want)
	}
	h.must("close cq", cq.Close())
	h.check("close cq again", cq.Close())
	_, err = cq.Poll(wcs)
	h.wantErr("poll of a closed queue", err, verbs.ErrClosed)
	h.wantErr("arm of a closed queue", cq.Arm(false), verbs.ErrClosed)
	h.must("close pd", pd.Close())
	h.check("close pd again", pd.Close())
}

// Two sides send a message back and forth, and wait with Arm. A missed notification would stop
// them.
func testArm(h *harness) {
	c, s := h.connected()
	const rounds = 1000
	bounce := func(e *end, other *end, first bool) {
		buf, msg := e.region(8, verbs.AccessLocalWrite), e.text("ball")
		e.recv(whole(buf))
		other.ready <- struct{}{}
		<-e.ready
		sends := rounds
		if first {
			e.send(msg)
			sends--
		}
		for got := 0; got < rounds; {
			wc := e.wait(1)[0]
			if wc.Err() != nil {
				h.Errorf("round %d: %v", got, wc.Err())
				return
			}
			if wc.Opcode != verbs.WCRecv {
				continue
			}
			got++
			if got < rounds {
				e.recv(whole(buf))
			}
			if sends > 0 {
				e.send(msg)
				sends--
			}
		}
		e.wait(len(e.open))
	}
	c.ready, s.ready = make(chan struct{}, 1), make(chan struct{}, 1)
	var wg sync.WaitGroup
	// Both run in goroutines: a failure of one must not end the case while the other runs.
	wg.Go(func() { bounce(s, c, false) })
	wg.Go(func() { bounce(c, s, true) })
	wg.Wait()
	if h.Failed() {
		return
	}
	h.armOnce(c, s)
}

// armOnce checks that one Arm causes one notification, and only for a completion after it.
func (h *harness) armOnce(c, s *end) {
	h.Helper()
	for len(s.wake) > 0 {
		<-s.wake
	}
	s.recvs(3, 8)
	c.send()
	s.wait(1)
	h.must("arm", s.cq.Arm(false))
	h.must("arm", s.cq.Arm(true)) // does not narrow it
	c.send()
	select {
	case <-s.wake:
	case <-time.After(h.Timeout):
		h.Fatal("armed, but not notified")
	}
	s.wait(1)
}

// Arm for solicited completions ignores other completions, but not errors.
func testSolicited(h *harness) {
	c, s := h.connected()
	s.recvs(3, 8)
	h.must("arm", s.cq.Arm(true))
	c.send()
	c.wait(1)
	c.post(verbs.SendWR{Opcode: verbs.Send, Flags: signaled | verbs.SendSolicited})
	select {
	case <-s.wake:
	case <-time.After(h.Timeout):
		h.Fatal("solicited, but not notified")
	}
	s.wait(2)
	for len(s.wake) > 0 {
		<-s.wake
	}
	h.must("arm", s.cq.Arm(true))
	h.must("disconnect", c.qp.Disconnect())
	select {
	case <-s.wake:
	case <-time.After(h.Timeout):
		h.Fatal("flushed, but not notified")
	}
	s.wait(1)
}
