package ibverbs

import (
	"errors"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// sendsOf returns signaled Sends of regions.
func sendsOf(regions ...*region) (wrs []verbs.SendWR) {
	for i, r := range regions {
		wrs = append(wrs, verbs.SendWR{WRID: uint64(i), Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: r, Length: 8}}})
	}
	return wrs
}

// The library posts one of three Sends and refuses the others, which leave nothing behind.
func TestRefusedSendsAreUndone(t *testing.T) {
	for errno, want := range map[syscall.Errno]error{
		syscall.ENOMEM: verbs.ErrQueueFull, syscall.EINVAL: verbs.ErrInvalidWR, syscall.EIO: verbs.ErrInvalidState,
	} {
		f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
		c, s := connectedSides(t, f)
		var regions []*region
		for i := range uint64(4) {
			regions = append(regions, c.region(8, verbs.AccessLocalWrite))
			s.recv(i, s.region(8, verbs.AccessLocalWrite))
		}
		w.refusePosts(1, errno)
		if n, err := c.qp.PostSend(sendsOf(regions[:3]...)); n != 1 || !errors.Is(err, want) || !errors.Is(err, errno) {
			t.Errorf("PostSend = %d, %v, want 1 and %v", n, err, want)
		}
		for i, r := range regions[1:3] {
			if n := r.posted.Load(); n != 0 {
				t.Errorf("region %d counts %d elements of requests that were refused", i+1, n)
			}
		}
		if errno == syscall.EIO {
			c.ends()
			if err := c.qp.Err(); !errors.Is(err, errno) || !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("the queue pair ended with %v, want %v", err, errno)
			}
			continue
		}
		if wc := c.wait(1)[0]; wc.WRID != 0 || wc.Status != verbs.StatusSuccess {
			t.Errorf("completion %+v", wc)
		}
		if n := c.qp.SendUsed.Load(); n != 0 {
			t.Errorf("%d entries of the send queue are in use, want 0", n)
		}
		c.send(sendsOf(regions[:3]...)...)
		for i, wc := range c.wait(3) {
			if wc.WRID != uint64(i) || wc.Status != verbs.StatusSuccess {
				t.Errorf("completion %d: %+v", i, wc)
			}
		}
		c.connected()
	}
}

// The provider hands 16 Receives at a time to the library, which posts 17 and refuses 3.
func TestRefusedReceivesAreUndone(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c, s := connectedSides(t, f)
	sink, from := c.region(8, verbs.AccessLocalWrite), s.region(8, verbs.AccessLocalWrite)
	var wrs []verbs.RecvWR
	for i := range uint64(20) {
		wrs = append(wrs, verbs.RecvWR{WRID: i, SGL: []verbs.SGE{{MR: sink, Length: 8}}})
	}
	w.refusePosts(17, syscall.ENOMEM)
	if n, err := c.qp.PostRecv(wrs); n != 17 || !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("PostRecv = %d, %v, want 17 and ErrQueueFull", n, err)
	}
	if n := c.qp.RecvUsed.Load(); n != 17 {
		t.Errorf("%d entries of the receive queue are in use, want 17", n)
	}
	if n := sink.posted.Load(); n != 17 {
		t.Errorf("the region counts %d elements of posted requests, want 17", n)
	}
	c.recv(99, sink)
	for i := range 18 {
		s.send(sendsOf(from)...)
		want := uint64(i)
		if i == 17 {
			want = 99
		}
		if wc := c.wait(1)[0]; wc.WRID != want || wc.Status != verbs.StatusSuccess {
			t.Fatalf("completion %d: %+v", i, wc)
		}
		s.wait(1)
	}
}

// A LocalInvalidate that the library refuses has not begun: the window can be revoked.
func TestRefusedLocalInvalidateLeavesItsWindow(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, noQuirks, Config{})
	c, _ := boundSides(t, f, 2)
	mr := c.region(8, remoteRW)
	c.settleBinds()
	w.refusePosts(0, syscall.ENOMEM)
	if n, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.LocalInvalidate, InvalidateRKey: mr.RKey()}}); n != 0 || !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("PostSend = %d, %v, want 0 and ErrQueueFull", n, err)
	}
	if mr.window.revoking {
		t.Fatal("the window is being invalidated, although the request was refused")
	}
	c.must(mr.Invalidate())
	c.connected()
}

// A bind that the library refuses is undone, and the region is registered in its place. If the peer
// may invalidate the region, that would break the connection, unless it has failed already.
func TestRefusedBindIsReplacedByARegistration(t *testing.T) {
	for _, c := range []struct {
		errno  syscall.Errno
		access verbs.Access
		want   error
	}{
		{syscall.ENOMEM, remoteRW, nil},
		{syscall.ENOMEM, remoteRW | verbs.AccessRemoteInvalidate, verbs.ErrQueueFull},
		{syscall.EINVAL, remoteRW, nil},
		{syscall.EINVAL, remoteRW | verbs.AccessRemoteInvalidate, nil},
	} {
		f, w := openWatched(t, abi.TransportIB, noQuirks, noPings)
		s, _ := boundSides(t, f, 2)
		buf, err := s.pd.Alloc(8)
		s.must(err)
		w.refusePosts(0, c.errno)
		mr, err := s.pd.RegisterMemory(buf, c.access)
		if !errors.Is(err, c.want) {
			t.Errorf("%v, access %v: %v, want %v", c.errno, c.access, err, c.want)
		}
		if err == nil {
			if r := mr.(*region); r.window != nil || r.own == 0 {
				t.Errorf("%v: window %v, registration %v", c.errno, r.window, r.own)
			}
			s.must(mr.Deregister())
		}
		// The window and its entries are free.
		var regions []verbs.MemoryRegion
		for range 2 {
			mr, err := s.pd.RegisterMemory(buf, remoteRW)
			s.must(err)
			if mr.(*region).window == nil {
				t.Errorf("%v: no window is left after a bind that was refused", c.errno)
			}
			regions = append(regions, mr)
		}
		s.qp.mu.Lock()
		binds := 0
		for i := s.qp.sq.head; i < s.qp.sq.tail; i++ {
			if s.qp.sq.at(i).kind == kindBind {
				binds++
			}
		}
		if binds != 2 {
			t.Errorf("%v: %d binds are posted, want 2", c.errno, binds)
		}
		s.qp.mu.UnlockNotify()
		for _, mr := range regions {
			s.must(mr.Deregister())
		}
		s.must(s.pd.Free(buf))
	}
}

// A library may take no requests after a failure that is not known yet. The post then says that the
// connection has failed, not that the request is wrong.
func TestPostAfterAFailureSaysThatTheConnectionFailed(t *testing.T) {
	for _, flushed := range []bool{true, false} { // then a completion reports the failure
		f := openFakeDevices(t, fakelib.DeviceOptions{Manners: fakelib.Manners{RefusesFlush: true}}, noPings, itself)
		c, _ := connectedSides(t, f)
		if flushed {
			c.recv(1, c.region(8, verbs.AccessLocalWrite))
		}
		for i, r := range c.dev.readers {
			r.close()
			c.dev.readers[i] = nil
		}
		f.client.Device("fake0").Fatal(c.qp.hw)
		f.net.Settle()
		if _, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.RDMAWrite}}); !errors.Is(err, verbs.ErrInvalidState) || errors.Is(err, verbs.ErrInvalidWR) {
			t.Errorf("a Receive is flushed: %v; PostSend: %v, want ErrInvalidState", flushed, err)
		}
		c.ends()
	}
}
