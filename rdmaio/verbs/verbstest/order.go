package verbstest

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A LocalInvalidate takes its turn: what was posted before it uses the region,
// and a Read too if it is fenced; then the key is dead for the peer.
func testLocalInvalidateOrder(h *harness) {
	c, s := h.connected()
	mr := c.region(16<<10, remoteRW)
	copy(mr.Bytes(), "before")
	buf := s.recvs(2, 8)
	src := s.region(16<<10, verbs.AccessRemoteRead)
	copy(src.Bytes()[8:], "fetched")
	wrs := []verbs.SendWR{
		{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: mr, Length: 6}}},
		remote(verbs.RDMARead, src, 8, verbs.SGE{MR: mr, Offset: 8, Length: 16<<10 - 8}),
		{Opcode: verbs.LocalInvalidate, Flags: verbs.SendFence, InvalidateRKey: mr.RKey()},
	}
	for i := range wrs {
		wrs[i].WRID = c.nextID()
		wrs[i].Flags |= signaled
	}
	for i := range wrs { // in posts of their own: a batch would say the order
		_, err := c.qp.PostSend(wrs[i : i+1])
		h.must("post", err)
	}
	for i, wc := range c.wait(len(wrs)) {
		if wc.Err() != nil || wc.WRID != wrs[i].WRID {
			h.Errorf("completion %d: %+v", i, wc)
		}
	}
	s.wait(1)
	if mr.State() != verbs.MRInvalid || string(mr.Bytes()[8:15]) != "fetched" || string(buf[0].Bytes()[:6]) != "before" {
		h.Errorf("region is %v with %q, the peer has %q", mr.State(), mr.Bytes()[8:15], buf[0].Bytes()[:6])
	}
	c.recvs(1, 8)
	late := s.post(remote(verbs.RDMAWrite, mr, 0, s.text("late")))
	h.broken(s, c, late, verbs.StatusRemoteAccess, verbs.StatusFlushed)
	if string(mr.Bytes()[:6]) != "before" {
		h.Errorf("region has %q", mr.Bytes()[:6])
	}
}

// R290, A6: whenever Invalidate returns, no Read sees what is put there after it.
func testInvalidateReadRace(h *harness) {
	for round := range 10 {
		c, s := h.connected()
		mr := s.region(4096, verbs.AccessRemoteRead)
		sink := c.region(4096, verbs.AccessLocalWrite)
		var wg sync.WaitGroup
		var stop atomic.Bool
		wg.Go(func() {
			wr := remote(verbs.RDMARead, mr, 0, whole(sink))
			wr.WRID = 1
			wcs := make([]verbs.WC, 64)
			for !stop.Load() {
				c.cq.Poll(wcs)
				if n, _ := c.qp.PostSend([]verbs.SendWR{wr}); n == 0 && c.qp.State() != verbs.StateConnected {
					return
				}
			}
		})
		time.Sleep(time.Duration(round) * 30 * time.Microsecond)
		h.must("invalidate", mr.Invalidate())
		for i := range mr.Bytes() { // a secret, ours alone now
			mr.Bytes()[i] = 0x5e
		}
		h.lost(s)
		h.lost(c)
		stop.Store(true)
		wg.Wait()
		if bytes.IndexByte(sink.Bytes(), 0x5e) >= 0 {
			h.Fatalf("round %d: a Read saw what was written after Invalidate returned", round)
		}
	}
}
