package verbstest

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// If a request in the middle of a batch fails, earlier ones have run, and later ones are flushed.
// Each completes once.
func testFailureInBatch(h *harness) {
	c, s := h.connected()
	s.recvs(4, 8)
	mr := s.region(8, verbs.AccessRemoteRead)
	msg := c.text("good")
	bad := remote(verbs.RDMAWrite, mr, 0, msg)
	wrs := []verbs.SendWR{{Opcode: verbs.Send, SGL: []verbs.SGE{msg}}, bad, {Opcode: verbs.Send, SGL: []verbs.SGE{msg}}, {Opcode: verbs.Send}}
	for i := range wrs {
		wrs[i].WRID, wrs[i].Flags = c.nextID(), signaled
	}
	n, err := c.qp.PostSend(wrs)
	if n < len(wrs) { // the connection broke during the post
		h.wantErr("post", err, verbs.ErrInvalidState)
	} else if err != nil {
		h.Errorf("all taken, but %v", err)
	}
	if n < 2 {
		h.Fatalf("%d taken, %v: neither of the first two can be refused by the post", n, err)
	}
	for _, wr := range wrs[n:] {
		delete(c.open, wr.WRID)
	}
	h.lost(c)
	h.lost(s)
	for i, wc := range c.wait(n) {
		want := []verbs.Status{verbs.StatusSuccess, verbs.StatusRemoteAccess, verbs.StatusFlushed, verbs.StatusFlushed}[i]
		if wc.WRID != wrs[i].WRID {
			h.Errorf("completion %d is of request %d", i, wc.WRID)
		}
		if wc.Status != want && (h.Precise || wc.Status != verbs.StatusSuccess && wc.Status != verbs.StatusFlushed) {
			h.Errorf("request %d ended with %v, want %v", i, wc.Status, want)
		}
	}
	got := s.wait(4)
	for i, wc := range got[1:] {
		if wc.Status == verbs.StatusSuccess {
			h.Errorf("a message from behind the failure arrived: Receive %d", i+1)
		}
	}
	if got[0].Status != verbs.StatusSuccess && h.Precise {
		h.Errorf("the message before the failure: %v", got[0].Status)
	}
	c.quiet()
	s.quiet()
}

// An unsignaled request that fails completes.
func testUnsignaledFailure(h *harness) {
	h.window()
	c, s := h.connected()
	s.recvs(1, 8)
	id := c.post(verbs.SendWR{Opcode: verbs.LocalInvalidate, InvalidateRKey: c.region(8, remoteRW).RKey() ^ 1})
	h.lost(c)
	if wc := c.wait(1)[0]; wc.WRID != id || wc.Status != verbs.StatusLocalProtection {
		h.Errorf("completion %+v, want that of request %d with %v", wc, id, verbs.StatusLocalProtection)
	}
	h.failed(s)
}

// Many goroutines post. Each message arrives once. A goroutine's messages arrive in order, and a
// batch's messages together.
func testManyPosters(h *harness) {
	const posters, batches, size = 4, 25, 3
	c := h.newEnd(h.Client, verbs.QPConfig{MaxSendWR: posters * batches * size})
	s := h.newEnd(h.Server, verbs.QPConfig{MaxRecvWR: posters * batches * size})
	h.connect(c, s, nil, nil)
	bufs := s.recvs(posters*batches*size, 4)
	src := c.region(4*posters*batches*size, 0)
	for i := range len(src.Bytes()) / 4 {
		binary.BigEndian.PutUint32(src.Bytes()[4*i:], uint32(i))
	}
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			for b := range batches {
				wrs := make([]verbs.SendWR, size)
				for k := range wrs {
					i := (p*batches+b)*size + k
					wrs[k] = verbs.SendWR{WRID: uint64(i + 1), Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{{MR: src, Offset: 4 * i, Length: 4}}}
				}
				if n, err := c.qp.PostSend(wrs); n != size || err != nil {
					h.Errorf("post: %d, %v", n, err)
				}
			}
		})
	}
	wg.Wait()
	if h.Failed() {
		return
	}
	for i := range posters * batches * size {
		c.open[uint64(i+1)] = true
	}
	c.id = posters * batches * size
	next := [posters]uint32{}
	for i, wc := range s.wait(posters * batches * size) {
		if wc.Err() != nil {
			h.Fatal(wc.Err())
		}
		v := binary.BigEndian.Uint32(bufs[i].Bytes())
		p := v / (batches * size)
		if p >= posters || v%(batches*size) != next[p] {
			h.Fatalf("message %d is number %d of poster %d, whose next is %d", i, v%(batches*size), p, next[p])
		}
		next[p]++
		if i%size > 0 && v != binary.BigEndian.Uint32(bufs[i-1].Bytes())+1 {
			h.Fatalf("message %d: another goroutine's came into the middle of a batch", i)
		}
	}
	c.wait(posters * batches * size)
	c.quiet()
	s.quiet()
}

