package ibverbs

import (
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// boundSides returns connected sides. The first one has so many windows.
func boundSides(t *testing.T, f *fakeNet, bound int) (c, s *side) {
	t.Helper()
	c = newSide(t, f.c, verbs.QPConfig{MaxBoundMRs: bound})
	s = newSide(t, f.s, verbs.QPConfig{})
	connectSides(c, s)
	return c, s
}

// read makes the peer read the region by a key, and returns the status.
func (s *side) read(key uint32, from, to *region) verbs.Status {
	s.t.Helper()
	s.send(verbs.SendWR{
		WRID: 99, Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, RKey: key, RemoteAddr: from.RemoteAddr(),
		SGL: []verbs.SGE{{MR: to, Length: 8}},
	})
	return s.wait(1)[0].Status
}

// settle waits until the send queue has no request of the provider's.
func (s *side) settle() {
	s.t.Helper()
	s.until("the provider's requests complete", func(q *queuePair) bool { return q.sq.internal == 0 })
}

// settleBinds waits until the binds of all windows have run, which complete with a later request.
func (s *side) settleBinds() {
	s.t.Helper()
	s.until("the binds of windows run", func(q *queuePair) bool {
		for i := q.sq.head; i < q.sq.tail; i++ {
			if e := q.sq.at(i); e.signaled && !e.done {
				return false
			}
		}
		return true
	})
}

// until polls the device until the function returns true, which runs with the lock held.
func (s *side) until(what string, is func(*queuePair) bool) {
	s.t.Helper()
	for start, q := time.Now(), s.qp; ; time.Sleep(50 * time.Microsecond) {
		q.mu.Lock()
		q.poll()
		ok := is(q)
		q.mu.UnlockNotify()
		if ok {
			return
		}
		if time.Since(start) > leak.Patience() {
			s.t.Fatalf("timed out: %s", what)
		}
	}
}

// A window is bound again after a revocation, with each of the 256 keys in turn. No more windows
// exist than may be bound.
func TestWindowIsBoundWithEachKeyInTurn(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{InvalidateOnce: true}, Config{})
	c, s := boundSides(t, f, 2)
	mr, sink := c.region(64, remoteRW), s.region(8, verbs.AccessLocalWrite)
	keys := make(map[uint32]int)
	last := uint32(0)
	for i := range 600 {
		if mr.window == nil {
			t.Fatalf("round %d: the region has no window", i)
		}
		keys[mr.RKey()]++
		last = mr.RKey()
		mr.Bytes()[0] = byte(i)
		if status := s.read(last, mr, sink); status != verbs.StatusSuccess || sink.Bytes()[0] != byte(i) {
			t.Fatalf("round %d: %v, and the bytes of round %d", i, status, sink.Bytes()[0])
		}
		c.must(mr.Invalidate())
		c.must(mr.Reregister(mr.Bytes(), remoteRW))
	}
	if n := f.net.Objects().MWs; n > 2 {
		t.Errorf("%d windows, want at most 2", n)
	}
	for key, n := range keys {
		if n > 3 {
			t.Errorf("key %#x was used %d times in 600 rounds", key, n)
		}
	}
	if status := s.read(last, mr, sink); status != verbs.StatusRemoteAccess {
		t.Errorf("a Read with the key before: %v", status)
	}
}

// If the peer invalidates all regions, this side posts no signaled request. Binds free their
// entries of the send queue all the same.
func TestPeerInvalidatesAllWindows(t *testing.T) {
	for _, inRKey := range []bool{false, true} {
		t.Run(fmt.Sprint("key in the field of Writes ", inRKey), func(t *testing.T) { peerInvalidatesAllWindows(t, inRKey) })
	}
}

