package verbstest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// RFC 5042 §6.1.1, A2: keys next to a known one, and keys that a counter would generate, are not
// valid. Each wrong guess costs the attacker its connection. With DeviceAttributes.GuessableKeys
// they may be valid in the domain of their region, so the case tries them from another one.
func testGuessedKeys(h *harness) {
	_, s := h.connected()
	victim := s.region(64, remoteRW)
	guesses := []uint32{0, 1, ^uint32(0), 1 << 31}
	for i := range uint32(8) {
		guesses = append(guesses, victim.RKey()+1+i, victim.RKey()-1-i, victim.RKey()+(1+i)<<8, victim.RKey()^1<<(4*i))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		guesses = append(guesses, rng.Uint32())
	}
	if h.Server.Attributes().GuessableKeys {
		guesses = append(guesses, victim.RKey())
	}
	// The victim's domain is the attacker's own here, unless keys are guessable: only the key is
	// wrong.
	for i, key := range guesses {
		h.Run("", func(h *harness) {
			c, s := h.connected()
			s.recvs(1, 8)
			near := victim
			if !h.Server.Attributes().GuessableKeys {
				near = s.region(64, remoteRW)
				if i%2 == 0 {
					key += near.RKey() - victim.RKey() // as far from a key of this connection
				}
				if key == near.RKey() {
					return
				}
			}
			own := c.region(8, verbs.AccessLocalWrite)
			own.Bytes()[0] = 1
			id := c.post(verbs.SendWR{Opcode: verbs.RDMAWrite, Flags: signaled, SGL: []verbs.SGE{whole(own)}, RKey: key, RemoteAddr: near.RemoteAddr()})
			h.broken(c, s, id, verbs.StatusRemoteAccess, verbs.StatusFlushed)
			if !bytes.Equal(near.Bytes(), make([]byte, 64)) {
				h.Errorf("key %#x opened the region of key %#x", key, near.RKey())
			}
		})
	}
	if !bytes.Equal(victim.Bytes(), make([]byte, 64)) || victim.State() != verbs.MRValid || s.qp.State() != verbs.StateConnected {
		h.Errorf("the victim suffered: region %v, queue pair %v", victim.State(), s.qp.State())
	}
}

// R290, A5: no Write changes memory after Invalidate has returned.
func testInvalidateRace(h *harness) {
	for round := range 20 {
		c, s := h.connected()
		mr := s.region(4096, remoteRW)
		src := c.region(4096, 0)
		var wg sync.WaitGroup
		var stop atomic.Bool
		wg.Go(func() {
			for i := byte(1); !stop.Load(); i++ {
				if i%8 == 0 { // so the queue may be full: go on
					c.cq.Poll(make([]verbs.WC, 64))
				}
				wr := remote(verbs.RDMAWrite, mr, 0, whole(src))
				wr.WRID = 1
				if _, err := c.qp.PostSend([]verbs.SendWR{wr}); err != nil && !errors.Is(err, verbs.ErrQueueFull) {
					return
				}
			}
		})
		time.Sleep(time.Duration(round) * 20 * time.Microsecond)
		h.must("invalidate", mr.Invalidate())
		for i := range mr.Bytes() { // the race detector reports other accesses
			mr.Bytes()[i] = 0xa5
		}
		h.lost(s)
		stop.Store(true)
		wg.Wait()
		if !bytes.Equal(mr.Bytes(), bytes.Repeat([]byte{0xa5}, 4096)) {
			h.Fatalf("round %d: a Write landed after Invalidate returned", round)
		}
	}
}

// Two connections share a domain and a completion queue. A key works on both, completions name
// their queue pair, and the end of one connection does not affect the other.
func testSharedObjects(h *harness) {
	c1, s1 := h.connected()
	c2 := h.newEnd(h.Client, verbs.QPConfig{})
	s2 := &end{h: h, dev: h.Server, pd: s1.pd, cq: s1.cq, wake: s1.wake, open: make(map[uint64]bool)}
	lost, gone := verbs.NotifyChannel()
	qp, err := s1.pd.CreateQP(verbs.QPConfig{SendCQ: s1.cq, RecvCQ: s1.cq, MaxSendWR: 16, MaxRecvWR: 16, Notify: lost})
	h.must("create second qp", err)
	h.Cleanup(func() { h.check("close second qp", qp.Close()) })
	s2.qp, s2.lost = qp, gone
	h.connect(c2, s2, nil, nil)
	if s1.qp.Num() == qp.Num() {
		h.Errorf("two queue pairs have number %d", qp.Num())
	}
	mr := s1.region(8, remoteRW)
	for _, c := range []*end{c1, c2} {
		c.post(remote(verbs.RDMAWrite, mr, 0, whole(c.region(8, verbs.AccessLocalWrite))))
		if wc := c.wait(1)[0]; wc.Err() != nil {
			h.Errorf("write through one of two connections of a domain: %v", wc.Err())
		}
	}
	r1 := s1.recv(whole(s1.region(8, verbs.AccessLocalWrite)))
	r2 := s2.recv(whole(s1.region(8, verbs.AccessLocalWrite)))
	c2.send(c2.text("two"))
	c2.wait(1)
	s2.ok(r2, verbs.WC{Opcode: verbs.WCRecv, ByteLen: 3})
	h.must("disconnect", c2.qp.Disconnect())
	h.lost(s2)
	c1.send(c1.text("one"))
	s1.ok(r1, verbs.WC{Opcode: verbs.WCRecv, ByteLen: 3})
	if mr.State() != verbs.MRValid {
		h.Errorf("the end of one connection made the shared region %v", mr.State())
	}
}

