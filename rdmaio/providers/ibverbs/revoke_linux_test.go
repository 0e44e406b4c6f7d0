package ibverbs

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// strict is a device that fails each invalidation of a window that is invalid, with the status of
// the driver rxe.
var strict = quirks.Quirks{InvalidateOnce: true, OddStatuses: true}

// behindReader runs f while the goroutine that reads completions of the client waits, so that the
// caller's goroutine finds them first. Before f, the peer invalidates the region.
func behindReader(t *testing.T, c, s *side, w *watched, mr *region, f func()) {
	t.Helper()
	c.recv(1, c.region(8, verbs.AccessLocalWrite))
	reading, release := make(chan struct{}), make(chan struct{})
	w.once(cqEvent, func() { close(reading); <-release })
	s.send(verbs.SendWR{Opcode: verbs.SendWithInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: mr.RKey()})
	s.wait(1)
	<-reading
	f()
	close(release)
	if wc := c.wait(1)[0]; wc.Status != verbs.StatusSuccess {
		t.Errorf("completion %+v of the Receive", wc)
	}
}

// The peer has invalidated a window, and the completion that reports it was not polled: a
// revocation polls it first, and posts nothing.
func TestRevocationLooksForTheInvalidationOfThePeer(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, strict, Config{})
	c, s := boundSides(t, f, 2)
	mr := c.region(64, remoteRW)
	c.settleBinds()
	behindReader(t, c, s, w, mr, func() {
		done := make(chan error, 1)
		c.must(c.qp.Revoke([]verbs.MemoryRegion{mr}, func(err error) { done <- err }))
		c.must(<-done)
	})
	c.connected()
}

// The peer invalidates a window, and the caller too, before it knows: the device's status for that
// is as package verbs wants it.
func TestLocalInvalidateAfterThePeersHasAStatusOfProtection(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, strict, Config{})
	c, s := boundSides(t, f, 2)
	mr := c.region(64, remoteRW)
	c.settleBinds()
	behindReader(t, c, s, w, mr, func() {
		c.send(verbs.SendWR{WRID: 3, Opcode: verbs.LocalInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: mr.RKey()})
	})
	if wc := c.wait(1)[0]; wc.WRID != 3 || wc.Status != verbs.StatusLocalProtection {
		t.Errorf("completion %+v, want %v", wc, verbs.StatusLocalProtection)
	}
}

