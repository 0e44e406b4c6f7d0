package ibverbs

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/tcpstate"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// brittle are the quirks of a device on which an acceptor must not speak first.
var brittle = quirks.Quirks{BrittleReply: true, KernelTCP: true}

// speakFirst lets an acceptor send before the initiator knows that it is connected.
func speakFirst(q *quirkTest) error {
	c, s := newSide(q.c.t, q.f.c, verbs.QPConfig{}), newSide(q.c.t, q.f.s, verbs.QPConfig{})
	c.recv(1, c.region(8, verbs.AccessLocalWrite))
	ln, err := q.f.s.Listen(c.t.Context(), "127.0.0.2:0")
	c.must(err)
	defer ln.Close()
	dialed := make(chan error, 1)
	go func() {
		_, err := q.f.c.Dial(c.t.Context(), ln.Addr(), c.qp, nil)
		dialed <- err
	}()
	req, err := ln.Accept(c.t.Context())
	c.must(err)
	q.f.client.HoldEvents(true)
	_, err = req.Accept(c.t.Context(), s.qp, nil)
	c.must(err)
	s.send(verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled})
	if !q.known {
		<-s.lost // the message has reached the initiator
	}
	q.f.client.HoldEvents(false)
	if err := <-dialed; err != nil {
		return err
	}
	return c.wait(1)[0].Err()
}

// withholding are an acceptor, whose library is watched, and an initiator, which does not speak.
type withholding struct {
	f    *fakeNet
	w    *watched
	a, i *side
}

// withhold connects an acceptor that has accepted, and an initiator that does not know that it may
// have to speak.
func withhold(t *testing.T) *withholding {
	t.Helper()
	h := new(withholding)
	h.f, h.w = openWatched(t, abi.TransportIWARP, brittle, noPings)
	h.f.s.quirks.BrittleReply = false
	h.f.c.waits.withhold = time.Hour
	h.a, h.i = newSide(t, h.f.c, verbs.QPConfig{}), newSide(t, h.f.s, verbs.QPConfig{})
	ln, err := h.f.c.Listen(t.Context(), "127.0.0.1:0")
	h.a.must(err)
	defer ln.Close()
	dialed := make(chan error, 1)
	go func() {
		_, err := h.f.s.Dial(t.Context(), ln.Addr(), h.i.qp, nil)
		dialed <- err
	}()
	req, err := ln.Accept(t.Context())
	h.a.must(err)
	_, err = req.Accept(t.Context(), h.a.qp, nil)
	h.a.must(err)
	h.a.must(<-dialed)
	h.w.order()
	return h
}

// sends posts n Sends of the acceptor. Every other one is signaled. It expects that the device does
// not get them.
func (h *withholding) sends(n int) {
	h.a.t.Helper()
	for k := range n {
		wr := verbs.SendWR{WRID: uint64(k), Opcode: verbs.Send}
		if k%2 == 1 {
			wr.Flags = verbs.SendSignaled
		}
		h.a.send(wr)
	}
	if posted := h.w.count("ibv_post_send"); posted > 0 {
		h.a.t.Fatalf("%d posts before there is a sign of the initiator", posted)
	}
}

// An acceptor's requests are posted, in their order, when there is a sign of the initiator.
func TestAcceptorWaitsForASignOfTheInitiator(t *testing.T) {
	signs := map[string]func(h *withholding){
		"bytes": func(h *withholding) { // that complete nothing
			h.i.qp.mu.Lock()
			h.i.qp.ping(verbs.RDMAWrite)
			h.i.qp.mu.UnlockNotify()
		},
		"a message": func(h *withholding) { h.i.send(verbs.SendWR{Opcode: verbs.Send}) },
		"the time": func(h *withholding) {
			h.a.qp.mu.Lock()
			h.a.qp.held.until = time.Now()
			h.a.qp.mu.Unlock()
		},
	}
	for name, sign := range signs {
		t.Run(name, func(t *testing.T) {
			h := withhold(t)
			if name != "bytes" { // a kernel that does not answer
				h.f.c.tcp = func(_, _ netip.AddrPort) (tcpstate.State, error) { return tcpstate.State{}, syscall.ENOENT }
			}
			const n = 2*postBatch + 6
			h.a.recv(100, h.a.region(8, verbs.AccessLocalWrite))
			for k := range n {
				h.i.recv(uint64(k), h.i.region(8, verbs.AccessLocalWrite))
			}
			h.sends(n)
			sign(h)
			h.i.wait(n)
			got := h.a.wait(n / 2)
			if name == "a message" {
				got = append(got, h.a.wait(1)...)
			}
			next := uint64(1)
			for _, wc := range got {
				if wc.Opcode == verbs.WCRecv {
					continue
				}
				if wc.WRID != next || wc.Status != verbs.StatusSuccess {
					t.Errorf("completion %+v, want success of %d", wc, next)
				}
				next += 2
			}
			h.a.send(verbs.SendWR{WRID: 200, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled})
			if wc := h.a.wait(1)[0]; wc.WRID != 200 || wc.Status != verbs.StatusSuccess {
				t.Errorf("completion %+v of a later request", wc)
			}
		})
	}
}

