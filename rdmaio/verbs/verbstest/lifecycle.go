package verbstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A call with a context that is done returns at once, without an effect that would have to be
// undone.
func testEndedContext(h *harness) {
	ended, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer cancel()
	if ln, err := h.Server.Listen(ended, h.Addr); err == nil {
		h.check("close", ln.Close()) // a provider that does not wait may succeed
	} else {
		h.wantErr("listen", err, context.DeadlineExceeded)
	}
	ln := h.listen()
	_, err := ln.Accept(ended)
	h.wantErr("accept", err, context.DeadlineExceeded)
	c := h.newEnd(h.Client, verbs.QPConfig{})
	c.recvs(1, 8)
	_, err = h.Client.Dial(ended, ln.Addr(), c.qp, nil)
	h.wantErr("dial", err, context.DeadlineExceeded)
	h.failed(c)

	ctx, stop := h.context()
	defer stop()
	c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
	s.recvs(1, 8)
	req, res := h.dialing(ctx, ln, c)
	_, err = req.Accept(ended, s.qp, nil)
	h.wantErr("accept of the request", err, context.DeadlineExceeded)
	h.failed(s)
	if err := h.result(res); (h.Precise || err != nil) && !h.rejected(err) {
		h.wantErr("dial a peer that has given up", err, verbs.ErrPeerDisconnected)
	}
	h.lost(c)
	h.wantErr("second answer", req.Reject(nil), verbs.ErrInvalidState)
}

// rejected reports whether an error of Dial is a rejection, where that may have another cause.
func (h *harness) rejected(err error) bool {
	rejected := new(verbs.RejectedError)
	return h.UnknownCause && errors.As(err, &rejected) && h.samePrivate(rejected.PrivateData, nil)
}

// Many connect at once. Each request connects its own dialer.
func testManyConnects(h *harness) {
	const n = 16
	ctx, cancel := h.context()
	defer cancel()
	ln := h.listen()
	var clients, servers [n]*end
	var bufs [n]verbs.MemoryRegion
	for i := range n {
		clients[i], servers[i] = h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
		clients[i].recvs(1, 8)
		bufs[i] = servers[i].region(8, verbs.AccessLocalWrite)
		servers[i].recv(whole(bufs[i]))
	}
	errs := make(chan error, n)
	for i := range n {
		go func() {
			info, err := h.Client.Dial(ctx, ln.Addr(), clients[i].qp, &verbs.ConnParams{PrivateData: h.private(string(rune('a' + i)))})
			if err == nil && !h.samePrivate(info.PrivateData, h.private(string(rune('A'+i)))) {
				err = fmt.Errorf("dialer %d was answered with %q", i, info.PrivateData)
			}
			errs <- err
		}()
	}
	told := len(h.private("x")) > 0
	of := make(map[*end]int) // server's end to its dialer
	for i := range n {
		req, err := ln.Accept(ctx)
		h.must("accept", err)
		from, answer := -1, []byte(nil)
		if told {
			from = int(req.PrivateData()[0] - 'a')
			answer = h.private(string(rune('A' + from)))
		}
		_, err = req.Accept(ctx, servers[i].qp, &verbs.ConnParams{PrivateData: answer})
		h.must("accept of the request", err)
		of[servers[i]] = from
	}
	for range n {
		h.check("dial", h.result(errs))
	}
	for i := range n {
		clients[i].send(clients[i].text(string(rune('a' + i))))
		clients[i].wait(1)
	}
	for i, s := range servers {
		s.wait(1)
		if from := of[s]; told && int(bufs[i].Bytes()[0]-'a') != from {
			h.Errorf("the connection that dialer %d asked for brought a message of dialer %c", from, bufs[i].Bytes()[0])
		}
	}
}

// A listener that closes refuses the connection requests that wait.
func testCloseWhileDialing(h *harness) {
	ctx, cancel := h.context()
	defer cancel()
	ln := h.listen()
	const n = 3
	var ends [n]*end
	res := make(chan error, n)
	for i := range ends {
		ends[i] = h.newEnd(h.Client, verbs.QPConfig{})
		ends[i].recvs(1, 8)
		go func() {
			_, err := h.Client.Dial(ctx, ln.Addr(), ends[i].qp, nil)
			res <- err
		}()
	}
	time.Sleep(5 * time.Millisecond) // probably all wait by now; they are refused in any case
	h.must("close", ln.Close())
	for range n {
		if err := h.result(res); !errors.Is(err, verbs.ErrConnectionRefused) && (h.Precise || !errors.Is(err, verbs.ErrPeerDisconnected)) && !h.rejected(err) {
			h.Errorf("dial to a listener that closed: %v, want %v", err, verbs.ErrConnectionRefused)
		}
	}
	for _, e := range ends {
		h.failed(e)
	}
}