// Sends and Receives of a queue pair can complete in two queues.
func testTwoQueues(h *harness) {
	c, peer := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
	d := &end{h: h, dev: h.Client, pd: c.pd, open: make(map[uint64]bool)}
	recvs, err := h.Client.CreateCQ(8, nil)
	h.must("create cq", err)
	h.Cleanup(func() { h.check("close cq", recvs.Close()) })
	qp, err := c.pd.CreateQP(verbs.QPConfig{SendCQ: c.cq, RecvCQ: recvs, MaxSendWR: 8, MaxRecvWR: 8})
	h.must("create qp", err)
	h.Cleanup(func() { h.check("close qp", qp.Close()) })
	d.qp = qp
	h.connect(d, peer, nil, nil)
	peer.recvs(1, 8)
	d.recv(whole(d.region(8, verbs.AccessLocalWrite)))
	d.send(d.text("there"))
	peer.wait(1)
	peer.send(peer.text("back"))
	peer.wait(1)
	for opcode, cq := range map[verbs.WCOpcode]verbs.CompletionQueue{verbs.WCSend: c.cq, verbs.WCRecv: recvs} {
		wcs := make([]verbs.WC, 4)
		n := 0
		for start := time.Now(); n == 0 && time.Since(start) < h.Timeout; time.Sleep(time.Millisecond) {
			if n, err = cq.Poll(wcs); err != nil {
				h.Fatal(err)
			}
		}
		if n != 1 || wcs[0].Opcode != opcode || wcs[0].Err() != nil {
			h.Errorf("queue for %v has %+v", opcode, wcs[:n])
		}
	}
}

// Poll returns completions in order, in slices of any length; an empty slice takes no completion. A
// queue wraps around many times.
func testPollPieces(h *harness) {
	c, s := h.connected()
	const n = 10
	wcs := make([]verbs.WC, 4)
	for round := range 60 { // a queue of 256 entries wraps around twice
		for range n {
			s.recv()
			c.send()
		}
		s.wait(n)
		if k, err := c.cq.Poll(nil); k != 0 || err != nil {
			h.Fatalf("poll into nothing: %d, %v", k, err)
		}
		var want uint64 = uint64(n*round + 1)
		for size := 1; len(c.open) > 0; size = size%len(wcs) + 1 {
			k, err := c.cq.Poll(wcs[:size])
			h.must("poll", err)
			for _, wc := range wcs[:k] {
				if wc.WRID != want || wc.Err() != nil {
					h.Fatalf("round %d: %+v, want request %d", round, wc, want)
				}
				delete(c.open, wc.WRID)
				want++
			}
		}
	}
}

// A queue that is armed for solicited completions and then for all is armed for all.
func testArmWidens(h *harness) {
	c, s := h.connected()
	s.recvs(1, 8)
	for len(s.wake) > 0 {
		<-s.wake
	}
	h.must("arm", s.cq.Arm(true))
	h.must("arm", s.cq.Arm(false))
	c.send()
	select {
	case <-s.wake:
	case <-time.After(h.Timeout):
		h.Fatal("armed for all completions, but not notified")
	}
	s.wait(1)
}

