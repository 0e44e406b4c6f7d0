package ibverbs

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// counted is a library whose calls are counted. Calls that take an event count if there is one.
type counted struct {
	lib.Lib
	mu sync.Mutex
	n  calls
}

// calls are numbers of calls, by short names of functions.
type calls map[string]int

func (c *counted) add(fn string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[fn]++
}

// take returns the calls since the last take.
func (c *counted) take() calls {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = make(calls)
	return n
}

func (c *counted) RegMR(pd lib.PD, addr uintptr, size int, access abi.Access) (lib.MR, error) {
	c.add("reg_mr")
	return c.Lib.RegMR(pd, addr, size, access)
}

func (c *counted) DeregMR(mr lib.MR) error {
	c.add("dereg_mr")
	return c.Lib.DeregMR(mr)
}

func (c *counted) AllocMW(pd lib.PD) (lib.MW, error) {
	c.add("alloc_mw")
	return c.Lib.AllocMW(pd)
}

func (c *counted) DeallocMW(mw lib.MW) error {
	c.add("dealloc_mw")
	return c.Lib.DeallocMW(mw)
}

func (c *counted) CreateCQ(ctx lib.Context, entries int, user uintptr, ch lib.CompChannel, vector int) (lib.CQ, error) {
	c.add("create_cq")
	return c.Lib.CreateCQ(ctx, entries, user, ch, vector)
}

func (c *counted) DestroyCQ(cq lib.CQ) error {
	c.add("destroy_cq")
	return c.Lib.DestroyCQ(cq)
}

func (c *counted) CreateQP(pd lib.PD, attr *abi.QPInitAttr) (lib.QP, error) {
	c.add("create_qp")
	return c.Lib.CreateQP(pd, attr)
}

func (c *counted) ModifyQP(qp lib.QP, attr abi.QPAttr, mask abi.QPMask) error {
	c.add("modify_qp")
	return c.Lib.ModifyQP(qp, attr, mask)
}

func (c *counted) DestroyQP(qp lib.QP) error {
	c.add("destroy_qp")
	return c.Lib.DestroyQP(qp)
}

func (c *counted) ReqNotify(cq lib.CQ, solicitedOnly bool) error {
	c.add("arm")
	return c.Lib.ReqNotify(cq, solicitedOnly)
}

func (c *counted) Poll(cq lib.CQ, wcs []byte) (int, error) {
	c.add("poll")
	return c.Lib.Poll(cq, wcs)
}

func (c *counted) CQEvent(ch lib.CompChannel) (lib.CQ, uintptr, error) {
	cq, user, err := c.Lib.CQEvent(ch)
	if err == nil {
		c.add("event")
	}
	return cq, user, err
}

func (c *counted) AckCQEvents(cq lib.CQ, n int) {
	c.add("ack")
	c.Lib.AckCQEvents(cq, n)
}

func (c *counted) PostSend(qp lib.QP, first uintptr) (uintptr, error) {
	c.add("post_send")
	return c.Lib.PostSend(qp, first)
}

func (c *counted) PostRecv(qp lib.QP, first uintptr) (uintptr, error) {
	c.add("post_recv")
	return c.Lib.PostRecv(qp, first)
}

// costs has a connection, whose client counts its calls.
type costs struct {
	*testing.T
	f    *fakeNet
	c, s *side
	n    *counted
}

func newCosts(t *testing.T, q quirks.Quirks) *costs {
	w := &costs{T: t, n: &counted{n: make(calls)}}
	w.f = openFakeOver(t, abi.TransportIB, q, noPings, func(h *fakelib.Host) lib.Lib {
		w.n.Lib = h
		return w.n
	})
	w.c = newSide(t, w.f.c, verbs.QPConfig{MaxBoundMRs: 8, MaxSendWR: 64, MaxRecvWR: 64})
	w.s = newSide(t, w.f.s, verbs.QPConfig{MaxSendWR: 64, MaxRecvWR: 64})
	connectSides(w.c, w.s)
	return w
}