func peerInvalidatesAllWindows(t *testing.T, inRKey bool) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{InvalidateOnce: true, LocalInvalidateBreaks: true, RemoteInvalidateBreaks: true, InvalidateInRKey: inRKey}, Config{})
	c, s := boundSides(t, f, 2)
	mr, sink := c.region(64, remoteRW), c.region(64, verbs.AccessLocalWrite)
	for i := range 200 {
		if mr.window == nil {
			t.Fatalf("round %d: the region has no window", i)
		}
		key := mr.RKey()
		c.recv(uint64(i), sink)
		s.send(verbs.SendWR{WRID: 1, Opcode: verbs.SendWithInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: key})
		s.wait(1)
		if wc := c.wait(1)[0]; wc.Status != verbs.StatusSuccess || wc.InvalidatedRKey != key || mr.State() != verbs.MRInvalid {
			t.Fatalf("round %d: %+v, and the region is %v", i, wc, mr.State())
		}
		c.must(mr.Reregister(mr.Bytes(), remoteRW))
	}
	if n := f.net.Objects().MWs; n > 2 {
		t.Errorf("%d windows, want at most 2", n)
	}
}

// Regions for which there is no window are registered. Windows that become free are used again.
func TestRegionsBeyondTheWindowsAreRegistered(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c, s := boundSides(t, f, 3)
	sink := s.region(8, verbs.AccessLocalWrite)
	var regions []*region
	windows := func() (n int) {
		for _, r := range regions {
			if r.window != nil {
				n++
			}
		}
		return n
	}
	for range 6 {
		regions = append(regions, c.region(64, remoteRW))
	}
	if n := windows(); n != 3 {
		t.Errorf("%d of 6 regions have windows, want 3", n)
	}
	for i, r := range regions {
		r.Bytes()[0] = byte(i)
		if status := s.read(r.RKey(), r, sink); status != verbs.StatusSuccess || sink.Bytes()[0] != byte(i) {
			t.Errorf("region %d: %v", i, status)
		}
	}
	var all []verbs.MemoryRegion
	for _, r := range regions {
		all = append(all, r)
	}
	done := make(chan error, 1)
	c.must(c.qp.Revoke(all, func(err error) { done <- err }))
	c.must(<-done)
	for i, r := range regions {
		if r.State() != verbs.MRInvalid || r.window != nil || r.own != 0 {
			t.Errorf("region %d after the revocation: %v, window %v, registration %v", i, r.State(), r.window, r.own)
		}
		c.must(r.Reregister(r.Bytes(), remoteRW))
	}
	if n := windows(); n != 3 {
		t.Errorf("%d of 6 regions have windows after the revocation, want 3", n)
	}
}

// One Revoke takes more regions than a post has requests.
func TestRevokeOfManyRegions(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{InvalidateOnce: true}, Config{})
	c, _ := boundSides(t, f, 50)
	var regions []verbs.MemoryRegion
	for range 50 {
		r := c.region(64, remoteRW)
		if r.window == nil {
			t.Fatal("a region has no window")
		}
		regions = append(regions, r)
	}
	// The same region twice, and one that is invalid already.
	c.must(regions[7].Invalidate())
	regions = append(regions, regions[3])
	for range 2 {
		done := make(chan error, 1)
		c.must(c.qp.Revoke(regions, func(err error) { done <- err }))
		c.must(<-done)
		for i, r := range regions {
			if r.State() != verbs.MRInvalid {
				t.Errorf("region %d is %v", i, r.State())
			}
		}
	}
	c.settle()
}

// A second revocation of a region whose first one has not ended waits for the same end.
func TestTwoRevocationsOfOneRegionEndTogether(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{InvalidateOnce: true}, Config{})
	c, _ := boundSides(t, f, 4)
	mr := c.region(64, remoteRW)
	f.client.Device("fake0").Stall(true)
	done := make(chan error, 2)
	// A request of the caller keeps the queue busy: the device is stopped before it.
	c.send(verbs.SendWR{WRID: 1, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled})
	for range 2 {
		c.must(c.qp.Revoke([]verbs.MemoryRegion{mr}, func(err error) { done <- err }))
	}
	select {
	case <-done:
		t.Error("a revocation ended while the device did nothing")
	default:
	}
	f.client.Device("fake0").Stall(false)
	c.must(<-done)
	c.must(<-done)
	c.wait(1)
	if mr.State() != verbs.MRInvalid {
		t.Errorf("the region is %v", mr.State())
	}
	c.connected()
}