// A post does not retain the caller's slices.
func testPostCopies(h *harness) {
	c, s := h.connected()
	buf, junk := s.region(8, verbs.AccessLocalWrite), s.region(8, verbs.AccessLocalWrite)
	msg, other := c.text("message"), c.text("mistake")
	recvs := []verbs.RecvWR{{WRID: s.nextID(), SGL: []verbs.SGE{{MR: buf, Length: 8}}}}
	_, err := s.qp.PostRecv(recvs)
	h.must("post receive", err)
	recvs[0].SGL[0] = whole(junk)
	recvs[0] = verbs.RecvWR{}
	sends := []verbs.SendWR{{WRID: c.nextID(), Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{msg}}}
	_, err = c.qp.PostSend(sends)
	h.must("post send", err)
	sends[0].SGL[0] = other
	sends[0] = verbs.SendWR{}
	s.ok(1, verbs.WC{Opcode: verbs.WCRecv, ByteLen: 7})
	c.ok(1, verbs.WC{Opcode: verbs.WCSend})
	if string(buf.Bytes()[:7]) != "message" || junk.Bytes()[0] != 0 {
		h.Errorf("received %q, and %q where the caller's list pointed later", buf.Bytes(), junk.Bytes())
	}
}

// A WRID may be any number, and the same for two requests. A post of no requests succeeds.
func testNumbers(h *harness) {
	c, s := h.connected()
	if n, err := c.qp.PostSend(nil); n != 0 || err != nil {
		h.Errorf("post of no requests: %d, %v", n, err)
	}
	if n, err := s.qp.PostRecv([]verbs.RecvWR{}); n != 0 || err != nil {
		h.Errorf("post of no Receives: %d, %v", n, err)
	}
	ids := []uint64{0, math.MaxUint64, 1 << 32, 1 << 63, 7, 7}
	var sends []verbs.SendWR
	var recvs []verbs.RecvWR
	for _, id := range ids {
		sends = append(sends, verbs.SendWR{WRID: id, Opcode: verbs.Send, Flags: signaled})
		recvs = append(recvs, verbs.RecvWR{WRID: id})
	}
	_, err := s.qp.PostRecv(recvs)
	h.must("post receives", err)
	_, err = c.qp.PostSend(sends)
	h.must("post sends", err)
	for _, e := range []*end{s, c} {
		wcs := make([]verbs.WC, len(ids)+1)
		n := 0
		for start := time.Now(); n < len(ids) && time.Since(start) < h.Timeout; time.Sleep(100 * time.Microsecond) {
			k, err := e.cq.Poll(wcs[n:])
			h.must("poll", err)
			n += k
		}
		if n != len(ids) {
			h.Fatalf("%d completions, want %d", n, len(ids))
		}
		for i, wc := range wcs[:n] {
			if wc.WRID != ids[i] || wc.Err() != nil {
				h.Errorf("completion %d: %+v, want request %#x", i, wc, ids[i])
			}
		}
	}
}

// Several goroutines can poll a queue: each completion is returned to one of them.
func testManyPollers(h *harness) {
	const n = 60
	c, s := h.connected()
	for range n {
		s.recv()
	}
	seen := make(chan verbs.WC, 2*n)
	var got atomic.Int32
	var wg sync.WaitGroup
	deadline := time.Now().Add(h.Timeout)
	for range 3 {
		wg.Go(func() {
			wcs := make([]verbs.WC, 2)
			for got.Load() < n && time.Now().Before(deadline) {
				k, err := c.cq.Poll(wcs)
				if err != nil {
					h.Error(err)
					return
				}
				got.Add(int32(k))
				for _, wc := range wcs[:k] {
					seen <- wc
				}
			}
		})
	}
	for range n {
		c.send()
	}
	wg.Wait()
	close(seen)
	for wc := range seen {
		if wc.Err() != nil || !c.open[wc.WRID] {
			h.Errorf("completion %+v, a second time or of no request", wc)
		}
		delete(c.open, wc.WRID)
	}
	if len(c.open) > 0 {
		h.Errorf("%d of %d requests did not complete", len(c.open), n)
	}
	s.wait(n)
}