// A rejection has as much private data as an accepted connection.
func testRejectData(h *harness) {
	ctx, cancel := h.context()
	defer cancel()
	ln := h.listen()
	limit := min(h.Client.Attributes().MaxPrivateData, h.Server.Attributes().MaxPrivateData)
	for _, n := range []int{0, min(1, limit), limit} {
		c := h.newEnd(h.Client, verbs.QPConfig{})
		req, res := h.dialing(ctx, ln, c)
		reason := bytes.Repeat([]byte{'r'}, n)
		h.must("reject", req.Reject(reason))
		clear(reason) // it belongs to the caller again
		err := h.result(res)
		if rejected := new(verbs.RejectedError); !errors.As(err, &rejected) || !h.samePrivate(rejected.PrivateData, bytes.Repeat([]byte{'r'}, n)) {
			h.Errorf("%d bytes: dial: %v", n, err)
		}
		h.lost(c)
	}
}

// Objects of two devices cannot be used together.
func testForeignObjects(h *harness) {
	if h.Client == h.Server {
		h.Skip("needs two devices")
	}
	c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
	ctx, cancel := h.context()
	defer cancel()
	_, err := h.Client.Dial(ctx, h.Addr, s.qp, nil)
	h.wantErr("dial with the other device's queue pair", err, verbs.ErrForeignObject)
	if st := s.qp.State(); st != verbs.StateInit {
		h.Errorf("that queue pair is now %v", st)
	}
	_, err = c.pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: c.cq})
	h.wantErr("queue pair with the other device's completion queue", err, verbs.ErrForeignObject)
	buf, err := c.pd.Alloc(8)
	h.must("alloc", err)
	h.wantErr("free in the other device's domain", s.pd.Free(buf), verbs.ErrForeignObject)
	h.must("free", c.pd.Free(buf))
	_, err = s.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{whole(c.region(8, verbs.AccessLocalWrite))}}})
	h.wantErr("receive into the other device's region", err, verbs.ErrForeignObject)
}

// QPConfig.Notify is called once, when all flushed completions can be polled.
func testNotifiedOnce(h *harness) {
	_, s := h.connected() // another connection, which does not notify
	peer := h.newEnd(h.Server, verbs.QPConfig{})
	d := h.newEnd(h.Client, verbs.QPConfig{})
	var calls, found atomic.Int32
	qp, err := d.pd.CreateQP(verbs.QPConfig{SendCQ: d.cq, RecvCQ: d.cq, MaxSendWR: 8, MaxRecvWR: 8, Notify: func() {
		calls.Add(1)
		n, _ := d.cq.Poll(make([]verbs.WC, 8))
		found.Add(int32(n))
	}})
	h.must("create qp", err)
	e := &end{h: h, dev: h.Client, pd: d.pd, qp: qp, open: make(map[uint64]bool)}
	h.connect(e, peer, nil, nil)
	for range 3 {
		e.recv(whole(d.region(8, verbs.AccessLocalWrite)))
	}
	h.must("disconnect of the peer", peer.qp.Disconnect())
	for start := time.Now(); calls.Load() == 0 && time.Since(start) < h.Timeout; time.Sleep(time.Millisecond) {
	}
	h.must("disconnect", qp.Disconnect())
	h.must("close", qp.Close())
	time.Sleep(2 * time.Millisecond)
	h.wantCause("reason after disconnect and close of one's own", qp.Err(), verbs.ErrPeerDisconnected)
	if calls.Load() != 1 || found.Load() != 3 {
		h.Errorf("notified %d times, with %d flushed Receives to be polled; want once, with 3", calls.Load(), found.Load())
	}
	if st := s.qp.State(); st != verbs.StateConnected {
		h.Errorf("another connection is %v", st)
	}
}