// Bytes of the connection request are not a sign of the initiator, and only an acceptor waits.
func TestOnlyAcceptorsWaitForTheirPeer(t *testing.T) {
	h := withhold(t)
	h.sends(2)
	h.a.qp.held.look()
	h.a.qp.mu.Lock()
	h.a.qp.ping(verbs.RDMAWrite) // of PeerTimeout
	step := h.a.qp.held.step
	h.a.qp.mu.Unlock()
	if n := h.w.count("ibv_post_send"); n > 0 {
		t.Errorf("%d posts without a sign of the initiator", n)
	}
	if step <= firstLook || step > lastLook {
		t.Errorf("the next look is %v after the second", step)
	}
	h.a.recv(1, h.a.region(8, verbs.AccessLocalWrite))
	h.i.send(verbs.SendWR{Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled})
	h.i.wait(1)
}

// Requests that were never posted are flushed when the queue pair ends.
func TestWithheldRequestsAreFlushedAtTheEnd(t *testing.T) {
	h := withhold(t)
	h.sends(4)
	h.a.must(h.a.qp.Disconnect())
	for k, wc := range h.a.wait(4) {
		if wc.WRID != uint64(k) || wc.Status != verbs.StatusFlushed {
			t.Errorf("completion %+v, want %d flushed", wc, k)
		}
	}
	if h.a.qp.held.timer.Stop() {
		t.Error("the timer runs after the end")
	}
}

// A region of a withheld request is deregistered.
func TestWithheldRequestsOfAnInvalidRegionFail(t *testing.T) {
	h := withhold(t)
	buf, err := h.a.pd.Alloc(8)
	h.a.must(err)
	mr, err := h.a.pd.RegisterMemory(buf, 0)
	h.a.must(err)
	h.a.send(verbs.SendWR{WRID: 1, Opcode: verbs.Send, SGL: []verbs.SGE{{MR: mr, Length: 8}}})
	h.a.must(mr.Deregister())
	h.a.must(h.a.pd.Free(buf))
	if wc := h.a.wait(1)[0]; wc.WRID != 1 || wc.Status != verbs.StatusLocalProtection {
		t.Errorf("completion %+v, want StatusLocalProtection", wc)
	}
}

// The library refuses a withheld request whose post has succeeded: the queue pair ends.
func TestWithheldRequestThatIsRefusedEndsTheQueuePair(t *testing.T) {
	for _, taken := range []int{0, 3, postBatch + 3} {
		t.Run(fmt.Sprint(taken, " taken"), func(t *testing.T) {
			h := withhold(t)
			const n = postBatch + 6
			for k := range n {
				h.i.recv(uint64(k), h.i.region(8, verbs.AccessLocalWrite))
			}
			h.sends(n)
			h.w.refusePosts(taken, syscall.EIO)
			h.a.qp.mu.Lock()
			h.a.qp.held.release()
			h.a.qp.mu.UnlockNotify()
			h.a.ends()
			var ids []uint64
			for {
				wcs := make([]verbs.WC, n)
				k, err := h.a.cq.Poll(wcs)
				h.a.must(err)
				if k == 0 {
					break
				}
				for _, wc := range wcs[:k] {
					ids = append(ids, wc.WRID)
					if wc.Status != verbs.StatusFlushed && wc.WRID >= uint64(taken) {
						t.Errorf("completion %+v of a request that was not posted", wc)
					}
				}
			}
			if len(ids) == 0 || ids[len(ids)-1] != n-1 {
				t.Errorf("completions of %d, want one of the last request", ids)
			}
		})
	}
}

// A request that is sure to fail waits behind those that are withheld.
func TestInvalidRequestWaitsBehindWithheldOnes(t *testing.T) {
	h := withhold(t)
	h.i.recv(1, h.i.region(8, verbs.AccessLocalWrite))
	n, err := h.a.qp.PostSend([]verbs.SendWR{{WRID: 1, Opcode: verbs.Send}, {WRID: 2, Opcode: verbs.LocalInvalidate, InvalidateRKey: 77}})
	if n != 2 || err != nil {
		t.Fatalf("PostSend: %d, %v, want 2", n, err)
	}
	h.a.qp.mu.Lock()
	h.a.qp.held.release()
	h.a.qp.mu.UnlockNotify()
	if wc := h.a.wait(1)[0]; wc.WRID != 2 || wc.Status != verbs.StatusLocalProtection {
		t.Errorf("completion %+v, want StatusLocalProtection of the second", wc)
	}
	if wc := h.i.wait(1)[0]; wc.Status != verbs.StatusSuccess {
		t.Errorf("completion %+v of the message before it", wc)
	}
}

// An initiator over siw sends something when it is connected, and an acceptor does not.
func TestInitiatorSpeaksWhenItIsConnected(t *testing.T) {
	f, w := openWatched(t, abi.TransportIWARP, brittle, noPings)
	c, _ := connectedSides(t, f)
	if n := w.count("ibv_post_send"); n != 1 {
		t.Errorf("%d posts of the initiator, want 1", n)
	}
	if wr := abi.GetSendWR(c.qp.area.sendAt(0)); wr.Opcode != abi.OpWrite || wr.NumSGE != 0 {
		t.Errorf("the initiator has posted %+v, want a Write of no bytes", wr)
	}
}