// Requests after a LocalInvalidate whose key is not valid are not executed. The device knows the
// key as one that a window had, and would take it.
func TestRequestsBehindAnInvalidLocalInvalidateAreNotExecuted(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c, s := boundSides(t, f, 2)
	mr, from := c.region(64, remoteRW), c.region(8, verbs.AccessLocalWrite)
	target := s.region(8, verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
	s.settleBinds()
	key := mr.RKey()
	c.must(mr.Invalidate())
	copy(from.Bytes(), "overflow")
	c.send(
		verbs.SendWR{WRID: 1, Opcode: verbs.LocalInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: key},
		verbs.SendWR{
			WRID: 2, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled, RKey: target.RKey(), RemoteAddr: target.RemoteAddr(),
			SGL: []verbs.SGE{{MR: from, Length: 8}},
		})
	for i, wc := range c.wait(2) {
		if want := []verbs.Status{verbs.StatusLocalProtection, verbs.StatusFlushed}[i]; wc.Status != want {
			t.Errorf("completion %+v, want %v", wc, want)
		}
	}
	c.ends()
	if string(target.Bytes()) == "overflow" {
		t.Error("the Write after the LocalInvalidate was executed")
	}
}

// A revocation of a window that a LocalInvalidate of the caller invalidates waits for it.
func TestRevocationWaitsForALocalInvalidate(t *testing.T) {
	f := openFake(t, abi.TransportIB, strict, Config{})
	c, _ := boundSides(t, f, 2)
	mr := c.region(64, remoteRW)
	c.settleBinds()
	f.client.Device("fake0").Stall(true)
	c.send(verbs.SendWR{WRID: 1, Opcode: verbs.LocalInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: mr.RKey()})
	done := make(chan error, 1)
	c.must(c.qp.Revoke([]verbs.MemoryRegion{mr}, func(err error) { done <- err }))
	f.client.Device("fake0").Stall(false)
	c.must(<-done)
	if wc := c.wait(1)[0]; wc.Status != verbs.StatusSuccess {
		t.Errorf("completion %+v", wc)
	}
	c.connected()
}

// Windows are used in turn, so that a key comes again as late as possible.
func TestWindowsAreUsedInTurn(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c, _ := boundSides(t, f, 4)
	var regions []*region
	for range 4 {
		regions = append(regions, c.region(8, remoteRW))
	}
	c.settleBinds()
	var windows []*window
	for _, r := range regions {
		windows = append(windows, r.window)
		c.must(r.Invalidate())
	}
	for i, r := range regions {
		c.must(r.Reregister(r.Bytes(), remoteRW))
		if r.window != windows[i] {
			t.Errorf("region %d has another window than the one that was free longest", i)
		}
	}
}

// Binds and revocations leave an entry of the send queue for the request that asks whether the peer
// is there, even if all of the caller's are in use.
func TestOneEntryIsLeftForAPing(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c := newSide(t, f.c, verbs.QPConfig{MaxBoundMRs: 2, MaxSendWR: 2})
	s := newSide(t, f.s, verbs.QPConfig{})
	connectSides(c, s)
	dev := f.client.Device("fake0")
	first := c.region(64, remoteRW)
	invalidate := func() {
		c.recv(1, c.region(8, verbs.AccessLocalWrite))
		s.send(verbs.SendWR{Opcode: verbs.SendWithInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: first.RKey()})
		s.wait(1)
		c.wait(1)
	}
	invalidate()
	for range 2 {
		c.must(first.Reregister(first.Bytes(), remoteRW))
		invalidate()
	}
	dev.Stall(true)
	c.must(first.Reregister(first.Bytes(), remoteRW)) // the fourth bind
	second := c.region(64, remoteRW)
	c.send(verbs.SendWR{Opcode: verbs.RDMAWrite}, verbs.SendWR{WRID: 7, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled})
	c.must(c.qp.Revoke([]verbs.MemoryRegion{first, second}, nil))
	c.qp.mu.Lock()
	internal := c.qp.sq.internal
	c.qp.life.ping()
	c.qp.mu.UnlockNotify()
	dev.Stall(false)
	if wc := c.wait(1)[0]; wc.Status != verbs.StatusSuccess {
		t.Errorf("completion %+v", wc)
	}
	c.connected()
	if internal < 5 {
		t.Errorf("the test filled %d of %d entries only", internal, c.qp.sq.limit)
	}
}

// The peer has invalidated the only window, and the completion that reports it was not polled: the
// next region polls it, takes the window, and needs no registration.
func TestBindLooksForWindowsThatThePeerHasInvalidated(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, strict, Config{})
	c, s := boundSides(t, f, 1)
	mr := c.region(64, remoteRW)
	c.settleBinds()
	behindReader(t, c, s, w, mr, func() {
		if r := c.region(64, remoteRW); r.window == nil || r.own != 0 {
			t.Errorf("the region has window %v and registration %v", r.window, r.own)
		}
	})
	c.connected()
}

// A window rests before it is used again, as long as a quarter of the windows are free.
func TestWindowRestsBeforeItIsUsedAgain(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	c, _ := boundSides(t, f, 8)
	r := c.region(8, remoteRW)
	for range 20 {
		c.must(r.Invalidate())
		c.must(r.Reregister(r.Bytes(), remoteRW))
	}
	if n := f.net.Objects().MWs; n != 8/4+1 {
		t.Errorf("%d windows take turns, want %d", n, 8/4+1)
	}
}

// A window that was used before is not deallocated before its new bind has run: the bind would
// fail, and the connection with it.
func TestDeregisterWaitsForTheBindOfAUsedWindow(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, noPings)
	c, _ := boundSides(t, f, 1)
	dev := f.client.Device("fake0")
	buf, err := c.pd.Alloc(8)
	c.must(err)
	mr, err := c.pd.RegisterMemory(buf, remoteRW)
	c.must(err)
	c.must(mr.Invalidate())
	dev.Stall(true)
	c.must(mr.Reregister(buf, remoteRW))
	deregistered := make(chan error, 1)
	go func() { deregistered <- mr.Deregister() }()
	c.until("Deregister waits for a revocation", func(*queuePair) bool {
		w := mr.(*region).window
		return w == nil || len(w.waiting) == 1
	})
	dev.Stall(false)
	c.must(<-deregistered)
	c.must(c.pd.Free(buf))
	c.connected()
}