// Resources counts the existing objects of each kind.
func testAccounting(h *harness) {
	dev := h.Client
	var want verbs.Resources
	counted := func(after string) {
		h.Helper()
		if got := dev.Resources(); got != want {
			h.Errorf("after %s: %+v, want %+v", after, got, want)
		}
	}
	counted("open")
	ctx, cancel := h.context()
	defer cancel()
	ln, err := dev.Listen(ctx, h.Addr)
	h.must("listen", err)
	want.Listeners++
	counted("listen")
	h.must("close", ln.Close())
	want.Listeners--
	counted("close of the listener")
	pd, err := dev.AllocPD()
	h.must("alloc pd", err)
	want.PDs++
	counted("alloc of a domain")
	buf, err := pd.Alloc(1000)
	h.must("alloc", err)
	want.AllocatedBytes += 1000
	counted("alloc of 1000 bytes")
	mr, err := pd.RegisterMemory(buf[10:100], verbs.AccessLocalWrite)
	h.must("register", err)
	want.MRs++
	counted("registration")
	h.must("invalidate", mr.Invalidate())
	counted("invalidation, which leaves the region an object")
	h.must("reregister", mr.Reregister(buf, verbs.AccessLocalWrite))
	counted("reregistration")
	cq, err := dev.CreateCQ(16, nil)
	h.must("create cq", err)
	want.CQs++
	counted("creation of a completion queue")
	if cq.Cap() < 16 {
		h.Errorf("queue of %d entries, want at least 16", cq.Cap())
	}
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
	h.must("create qp", err)
	want.QPs++
	counted("creation of a queue pair")
	_, err = qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{whole(mr)}}, {}})
	h.must("post", err)
	want.PostedRecvs += 2
	counted("2 Receives posted")
	h.must("disconnect", qp.Disconnect())
	counted("flush, before the poll")
	if n, err := cq.Poll(make([]verbs.WC, 1)); n != 1 || err != nil {
		h.Errorf("poll: %d, %v", n, err)
	}
	want.PostedRecvs--
	counted("poll of one")
	h.must("close qp", qp.Close())
	want.QPs--
	want.PostedRecvs = 0
	counted("close of the queue pair")
	h.must("deregister", mr.Deregister())
	want.MRs--
	counted("deregistration")
	h.must("free", pd.Free(buf))
	want.AllocatedBytes = 0
	counted("free")
	h.must("close cq", cq.Close())
	h.must("close pd", pd.Close())
	counted0 := dev.Resources()
	if counted0 != (verbs.Resources{}) {
		h.Errorf("at the end: %+v, want nothing", counted0)
	}
}

// Calls on closed objects return ErrClosed, and Close is idempotent.
func testUseAfterClose(h *harness) {
	pd, err := h.Client.AllocPD()
	h.must("alloc pd", err)
	cq, err := h.Client.CreateCQ(16, nil)
	h.must("create cq", err)
	buf, err := pd.Alloc(8)
	h.must("alloc", err)
	mr, err := pd.RegisterMemory(buf, remoteRW)
	h.must("register", err)
	key := mr.RKey()
	h.must("invalidate", mr.Invalidate())
	if mr.RKey() != key {
		h.Errorf("invalid region has key %#x, want the last one %#x", mr.RKey(), key)
	}
	h.must("deregister", mr.Deregister())
	if mr.State() != verbs.MRDeregistered {
		h.Errorf("deregistered region is %v", mr.State())
	}
	if n := len(mr.Bytes()); n != 0 {
		h.Errorf("deregistered region points to %d bytes, want none", n)
	}
	h.wantErr("registration of a deregistered region", mr.Reregister(buf, remoteRW), verbs.ErrClosed)
	h.wantErr("registration of a deregistered region without memory", mr.Reregister(mr.Bytes(), remoteRW), verbs.ErrClosed)
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
	h.must("create qp", err)
	_, err = qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: mr, Length: 1}}}})
	h.wantErr("receive into a deregistered region", err, verbs.ErrAccess)
	h.must("close qp", qp.Close())
	h.must("free", pd.Free(buf))
	h.must("close pd", pd.Close())
	_, err = pd.Alloc(8)
	h.wantErr("alloc in a closed domain", err, verbs.ErrClosed)
	_, err = pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
	h.wantErr("queue pair in a closed domain", err, verbs.ErrClosed)
	if h.Client.Attributes().HeapMemory {
		_, err = pd.RegisterMemory(make([]byte, 8), 0)
		h.wantErr("registration in a closed domain", err, verbs.ErrClosed)
	}
	h.must("close cq", cq.Close())
	h.must("close device", h.Client.Close())
	h.check("close device again", h.Client.Close())
	_, err = h.Client.AllocPD()
	h.wantErr("domain of a closed device", err, verbs.ErrClosed)
	_, err = h.Client.CreateCQ(16, nil)
	h.wantErr("completion queue of a closed device", err, verbs.ErrClosed)
	ctx, cancel := h.context()
	defer cancel()
	_, err = h.Client.Listen(ctx, h.Addr)
	h.wantErr("listener of a closed device", err, verbs.ErrClosed)
}

// Removing a device closes its listeners, and ends connection requests to and from it.
func testRemovalOfListeners(h *harness) {
	if h.Remove == nil {
		h.Skip("Fabric.Remove is not set: the suite cannot take the device away")
	}
	ctx, cancel := h.context()
	defer cancel()
	ln := h.listen()
	c := h.newEnd(h.Client, verbs.QPConfig{})
	req, res := h.dialing(ctx, ln, c)
	waiting := make(chan error, 1)
	go func() {
		_, err := ln.Accept(ctx)
		waiting <- err
	}()
	time.Sleep(2 * time.Millisecond)
	h.Remove(h.Server)
	h.wantErr("accept", h.result(waiting), verbs.ErrClosed)
	h.check("close of a listener that went", ln.Close())
	req.Reject(nil) // it may have been answered
	if err := h.result(res); err == nil {
		h.Error("dial to a removed device succeeded")
	}
	h.lost(c)
}