// The peer invalidates a window while its revocation waits in the send queue: on devices that fail
// a second invalidation that would end the connection, and on others both succeed.
func TestPeerInvalidatesAWindowThatIsBeingRevoked(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c, s := boundSides(t, f, 2)
	mr, sink := c.region(64, remoteRW), c.region(8, verbs.AccessLocalWrite)
	for range 20 {
		key := mr.RKey()
		c.recv(1, sink)
		f.client.Device("fake0").Stall(true)
		done := make(chan error, 1)
		c.must(c.qp.Revoke([]verbs.MemoryRegion{mr}, func(err error) { done <- err }))
		s.send(verbs.SendWR{WRID: 2, Opcode: verbs.SendWithInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: key})
		s.wait(1)
		c.wait(1)
		c.must(<-done)
		f.client.Device("fake0").Stall(false)
		c.settle()
		c.must(mr.Reregister(mr.Bytes(), remoteRW))
		if mr.window == nil {
			t.Fatal("the region has no window")
		}
	}
	if n := f.net.Objects().MWs; n > 2 {
		t.Errorf("%d windows, want at most 2", n)
	}
	// No window is free twice: the second region has another window, and the third is without one.
	second, third := c.region(64, remoteRW), c.region(64, remoteRW)
	if second.window == nil || second.window == mr.window || third.window != nil {
		t.Errorf("windows %p, %p and %p of three regions, want two different ones and none", mr.window, second.window, third.window)
	}
}

// A Read of the peer's memory takes long, and no later request is complete: binds whose windows the
// peer invalidates fill the provider's part of the send queue. The caller's part stays the
// caller's.
func TestBindsLeaveSpaceForRequests(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c := newSide(t, f.c, verbs.QPConfig{MaxBoundMRs: 2, MaxSendWR: 8})
	s := newSide(t, f.s, verbs.QPConfig{})
	connectSides(c, s)
	mr, sink, src := c.region(64, remoteRW), c.region(8, verbs.AccessLocalWrite), s.region(8, verbs.AccessRemoteRead)
	s.settle()
	f.server.Device("fake1").HoldReads(true)
	c.send(verbs.SendWR{
		WRID: 1, Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, RKey: src.RKey(), RemoteAddr: src.RemoteAddr(),
		SGL: []verbs.SGE{{MR: sink, Length: 8}},
	})
	registered := false
	for i := 0; i < 30 && !registered; i++ {
		c.recv(2, c.region(8, verbs.AccessLocalWrite))
		s.send(verbs.SendWR{WRID: 2, Opcode: verbs.SendWithInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: mr.RKey()})
		s.wait(1)
		c.wait(1)
		c.must(mr.Reregister(mr.Bytes(), remoteRW))
		registered = mr.window == nil
	}
	if !registered {
		t.Error("the provider binds windows without a limit")
	}
	for i := range 7 {
		c.send(verbs.SendWR{WRID: uint64(10 + i), Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled})
	}
	f.server.Device("fake1").HoldReads(false)
	for i, wc := range c.wait(8) {
		if wc.Status != verbs.StatusSuccess {
			t.Errorf("completion %d: %+v", i, wc)
		}
	}
}

// Close returns when all functions of Revoke have returned.
func TestCloseWaitsForTheEndOfRevocations(t *testing.T) {
	f := openFake(t, abi.TransportIB, noQuirks, Config{})
	c, _ := boundSides(t, f, 2)
	mr := c.region(64, remoteRW)
	f.client.Device("fake0").Stall(true)
	running, release, closed := make(chan struct{}), make(chan struct{}), make(chan error)
	c.must(c.qp.Revoke([]verbs.MemoryRegion{mr}, func(error) { close(running); <-release }))
	go func() { closed <- c.qp.Close() }()
	<-running
	select {
	case <-closed:
		t.Error("Close returned while a function of Revoke was running")
		close(release)
	case <-time.After(5 * time.Millisecond):
		close(release)
		c.must(<-closed)
	}
	if mr.State() != verbs.MRInvalid {
		t.Errorf("the region is %v", mr.State())
	}
}

var noQuirks quirks.Quirks
