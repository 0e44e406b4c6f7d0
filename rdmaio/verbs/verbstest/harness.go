package verbstest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

const (
	signaled = verbs.SendSignaled
	remoteRW = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite
)

// harness holds the test and the devices of a case.
type harness struct {
	testing.TB // a *testing.T, except in a benchmark
	Fabric
}

// end is one side of a connection, with its own queues. It checks that each request completes
// exactly once.
type end struct {
	h    *harness
	dev  verbs.Device
	pd   verbs.ProtectionDomain
	cq   verbs.CompletionQueue
	qp   verbs.QueuePair
	wake <-chan struct{}
	lost <-chan struct{} // QPConfig.Notify
	open map[uint64]bool // requests posted and not completed
	id   uint64

	ready chan struct{}        // used by cases with a goroutine at each side
	wcs   [benchDepth]verbs.WC // used by benchmarks
}

// newEnd returns a new side. Zero limits of cfg mean defaults. All its objects are closed at
// the end of the case.
func (h *harness) newEnd(dev verbs.Device, cfg verbs.QPConfig) *end {
	h.Helper()
	e := &end{h: h, dev: dev, open: make(map[uint64]bool)}
	var err error
	e.pd, err = dev.AllocPD()
	h.must("alloc pd", err)
	h.Cleanup(func() { h.check("close pd", e.pd.Close()) })
	notify, wake := verbs.NotifyChannel()
	e.wake = wake
	cfg.MaxSendWR, cfg.MaxRecvWR = orDefault(cfg.MaxSendWR, 64), orDefault(cfg.MaxRecvWR, 64)
	e.cq, err = dev.CreateCQ(max(256, cfg.MaxSendWR+cfg.MaxRecvWR), notify)
	h.must("create cq", err)
	h.Cleanup(func() { h.check("close cq", e.cq.Close()) })
	lost, c := verbs.NotifyChannel()
	e.lost = c
	cfg.SendCQ, cfg.RecvCQ, cfg.Notify = e.cq, e.cq, lost
	e.qp, err = e.pd.CreateQP(cfg)
	h.must("create qp", err)
	h.Cleanup(func() { h.check("close qp", e.qp.Close()) })
	return e
}

func orDefault(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}

// connected returns two connected sides with default parameters.
func (h *harness) connected() (client, server *end) {
	h.Helper()
	client, server = h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
	h.connect(client, server, nil, nil)
	return client, server
}

// connect connects two sides through a new listener.
func (h *harness) connect(client, server *end, cp, sp *verbs.ConnParams) (ci, si *verbs.ConnInfo) {
	h.Helper()
	ctx, cancel := h.context()
	defer cancel()
	ln := h.listen()
	type dialed struct {
		info *verbs.ConnInfo
		err  error
	}
	c := make(chan dialed, 1)
	go func() {
		info, err := h.Client.Dial(ctx, ln.Addr(), client.qp, cp)
		c <- dialed{info, err}
	}()
	req, err := ln.Accept(ctx)
	if err != nil {
		h.Fatalf("accept: %v (dial: %v)", err, <-c)
	}
	si, err = req.Accept(ctx, server.qp, sp)
	d := <-c
	h.must("accept request", err)
	h.must("dial", d.err)
	h.check("close listener", ln.Close())
	return d.info, si
}

func (h *harness) listen() verbs.Listener {
	h.Helper()
	ctx, cancel := h.context()
	defer cancel()
	ln, err := h.Server.Listen(ctx, h.Addr)
	h.must("listen", err)
	h.Cleanup(func() { h.check("close listener", ln.Close()) })
	return ln
}

func (h *harness) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), h.Timeout)
}

func (h *harness) must(what string, err error) {
	h.Helper()
	if err != nil {
		h.Fatalf("%s: %v", what, err)
	}
}

func (h *harness) check(what string, err error) {
	h.Helper()
	if err != nil {
		h.Errorf("%s: %v", what, err)
	}
}

// wantCause checks the reason of an end, unless the fabric may not know it.
func (h *harness) wantCause(what string, err, want error) {
	h.Helper()
	if !h.UnknownCause {
		h.wantErr(what, err, want)
	} else if err == nil {
		h.Errorf("%s: there is no reason", what)
	}
}