// Messages with as many elements as the device allows, in both directions.
func testLongLists(h *harness) {
	a, b := h.Client.Attributes(), h.Server.Attributes()
	n := min(a.MaxSendSGE, b.MaxRecvSGE, 64)
	c := h.newEnd(h.Client, verbs.QPConfig{MaxSendSGE: n})
	s := h.newEnd(h.Server, verbs.QPConfig{MaxRecvSGE: n})
	h.connect(c, s, nil, nil)
	src, dst := c.region(3*n, 0), s.region(3*n, verbs.AccessLocalWrite)
	var from, to []verbs.SGE
	want := make([]byte, 3*n)
	for i := range src.Bytes() {
		src.Bytes()[i] = byte(i + 1)
		want[i] = byte(i + 1)
	}
	for i := range n { // written backwards, in threes
		from = append(from, verbs.SGE{MR: src, Offset: 3 * i, Length: 3})
		to = append(to, verbs.SGE{MR: dst, Offset: 3 * (n - 1 - i), Length: 3})
	}
	r, id := s.recv(to...), c.send(from...)
	s.ok(r, verbs.WC{Opcode: verbs.WCRecv, ByteLen: uint32(3 * n)})
	c.ok(id, verbs.WC{Opcode: verbs.WCSend})
	for i := range n {
		at := 3 * (n - 1 - i)
		if !bytes.Equal(dst.Bytes()[at:at+3], want[3*i:3*i+3]) {
			h.Fatalf("element %d of %d has %v, want %v", i, n, dst.Bytes()[at:at+3], want[3*i:3*i+3])
		}
	}
}

// R5: the completions of a send queue come in the order of the posts, for all opcodes.
func testCompletionOrder(h *harness) {
	c, s := h.connected()
	const size = 32 << 10
	mr := s.region(size+8, remoteRW) // the Writes do not overlap the Reads
	own := c.region(size, verbs.AccessLocalWrite)
	s.recvs(16, 8)
	msg := c.text("small")
	var ids []uint64
	for i := range 48 {
		switch i % 3 {
		case 0:
			ids = append(ids, c.post(remote(verbs.RDMARead, mr, 0, whole(own))))
		case 1:
			ids = append(ids, c.send(msg))
		case 2:
			ids = append(ids, c.post(remote(verbs.RDMAWrite, mr, size, msg)))
		}
	}
	for i, wc := range c.wait(len(ids)) {
		if want := []verbs.WCOpcode{verbs.WCRDMARead, verbs.WCSend, verbs.WCRDMAWrite}[i%3]; wc.WRID != ids[i] || wc.Err() != nil || wc.Opcode != want {
			h.Fatalf("completion %d: %+v, want %v of request %d", i, wc, want, ids[i])
		}
	}
	s.wait(16)
}