// arrive lets the peer send n messages, which are there when the event of the first one is handled.
func (w *costs) arrive(n int) {
	w.c.qp.mu.Lock()
	for range n {
		w.s.send(verbs.SendWR{Opcode: verbs.Send})
	}
	w.f.net.Settle()
	w.c.qp.mu.Unlock()
	w.c.wait(n)
	w.quiet()
}

// quiet waits until the client's reader has nothing to do: the queue is armed and empty.
func (w *costs) quiet() {
	w.f.net.Settle()
	for armed := false; !armed; {
		w.c.qp.mu.Lock()
		armed = w.c.qp.armed
		w.c.qp.mu.Unlock()
	}
}

func sendsOfNothing(n int) (wrs []verbs.SendWR) {
	for range n {
		wrs = append(wrs, verbs.SendWR{Opcode: verbs.Send})
	}
	return wrs
}

// The calls of the library that an operation takes. With hardware the calls for memory cost 20
// microseconds and more, a call for an event is a system call, and posts, polls and arming cost 0.1
// microseconds each.
func TestOperationsTakeTheirCalls(t *testing.T) {
	windows, plain := noQuirks, noQuirks
	plain.NoWindows = true
	sink := plain
	sink.SinkNeedsRemoteWrite = true
	for _, c := range []struct {
		name    string
		quirks  quirks.Quirks
		prepare func(w *costs) func()
		want    calls
	}{
		{"post a Send", windows, posts(1), calls{"post_send": 1}},
		{"post 16 Sends", windows, posts(16), calls{"post_send": 1}},
		{"post 17 Sends", windows, posts(17), calls{"post_send": 2}},
		{"post 16 Receives", windows, receives(16), calls{"post_recv": 1}},
		{"post 17 Receives", windows, receives(17), calls{"post_recv": 2}},
		{"receive a message", windows, arrivals(1), calls{"event": 1, "ack": 1, "poll": 2, "arm": 1}},
		{"receive 15 messages together", windows, arrivals(15), calls{"event": 1, "ack": 1, "poll": 2, "arm": 1}},
		{"receive 16 messages together", windows, arrivals(16), calls{"event": 1, "ack": 1, "poll": 3, "arm": 1}},
		{"register without a right", windows, registers(1, verbs.AccessLocalWrite), calls{}},
		{"register without a right, where sinks need one", sink, registers(1, verbs.AccessLocalWrite), calls{"reg_mr": 1}},
		{"register with the first window", windows, registers(1, remoteRW), calls{"alloc_mw": 1, "post_send": 1}},
		{"register without windows", plain, registers(1, remoteRW), calls{"reg_mr": 1}},
		{"register without windows, where sinks need a right", sink, registers(1, remoteRW), calls{"reg_mr": 2}},
		{"register again with windows", windows, registersAgain, calls{"post_send": 1}},
		{"revoke three windows", windows, revokes(3), calls{"poll": 1, "post_send": 1}},
		{"revoke three registrations", plain, revokes(3), calls{"dereg_mr": 3}},
		{"deregister a window", windows, deregisters, calls{"poll": 1, "dealloc_mw": 1}},
		{"allocate the first buffer", windows, allocates(0), calls{"reg_mr": 1}},
		{"allocate a second buffer", windows, allocates(1), calls{}},
		{"create a queue pair", windows, creates, calls{"create_cq": 1, "create_qp": 1, "modify_qp": 1, "arm": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newCosts(t, c.quirks)
			run := c.prepare(w)
			w.quiet()
			w.n.take()
			run()
			got := w.n.take()
			w.f.client.Device("fake0").Stall(false)
			if !maps.Equal(got, c.want) {
				t.Errorf("%v, want %v", fmt.Sprint(got), fmt.Sprint(c.want))
			}
		})
	}
}

// posts posts n requests while the device executes nothing.
func posts(n int) func(w *costs) func() {
	return func(w *costs) func() {
		for i := range n {
			w.s.recv(uint64(i), w.s.region(8, verbs.AccessLocalWrite))
		}
		w.f.client.Device("fake0").Stall(true)
		return func() { w.c.send(sendsOfNothing(n)...) }
	}
}

