package verbstest

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A LocalInvalidate runs in the order of its queue: requests before it can use the region, and
// so can a Read if the LocalInvalidate is fenced. Afterwards the peer cannot use the key.
func testLocalInvalidateOrder(h *harness) {
	access := h.window()
	c, s := h.connected()
	mr := c.region(16<<10, access)
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
	for i := range wrs { // one by one: a batch would show the order
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

// R290, A6: no Read returns bytes that were written after Invalidate has returned.
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
		for i := range mr.Bytes() { // a secret, which the peer must not get
			mr.Bytes()[i] = 0x5e
		}
		h.lost(s)
		h.lost(c)
		stop.Store(true)
		wg.Wait()
		if !h.LateReads && bytes.IndexByte(sink.Bytes(), 0x5e) >= 0 {
			h.Fatalf("round %d: a Read returned bytes that were written after Invalidate had returned", round)
		}
	}
}

// R290, R301: a region is invalidated and registered again at once, while the peer still uses the
// old key. No access changes the new bytes.
func testReregisterRace(h *harness) {
	for round := range 10 {
		c, s := h.connected()
		next := s.region(4096, 0)
		mr := s.region(4096, remoteRW) // deregistered before the memory of next is freed
		src := c.region(4096, 0)
		copy(src.Bytes(), bytes.Repeat([]byte{0xee}, 4096))
		var wg sync.WaitGroup
		var stop atomic.Bool
		wr := remote(verbs.RDMAWrite, mr, 0, whole(src))
		wr.WRID = 1
		wg.Go(func() {
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
		h.must("reregister", mr.Reregister(next.Bytes(), remoteRW))
		h.lost(s)
		h.lost(c)
		stop.Store(true)
		wg.Wait()
		if bytes.IndexByte(next.Bytes(), 0xee) >= 0 {
			h.Fatalf("round %d: a Write with the old key reached the new bytes", round)
		}
	}
}

// With random requests in random order, the memory at both ends equals the memory of a model that
// carries out one request after the other.
func testRandom(h *harness) {
	const size, steps, depth = 512, 400, 8
	c, s := h.connected()
	rng := rand.New(rand.NewPCG(5, 7))
	mine, yours := c.region(size, remoteRW), s.region(size, remoteRW) // memory
	mailbox := s.region(depth*32, verbs.AccessLocalWrite)
	model := [2][]byte{make([]byte, size), make([]byte, size)}
	for i := range size {
		mine.Bytes()[i], model[0][i] = byte(i), byte(i)
	}
	spot := func() (off, n int) {
		off = rng.IntN(size)
		return off, rng.IntN(min(size-off, 32) + 1)
	}
	for step := 0; step < steps; {
		// A burst, whose intermediate states are not visible. A Read is the last request of a
		// burst, because later requests may overtake it.
		var wrs []verbs.SendWR
		var messages [][]byte
		for len(wrs) < depth {
			step++
			off, n := spot()
			sgl := c.halves(mine, off, n)
			switch rng.IntN(3) {
			case 0:
				to := rng.IntN(size - n + 1)
				wrs = append(wrs, remote(verbs.RDMAWrite, yours, uint64(to), sgl...))
				copy(model[1][to:], model[0][off:off+n])
			case 1:
				wrs = append(wrs, verbs.SendWR{Opcode: verbs.Send, SGL: sgl})
				at := len(messages)
				messages = append(messages, bytes.Clone(model[0][off:off+n]))
				s.recv(verbs.SGE{MR: mailbox, Offset: 32 * at, Length: 32})
			case 2:
				if len(wrs) == 0 {
					from := rng.IntN(size - n + 1)
					wrs = append(wrs, remote(verbs.RDMARead, yours, uint64(from), sgl[:1]...))
					copy(model[0][off:off+sgl[0].Length], model[1][from:])
				}
			}
			if len(wrs) > 0 && wrs[0].Opcode == verbs.RDMARead {
				break
			}
		}
		for i := range wrs {
			wrs[i].WRID, wrs[i].Flags = c.nextID(), signaled
		}
		_, err := c.qp.PostSend(wrs)
		h.must("post", err)
		for i, wc := range c.wait(len(wrs)) {
			if wc.Err() != nil || wc.WRID != wrs[i].WRID {
				h.Fatalf("step %d: completion %d: %+v", step, i, wc)
			}
		}
		for i, wc := range s.wait(len(messages)) {
			if got := mailbox.Bytes()[32*i : 32*i+int(wc.ByteLen)]; wc.Err() != nil || !bytes.Equal(got, messages[i]) {
				h.Fatalf("step %d: message %d: %+v with %x, want %x", step, i, wc, got, messages[i])
			}
		}
		// R4: a Send after the burst's Writes proves that they are in place.
		s.recv()
		c.send()
		c.wait(1)
		s.wait(1)
		if !bytes.Equal(mine.Bytes(), model[0]) || !bytes.Equal(yours.Bytes(), model[1]) {
			h.Fatalf("step %d: memory differs from the model's", step)
		}
	}
}