// A notification may poll, arm and post on the connection that has caused it, at both sides at
// once.
func testPostFromNotify(h *harness) {
	const rounds = 200
	done := make(chan struct{})
	var received atomic.Int32
	type player struct {
		qp  verbs.QueuePair
		cq  verbs.CompletionQueue
		msg verbs.SGE
		buf verbs.SGE
	}
	var players [2]*player
	var failed atomic.Pointer[error]
	fail := func(err error) {
		if err != nil && failed.CompareAndSwap(nil, &err) {
			close(done)
		}
	}
	react := func(p *player) {
		wcs := make([]verbs.WC, 8)
		for {
			n, err := p.cq.Poll(wcs)
			if err != nil {
				return // closed
			}
			for _, wc := range wcs[:n] {
				if wc.Status != verbs.StatusSuccess || wc.Opcode != verbs.WCRecv {
					continue
				}
				switch k := received.Add(1); {
				case k == rounds:
					close(done)
				case k < rounds:
					_, err = p.qp.PostRecv([]verbs.RecvWR{{WRID: 1, SGL: []verbs.SGE{p.buf}}})
					fail(err)
					_, err = p.qp.PostSend([]verbs.SendWR{{WRID: 2, Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{p.msg}}})
					fail(err)
				}
			}
			if n == 0 {
				return
			}
		}
	}
	// The queues are created before the players that they notify, and not armed until then.
	for i, dev := range []verbs.Device{h.Client, h.Server} {
		p := new(player)
		players[i] = p
		pd, err := dev.AllocPD()
		h.must("alloc pd", err)
		h.Cleanup(func() { h.check("close pd", pd.Close()) })
		p.cq, err = dev.CreateCQ(32, func() {
			react(p)
			if err := p.cq.Arm(false); err != nil {
				return
			}
			react(p)
		})
		h.must("create cq", err)
		h.Cleanup(func() { h.check("close cq", p.cq.Close()) })
		p.qp, err = pd.CreateQP(verbs.QPConfig{SendCQ: p.cq, RecvCQ: p.cq, MaxSendWR: 16, MaxRecvWR: 16})
		h.must("create qp", err)
		h.Cleanup(func() { h.check("close qp", p.qp.Close()) })
		e := &end{h: h, dev: dev, pd: pd}
		p.msg, p.buf = e.text("pong"), whole(e.region(8, verbs.AccessLocalWrite))
	}
	h.connect(&end{qp: players[0].qp}, &end{qp: players[1].qp}, nil, nil)
	for _, p := range players {
		_, err := p.qp.PostRecv([]verbs.RecvWR{{WRID: 1, SGL: []verbs.SGE{p.buf}}})
		h.must("post receive", err)
		h.must("arm", p.cq.Arm(false))
	}
	_, err := players[0].qp.PostSend([]verbs.SendWR{{WRID: 2, Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{players[0].msg}}})
	h.must("serve", err)
	select {
	case <-done:
		if err := failed.Load(); err != nil {
			h.Errorf("post from a notification: %v", *err)
		}
	case <-time.After(h.Timeout):
		h.Fatalf("%d of %d messages after %v", received.Load(), rounds, h.Timeout)
	}
}

// A queue pair closes while other goroutines post. Each post is accepted or refused, none
// blocks, and each accepted request completes once.
func testCloseWhilePosting(h *harness) {
	for round := range 20 {
		c, s := h.connected()
		msg, buf := c.text("x"), s.region(8, verbs.AccessLocalWrite)
		for range 60 {
			s.recv(whole(buf))
		}
		var wg sync.WaitGroup
		var accepted atomic.Int32
		for g := range 3 {
			wg.Go(func() {
				for i := range 20 {
					n, err := c.qp.PostSend([]verbs.SendWR{{WRID: uint64(1 + 20*g + i), Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{msg}}})
					accepted.Add(int32(n))
					if err != nil {
						if !errors.Is(err, verbs.ErrInvalidState) {
							h.Errorf("post during close: %v", err)
						}
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(round) * 3 * time.Microsecond)
		h.must("close", c.qp.Close())
		wg.Wait()
		c.id = 60
		for id := range uint64(60) {
			c.open[id+1] = true
		}
		c.wait(int(accepted.Load()))
		c.quiet()
		h.lost(s)
		s.wait(60)
		s.quiet()
	}
}

// ErrDeviceRemoved: removing a device breaks its connections. Its objects can be closed, and no
// others be created.
func testRemoval(h *harness) {
	if h.Remove == nil {
		h.Skip("Fabric.Remove is not set: the suite cannot take the device away")
	}
	c, s := h.connected()
	c.recvs(2, 8)
	s.recvs(3, 8)
	h.Remove(h.Client)
	h.failed(c)
	h.wantErr("reason", c.qp.Err(), verbs.ErrDeviceRemoved)
	if h.Client != h.Server {
		h.failed(s)
		h.wantCause("peer's reason", s.qp.Err(), verbs.ErrPeerDisconnected)
	}
	_, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send}})
	h.wantErr("post", err, verbs.ErrInvalidState)
	_, err = h.Client.AllocPD()
	h.wantErr("alloc pd", err, verbs.ErrDeviceRemoved)
	ctx, cancel := h.context()
	defer cancel()
	_, err = h.Client.Listen(ctx, h.Addr)
	h.wantErr("listen", err, verbs.ErrDeviceRemoved)
}