func receives(n int) func(w *costs) func() {
	return func(w *costs) func() {
		return func() {
			_, err := w.c.qp.PostRecv(make([]verbs.RecvWR, n))
			w.c.must(err)
		}
	}
}

func arrivals(n int) func(w *costs) func() {
	return func(w *costs) func() {
		_, err := w.c.qp.PostRecv(make([]verbs.RecvWR, n))
		w.c.must(err)
		return func() { w.arrive(n) }
	}
}

// register registers n regions, which the end of the test deregisters.
func (w *costs) register(n int, access verbs.Access) (list []verbs.MemoryRegion) {
	w.Helper()
	for range n {
		buf, err := w.c.pd.Alloc(64)
		w.c.must(err)
		mr, err := w.c.pd.RegisterMemory(buf, access)
		w.c.must(err)
		w.Cleanup(func() {
			w.c.must(mr.Deregister())
			w.c.must(w.c.pd.Free(buf))
		})
		list = append(list, mr)
	}
	return list
}

func registers(n int, access verbs.Access) func(w *costs) func() {
	return func(w *costs) func() {
		w.register(1, 0) // the slab
		return func() { w.register(n, access) }
	}
}

// registersAgain registers a region whose windows have been used before.
func registersAgain(w *costs) func() {
	list := w.register(8, remoteRW) // as many windows as there may be
	for _, mr := range list {
		w.c.must(mr.Invalidate())
	}
	return func() { w.c.must(list[0].Reregister(list[0].Bytes(), remoteRW)) }
}

func revokes(n int) func(w *costs) func() {
	return func(w *costs) func() {
		list := w.register(n, remoteRW)
		w.f.client.Device("fake0").Stall(w.f.c.windows)
		done := make(chan error, 1)
		w.Cleanup(func() { w.c.must(<-done) })
		return func() { w.c.must(w.c.qp.Revoke(list, func(err error) { done <- err })) }
	}
}

func deregisters(w *costs) func() {
	mr := w.register(1, remoteRW)[0]
	w.c.send(verbs.SendWR{Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled}) // the bind has run
	w.c.wait(1)
	return func() { w.c.must(mr.Deregister()) }
}

func allocates(before int) func(w *costs) func() {
	alloc := func(w *costs) {
		buf, err := w.c.pd.Alloc(64)
		w.c.must(err)
		w.Cleanup(func() { w.c.must(w.c.pd.Free(buf)) })
	}
	return func(w *costs) func() {
		for range before {
			alloc(w)
		}
		return func() { alloc(w) }
	}
}

func creates(w *costs) func() {
	cfg := verbs.QPConfig{SendCQ: w.c.cq, RecvCQ: w.c.cq, MaxSendWR: 4, MaxRecvWR: 4}
	return func() {
		qp, err := w.c.pd.CreateQP(cfg)
		w.c.must(err)
		w.Cleanup(func() { w.c.must(qp.Close()) })
	}
}

// While a caller polls, messages make no events, and the queue is not armed.
func TestPollingTakesNoEvents(t *testing.T) {
	w := newCosts(t, noQuirks)
	_, err := w.c.qp.PostRecv(make([]verbs.RecvWR, 10))
	w.c.must(err)
	w.c.qp.Progress(func() bool {
		w.s.send(verbs.SendWR{Opcode: verbs.Send}) // the queue was armed for this one
		w.c.wait(1)
		w.c.until("the event of the first message is handled", func(q *queuePair) bool { return !q.armed })
		w.n.take()
		for range 9 {
			w.s.send(verbs.SendWR{Opcode: verbs.Send})
			w.f.net.Settle()
			w.c.qp.mu.Lock()
			w.c.qp.poll()
			w.c.qp.mu.UnlockNotify()
			w.c.wait(1)
		}
		if got, want := w.n.take(), (calls{"poll": 9}); !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		return true
	})
}
