package rdmatcp_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// One side disconnects while both send as much as they can. The other learns that the end was
// orderly: nearly always with short messages, and with long ones if none was cut off. On a busy
// machine the goodbye may come too late.
func TestGoodbyeUnderLoad(t *testing.T) {
	const rounds = 10
	for _, size := range []int{100, 200 << 10} {
		told := 0
		for range rounds {
			c, s := newPair(t, nil)
			var stopped atomic.Bool
			flood := func(own, peer *side) {
				wr := []verbs.SendWR{{Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled, SGL: own.sge(size), RKey: peer.mr.RKey(), RemoteAddr: 300 << 10}}
				for !stopped.Load() {
					if _, err := own.qp.PostSend(wr); errors.Is(err, verbs.ErrInvalidState) {
						return
					}
					own.cq.Poll(own.wcs[:])
				}
			}
			go flood(c, s)
			go flood(s, c)
			time.Sleep(2 * time.Millisecond)
			quick(t, s.qp.Disconnect)
			(&victim{s, t}).fails(verbs.ErrDisconnected)
			(&victim{c, t}).fails()
			switch err := c.qp.Err(); {
			case errors.Is(err, verbs.ErrPeerDisconnected):
				told++
			case !errors.Is(err, verbs.ErrConnectionBroken):
				t.Errorf("writes of %d bytes: %v", size, err)
			}
			stopped.Store(true)
		}
		if told < rounds/2 && size <= rdmatcp.StageLimit {
			t.Errorf("writes of %d bytes: %d of %d saw a goodbye", size, told, rounds)
		}
		t.Logf("writes of %d bytes: %d of %d saw a goodbye", size, told, rounds)
	}
}

// Connection requests that wait are refused when the listener closes. Those beyond the backlog are
// refused at once.
func TestWaitingRequestsAreRefusedAtClose(t *testing.T) {
	server, client := device(t, &rdmatcp.Config{Backlog: 1}), device(t, nil)
	ln, err := server.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	results := make(chan error, 2)
	for range 2 {
		c := newSide(t, client)
		go func() {
			_, err := client.Dial(ctx, ln.Addr(), c.qp, nil)
			results <- err
		}()
	}
	if err := <-results; !errors.Is(err, verbs.ErrConnectionRefused) {
		t.Errorf("one too many: %v, want %v", err, verbs.ErrConnectionRefused)
	}
	ln.Close()
	if err := <-results; !errors.Is(err, verbs.ErrConnectionRefused) {
		t.Errorf("not taken before the close: %v, want %v", err, verbs.ErrConnectionRefused)
	}
}

// A14: an idle connection with the largest depth, which has sent and received something, costs at
// most 64 KiB besides its posted requests.
func TestIdleMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector itself needs memory")
	}
	n := min(1000, (descriptors()-scaleRest)/2)
	if testing.Short() {
		n = 100
	}
	used := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	client, server := device(t, nil), device(t, nil)
	at := client.Attributes()
	params := verbs.ConnParams{InitiatorDepth: at.MaxInitiatorDepth, ResponderResources: at.MaxResponderResources}
	pdC, _ := client.AllocPD()
	pdS, _ := server.AllocPD()
	cqC, _ := client.CreateCQ(256*n, nil)
	cqS, _ := server.CreateCQ(256*n, nil)
	ln, err := server.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	before := used()
	var qps []verbs.QueuePair
	for range n {
		c, err := pdC.CreateQP(verbs.QPConfig{SendCQ: cqC, RecvCQ: cqC})
		if err != nil {
			t.Fatal(err)
		}
		s, err := pdS.CreateQP(verbs.QPConfig{SendCQ: cqS, RecvCQ: cqS})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := client.Dial(ctx, ln.Addr(), c, &params)
			done <- err
		}()
		req, err := ln.Accept(ctx)
		if err == nil {
			_, err = req.Accept(ctx, s, &params)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for _, q := range []verbs.QueuePair{c, s} {
			if _, err := q.PostSend([]verbs.SendWR{{Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled}}); err != nil {
				t.Fatal(err)
			}
		}
		qps = append(qps, c, s)
	}
	time.Sleep(20 * time.Millisecond)
	each := (used() - before) / int64(2*n)
	t.Logf("%d bytes for each end of a connection", each)
	if each > 64<<10 {
		t.Errorf("%d bytes for each end of a connection, want at most 64 KiB", each)
	}
	ln.Close()
	for _, q := range qps {
		q.Close()
	}
	cqC.Close()
	cqS.Close()
	pdC.Close()
	pdS.Close()
}