// wantErr checks that an error is or wraps want.
func (h *harness) wantErr(what string, err, want error) {
	h.Helper()
	if !errors.Is(err, want) {
		h.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// region allocates and registers n bytes. They are released at the end of the case.
func (e *end) region(n int, access verbs.Access) verbs.MemoryRegion {
	e.h.Helper()
	buf, err := e.pd.Alloc(n)
	e.h.must("alloc", err)
	e.h.Cleanup(func() { e.h.check("free", e.pd.Free(buf)) })
	mr, err := e.pd.RegisterMemory(buf, access)
	e.h.must("register", err)
	e.h.Cleanup(func() { e.h.check("deregister", mr.Deregister()) })
	return mr
}

// text registers a string's bytes for sending.
func (e *end) text(s string) verbs.SGE {
	e.h.Helper()
	mr := e.region(max(len(s), 1), 0)
	copy(mr.Bytes(), s)
	return verbs.SGE{MR: mr, Length: len(s)}
}

// whole returns an element with all bytes of a region.
func whole(mr verbs.MemoryRegion) verbs.SGE {
	return verbs.SGE{MR: mr, Length: len(mr.Bytes())}
}

// halves returns a range of a region as two elements, or as one if the device allows no more.
func (e *end) halves(mr verbs.MemoryRegion, off, n int) []verbs.SGE {
	if e.dev.Attributes().MaxSendSGE < 2 {
		return []verbs.SGE{{MR: mr, Offset: off, Length: n}}
	}
	return []verbs.SGE{{MR: mr, Offset: off, Length: n / 2}, {MR: mr, Offset: off + n/2, Length: n - n/2}}
}

// nextID returns a WRID and records the request as open.
func (e *end) nextID() uint64 {
	e.id++
	e.open[e.id] = true
	return e.id
}

// recv posts one Receive.
func (e *end) recv(sgl ...verbs.SGE) uint64 {
	e.h.Helper()
	id := e.nextID()
	_, err := e.qp.PostRecv([]verbs.RecvWR{{WRID: id, SGL: sgl}})
	e.h.must("post receive", err)
	return id
}

// recvs posts n Receives of size bytes each and returns their regions.
func (e *end) recvs(n, size int) []verbs.MemoryRegion {
	e.h.Helper()
	mrs := make([]verbs.MemoryRegion, n)
	for i := range mrs {
		mrs[i] = e.region(size, verbs.AccessLocalWrite)
		e.recv(whole(mrs[i]))
	}
	return mrs
}

// post posts one request, sets its WRID and returns it.
func (e *end) post(wr verbs.SendWR) uint64 {
	e.h.Helper()
	wr.WRID = e.nextID()
	if wr.Flags&signaled == 0 {
		delete(e.open, wr.WRID)
	}
	_, err := e.qp.PostSend([]verbs.SendWR{wr})
	e.h.must("post "+wr.Opcode.String(), err)
	return wr.WRID
}

// send posts a signaled Send.
func (e *end) send(sgl ...verbs.SGE) uint64 {
	e.h.Helper()
	return e.post(verbs.SendWR{Opcode: verbs.Send, Flags: signaled, SGL: sgl})
}

// wait polls n completions, with Arm as verbs.CompletionQueue describes.
func (e *end) wait(n int) []verbs.WC {
	e.h.Helper()
	got := make([]verbs.WC, 0, n)
	timeout := time.NewTimer(e.h.Timeout)
	defer timeout.Stop()
	for armed := false; len(got) < n; {
		k := e.poll(&got, n)
		switch {
		case k > 0:
			armed = false
		case !armed:
			e.h.must("arm", e.cq.Arm(false))
			armed = true
		default:
			select {
			case <-e.wake:
				armed = false
			case <-timeout.C:
				e.h.Fatalf("%d of %d completions after %v: %+v; open: %v", len(got), n, e.h.Timeout, got, e.open)
			}
		}
	}
	return got
}

// poll polls once and appends to got, up to n completions in all.
func (e *end) poll(got *[]verbs.WC, n int) int {
	e.h.Helper()
	k, err := e.cq.Poll((*got)[len(*got):n])
	e.h.must("poll", err)
	*got = (*got)[:len(*got)+k]
	for _, wc := range (*got)[len(*got)-k:] {
		if !e.open[wc.WRID] && (wc.Status == verbs.StatusSuccess || wc.WRID == 0 || wc.WRID > e.id) {
			e.h.Errorf("completion of a request that is not outstanding: %+v", wc)
		}
		delete(e.open, wc.WRID)
		if wc.QPNum != e.qp.Num() {
			e.h.Errorf("completion names queue pair %d, want %d", wc.QPNum, e.qp.Num())
		}
	}
	return k
}

// ok waits for one completion and compares it with want, whose WRID and QPNum it fills in.
func (e *end) ok(id uint64, want verbs.WC) verbs.WC {
	e.h.Helper()
	wc := e.wait(1)[0]
	want.WRID, want.QPNum = id, e.qp.Num()
	if wc != want {
		e.h.Fatalf("completion %+v, want %+v", wc, want)
	}
	return wc
}

// quiet checks that no request has completed.
func (e *end) quiet() {
	e.h.Helper()
	got := make([]verbs.WC, 0, 1)
	if e.poll(&got, 1) > 0 {
		e.h.Errorf("unexpected completion %+v", got)
	}
}

// remote returns a request on the peer's region mr, from an offset on.
func remote(op verbs.Opcode, mr verbs.MemoryRegion, off uint64, sgl ...verbs.SGE) verbs.SendWR {
	return verbs.SendWR{Opcode: op, Flags: signaled, SGL: sgl, RKey: mr.RKey(), RemoteAddr: mr.RemoteAddr() + off}
}

// broken waits until an error has broken the connection at both sides and all requests have
// completed. id is the request of a that caused the error, and status its status on a precise
// fabric. recvStatus is the status of the oldest open Receive of b, if there is one.
func (h *harness) broken(a, b *end, id uint64, status, recvStatus verbs.Status) {
	h.Helper()
	h.lost(a)
	h.lost(b)
	for _, wc := range a.wait(len(a.open)) {
		switch {
		case wc.WRID != id:
			h.wantFlushed(wc)
		case wc.Status == status, !h.Precise && (wc.Status == verbs.StatusSuccess || wc.Status == verbs.StatusFlushed):
		case status == verbs.StatusRemoteInvalidRequest && h.AnyLengthStatus && wc.Status != verbs.StatusSuccess:
		default:
			h.Errorf("request %d ended with %v, want %v", id, wc.Status, status)
		}
	}
	for i, wc := range b.wait(len(b.open)) {
		switch {
		case i > 0:
			h.wantFlushed(wc)
		case recvStatus == verbs.StatusLocalLength && h.AnyLengthStatus && wc.Status != verbs.StatusSuccess:
		case wc.Status != recvStatus && (h.Precise || wc.Status != verbs.StatusFlushed):
			h.Errorf("oldest Receive ended with %v, want %v", wc.Status, recvStatus)
		}
	}
	a.quiet()
	b.quiet()
	if errA, errB := a.qp.Err(), b.qp.Err(); h.UnknownCause {
		// lost has checked that there is a reason
	} else if !errors.Is(errA, verbs.ErrConnectionBroken) && !errors.Is(errB, verbs.ErrConnectionBroken) {
		h.Errorf("connection ended with %v and %v, want %v at one side at least", errA, errB, verbs.ErrConnectionBroken)
	} else if h.Precise && !h.AnyLengthStatus && !errors.Is(errA, verbs.StatusError{Status: status}) {
		h.Errorf("error %v does not wrap the status %v", errA, status)
	}
	_, err := a.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send}})
	h.wantErr("post on a broken connection", err, verbs.ErrInvalidState)
}

func (h *harness) wantFlushed(wc verbs.WC) {
	h.Helper()
	if wc.Status != verbs.StatusFlushed {
		h.Errorf("completion %+v, want flushed", wc)
	}
}

// lost waits for the end of a connection.
func (h *harness) lost(e *end) {
	h.Helper()
	select {
	case <-e.lost:
	case <-time.After(h.Timeout):
		h.Fatalf("queue pair %d: connection not lost after %v", e.qp.Num(), h.Timeout)
	}
	if s := e.qp.State(); s != verbs.StateError {
		h.Errorf("queue pair %d: state %v, want %v", e.qp.Num(), s, verbs.StateError)
	}
	if e.qp.Err() == nil {
		h.Errorf("queue pair %d: no reason for the lost connection", e.qp.Num())
	}
}

// Run runs a part of a case. Objects of the part are closed at its end.
func (h *harness) Run(name string, part func(*harness)) {
	h.TB.(*testing.T).Run(name, func(t *testing.T) { part(&harness{TB: t, Fabric: h.Fabric}) })
}
