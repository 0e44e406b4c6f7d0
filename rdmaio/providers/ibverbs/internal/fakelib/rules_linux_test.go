package fakelib

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

func TestBindsFollowTheRulesOfWindows(t *testing.T) {
	for _, c := range []struct {
		name string
		bind func(c *end, b *abi.Bind)
		ok   bool
	}{
		{"next key", func(*end, *abi.Bind) {}, true},
		{"any other low byte", func(_ *end, b *abi.Bind) { b.RKey ^= 0x80 }, true},
		{"the same key", func(_ *end, b *abi.Bind) { b.RKey = b.RKey&^0xff | (b.RKey-1)&0xff }, false},
		{"another index", func(_ *end, b *abi.Bind) { b.RKey += 256 }, false},
		{"behind the region", func(_ *end, b *abi.Bind) { b.Addr += 1 << 16 }, false},
		{"over the region's end", func(_ *end, b *abi.Bind) { b.Length = 1<<16 + 1 }, false},
		{"no bytes", func(_ *end, b *abi.Bind) { b.Length = 0 }, false},
		{"region without MWBind", func(c *end, b *abi.Bind) {
			b.MR = uintptr(must(c.h.RegMR(c.pd, abi.Addr(c.mem), 64, abi.LocalWrite))(c.e.t))
		}, false},
		{"writable over a read-only region", func(c *end, b *abi.Bind) {
			b.MR = uintptr(must(c.h.RegMR(c.pd, abi.Addr(c.mem), 64, abi.MWBind))(c.e.t))
			b.Access = abi.RemoteWrite
		}, false},
		{"readable over a read-only region", func(c *end, b *abi.Bind) {
			b.MR = uintptr(must(c.h.RegMR(c.pd, abi.Addr(c.mem), 64, abi.MWBind))(c.e.t))
			b.Access = abi.RemoteRead
		}, true},
		{"region of another domain", func(c *end, b *abi.Bind) {
			pd := must(c.h.AllocPD(c.dev.Context()))(c.e.t)
			b.MR = uintptr(must(c.h.RegMR(pd, abi.Addr(c.mem), 64, allRights))(c.e.t))
		}, false},
		{"the program's count is behind", func(_ *end, b *abi.Bind) { abi.SetMWKey(b.MW, abi.MWKey(b.MW)-1) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := connected(t, options{})
			n := e.client
			w := must(n.h.AllocMW(n.pd))(t)
			key := abi.MWKey(uintptr(w))
			b := abi.Bind{
				MW: uintptr(w), RKey: key&^0xff | (key+1)&0xff, MR: uintptr(n.mr), Addr: n.addr(0), Length: 64, Access: abi.RemoteRead,
			}
			c.bind(n, &b)
			want := abi.StatusSuccess
			if !c.ok {
				want = abi.StatusMWBind
			}
			n.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpBindMW, Flags: abi.Signaled, Bind: b}, 0, 0)
			n.want(1, want)
		})
	}
}

func TestBoundWindowMustBeInvalidatedBeforeTheNextBind(t *testing.T) {
	for _, again := range []bool{false, true} {
		e := connected(t, options{})
		c := e.client
		w := must(c.h.AllocMW(c.pd))(t)
		key := c.bind(w, 1, 0, 64, abi.RemoteRead)
		c.want(1, abi.StatusSuccess)
		if err := c.h.DeregMR(c.mr); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("DeregMR below a window: %v", err)
		}
		want := abi.StatusMWBind
		if again {
			c.mustSend(abi.SendWR{Opcode: abi.OpLocalInv, Invalidate: key}, 0, 0)
			want = abi.StatusSuccess
		}
		c.bind(w, 3, 0, 64, abi.RemoteRead)
		c.want(3, want)
	}
}

// TestDestroyedQueuePairWithAWindowIsNoticed: the call hangs for a minute with the driver rxe.
func TestDestroyedQueuePairWithAWindowIsNoticed(t *testing.T) {
	e := connected(t, options{})
	c := e.client
	w := must(c.h.AllocMW(c.pd))(t)
	c.bind(w, 1, 0, 64, abi.RemoteRead)
	c.want(1, abi.StatusSuccess)
	abi.SetCMQP(uintptr(c.id), 0)
	check(t, c.h.DestroyQP(c.qp))
	if m := e.misuses.take(); !strings.Contains(m, "ibv_destroy_qp hangs") {
		t.Errorf("misuse %q", m)
	}
	check(t, c.h.DeregMR(c.mr))
	if err := c.h.DeallocPD(c.pd); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("DeallocPD with a window: %v", err)
	}
	check(t, c.h.DeallocMW(w))
	check(t, c.h.DeallocPD(c.pd))
}

func TestInvalidationOfAWindowThatWasNeverBoundIsNoticed(t *testing.T) {
	e := connected(t, options{})
	c := e.client
	w := must(c.h.AllocMW(c.pd))(t)
	c.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpLocalInv, Invalidate: abi.MWKey(uintptr(w))}, 0, 0)
	c.want(1, abi.StatusMWBind)
	if m := e.misuses.take(); !strings.Contains(m, "never bound") {
		t.Errorf("misuse %q", m)
	}
}

func TestRemoteAccessIsChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		op   abi.Opcode
		wr   func(s *end) (addr uint64, key uint32)
		ok   bool
	}{
		{"write", abi.OpWrite, func(s *end) (uint64, uint32) { return s.addr(0), s.key() }, true},
		{"read", abi.OpRead, func(s *end) (uint64, uint32) { return s.addr(0), s.key() }, true},
		{"up to the end", abi.OpWrite, func(s *end) (uint64, uint32) { return s.addr(1<<16 - 8), s.key() }, true},
		{"over the end", abi.OpWrite, func(s *end) (uint64, uint32) { return s.addr(1<<16 - 7), s.key() }, false},
		{"before the start", abi.OpRead, func(s *end) (uint64, uint32) { return s.addr(0) - 1, s.key() }, false},
		{"another key", abi.OpWrite, func(s *end) (uint64, uint32) { return s.addr(0), s.key() ^ 1 }, false},
		{"key of another domain", abi.OpWrite, func(s *end) (uint64, uint32) {
			pd := must(s.h.AllocPD(s.dev.Context()))(s.e.t)
			mr := must(s.h.RegMR(pd, abi.Addr(s.mem), 64, allRights))(s.e.t)
			return s.addr(0), abi.MR(uintptr(mr)).RKey
		}, false},
		{"write without the right", abi.OpWrite, func(s *end) (uint64, uint32) { return s.region(abi.LocalWrite | abi.RemoteRead) }, false},
		{"read without the right", abi.OpRead, func(s *end) (uint64, uint32) { return s.region(abi.LocalWrite | abi.RemoteWrite) }, false},
		{"deregistered", abi.OpRead, func(s *end) (uint64, uint32) {
			mr := must(s.h.RegMR(s.pd, abi.Addr(s.mem), 64, allRights))(s.e.t)
			key := abi.MR(uintptr(mr)).RKey
			check(s.e.t, s.h.DeregMR(mr))
			return s.addr(0), key
		}, false},
		{"window", abi.OpRead, func(s *end) (uint64, uint32) { return s.addr(8), s.window(8, 8, abi.RemoteRead) }, true},
		{"outside the window", abi.OpRead, func(s *end) (uint64, uint32) { return s.addr(9), s.window(8, 8, abi.RemoteRead) }, false},
		{"window without the right", abi.OpWrite, func(s *end) (uint64, uint32) { return s.addr(8), s.window(8, 8, abi.RemoteRead) }, false},
		{"window of another queue pair", abi.OpRead, func(s *end) (uint64, uint32) {
			key := s.window(8, 8, abi.RemoteRead)
			other := *s
			s.e.net.mu.Lock()
			defer s.e.net.mu.Unlock()
			q := *s.e.net.objects[uintptr(other.qp)].(*qp) // another one of the same domain
			s.e.net.objects[s.mwByKey(key)].(*mw).qp = &q
			return s.addr(8), key
		}, false},
		{"freed window", abi.OpRead, func(s *end) (uint64, uint32) {
			key := s.window(8, 8, abi.RemoteRead)
			s.mustSend(abi.SendWR{Opcode: abi.OpLocalInv, Flags: abi.Signaled, Invalidate: key}, 0, 0)
			s.want(0, abi.StatusSuccess)
			return s.addr(8), key
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := connected(t, options{})
			addr, key := c.wr(e.server)
			e.client.mustSend(abi.SendWR{ID: 5, Opcode: c.op, Flags: abi.Signaled, RemoteAddr: addr, RKey: key}, 0, 8)
			if c.ok {
				e.client.want(5, abi.StatusSuccess)
				return
			}
			e.client.want(5, abi.StatusRemAccess)
			if ev := e.server.async(); ev.Type != abi.AsyncQPAccessErr || ev.Element != uintptr(e.server.qp) {
				t.Errorf("event %+v, want AsyncQPAccessErr", ev)
			}
		})
	}
}

// region registers 64 bytes with rights.
func (n *end) region(rights abi.Access) (uint64, uint32) {
	mr := must(n.h.RegMR(n.pd, abi.Addr(n.mem), 64, rights))(n.e.t)
	return n.addr(0), abi.MR(uintptr(mr)).RKey
}

// window binds a new window.
func (n *end) window(off, size int, rights abi.Access) uint32 {
	key := n.bind(must(n.h.AllocMW(n.pd))(n.e.t), 77, off, size, rights)
	n.want(77, abi.StatusSuccess)
	return key
}

// mwByKey returns the handle of a window. The Net is locked.
func (n *end) mwByKey(key uint32) uintptr {
	for p, o := range n.e.net.objects {
		if w, ok := o.(*mw); ok && w.key == key {
			return p
		}
	}
	return 0
}

// TestWriteOfNoBytesNeedsNoKey: it only asks whether the peer is there.
func TestWriteOfNoBytesNeedsNoKey(t *testing.T) {
	e := connected(t, options{})
	e.client.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpWrite, Flags: abi.Signaled}, 0, 0)
	e.client.want(1, abi.StatusSuccess)
}

func TestSendWaitsForAReceiveAsLongAsRNRRetrySays(t *testing.T) {
	for _, retry := range []uint8{0, 3, 7} {
		e := connected(t, options{Options: Options{RNRTime: 100 * time.Microsecond}, param: abi.ConnParam{Initiator: 1, Responder: 1, RNRRetry: retry}})
		c, s := e.client, e.server
		c.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpSend, Flags: abi.Signaled}, 0, 8)
		if retry < 7 {
			c.want(1, abi.StatusRNRRetryExc)
			continue
		}
		time.Sleep(8 * time.Millisecond)
		c.none()
		s.recv(2, 0, 8)
		c.want(1, abi.StatusSuccess)
		s.want(2, abi.StatusSuccess)
	}
}

func TestMemoryOfAPostedReceiveIsOverwritten(t *testing.T) {
	e := connected(t, options{})
	c, s := e.client, e.server
	s.put(0, 1)
	s.put(8, 2)
	s.recv(1, 0, 16)
	if a, b := s.get(0), s.get(8); a != 0xa5a5a5a5a5a5a5a5 || b != a {
		t.Errorf("posted memory has %#x, %#x", a, b)
	}
	c.put(0, 3)
	c.mustSend(abi.SendWR{Opcode: abi.OpSend}, 0, 8)
	s.want(1, abi.StatusSuccess)
	if a, b := s.get(0), s.get(8); a != 3 || b != 2 {
		t.Errorf("after a message of 8 bytes the memory has %d, %d, want 3 and the 2 of before", a, b)
	}
}

func TestMemoryOfAPostedSendMustNotChange(t *testing.T) {
	e := connected(t, options{})
	c, s := e.client, e.server
	s.recv(2, 0, 8)
	c.dev.Stall(true)
	c.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpSend, Flags: abi.Signaled}, 0, 8)
	c.put(0, 99)
	c.dev.Stall(false)
	c.want(1, abi.StatusSuccess)
	if m := e.misuses.take(); !strings.Contains(m, "has changed") {
		t.Errorf("misuse %q", m)
	}
}

func TestInlineSendIsCopiedByThePost(t *testing.T) {
	e := connected(t, options{})
	c, s := e.client, e.server
	s.recv(2, 0, 8)
	c.dev.Stall(true)
	c.put(0, 7)
	c.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpSend, Flags: abi.Signaled | abi.Inline}, 0, 8)
	c.put(0, 99)
	c.dev.Stall(false)
	s.want(2, abi.StatusSuccess)
	if s.get(0) != 7 {
		t.Errorf("received %d", s.get(0))
	}
	if err := c.send(abi.SendWR{Opcode: abi.OpSend, Flags: abi.Inline}, 0, 65); err != syscall.EINVAL {
		t.Errorf("inline Send of more than MaxInline: %v", err)
	}
}

func TestFencedRequestWaitsForReads(t *testing.T) {
	e := connected(t, options{})
	c, s := e.client, e.server
	s.recv(1, 0, 64)
	s.recv(2, 64, 64)
	s.dev.HoldReads(true)
	c.mustSend(abi.SendWR{Opcode: abi.OpRead, RemoteAddr: s.addr(256), RKey: s.key()}, 0, 8)
	c.mustSend(abi.SendWR{Opcode: abi.OpSend}, 8, 8)
	c.mustSend(abi.SendWR{Opcode: abi.OpSend, Flags: abi.Fence}, 8, 8)
	s.want(1, abi.StatusSuccess)
	s.none()
	s.dev.HoldReads(false)
	s.want(2, abi.StatusSuccess)
}

func TestReadsWaitAtTheNegotiatedDepth(t *testing.T) {
	e := connected(t, options{param: abi.ConnParam{Initiator: 1, Responder: 1}})
	c, s := e.client, e.server
	s.recv(1, 0, 64)
	s.dev.HoldReads(true)
	for range 2 {
		c.mustSend(abi.SendWR{ID: 3, Opcode: abi.OpRead, Flags: abi.Signaled, RemoteAddr: s.addr(256), RKey: s.key()}, 0, 8)
	}
	c.mustSend(abi.SendWR{Opcode: abi.OpSend}, 8, 8)
	s.none() // the Send waits for the second Read
	s.dev.HoldReads(false)
	s.want(1, abi.StatusSuccess)
	for range 2 {
		if wc := c.want(3, abi.StatusSuccess); wc.ByteLen != 8 || wc.Opcode != abi.WCRead {
			t.Errorf("completion %+v", wc)
		}
	}
}

func TestReadWithoutADepthFails(t *testing.T) {
	e := connected(t, options{param: abi.ConnParam{Initiator: 1, Retry: 1}})
	e.client.mustSend(abi.SendWR{ID: 3, Opcode: abi.OpRead, RemoteAddr: e.server.addr(0), RKey: e.server.key()}, 0, 8)
	e.client.want(3, abi.StatusLocQPOp)
}

func TestReadFromASilentPeerFails(t *testing.T) {
	e := connected(t, options{Options: Options{RetryTime: 5 * time.Millisecond}})
	c, s := e.client, e.server
	s.dev.HoldReads(true)
	c.mustSend(abi.SendWR{ID: 3, Opcode: abi.OpRead, RemoteAddr: s.addr(0), RKey: s.key()}, 0, 8)
	c.mustSend(abi.SendWR{ID: 4, Opcode: abi.OpWrite, Flags: abi.Signaled}, 0, 0)
	c.none()
	s.dev.Silence(true)
	c.want(3, abi.StatusRetryExc)
	c.want(4, abi.StatusFlushed)
}

// TestSendQueueIsReleasedByPolledCompletions: unsignaled requests release their entries with a
// later signaled one.
func TestSendQueueIsReleasedByPolledCompletions(t *testing.T) {
	e := connected(t, options{})
	c := e.client
	for i := range 16 {
		w := abi.SendWR{ID: uint64(i), Opcode: abi.OpWrite}
		if i == 7 {
			w.Flags = abi.Signaled
		}
		c.mustSend(w, 0, 0)
	}
	e.idle()
	if err := c.send(abi.SendWR{Opcode: abi.OpWrite}, 0, 0); err != syscall.ENOMEM {
		t.Fatalf("post to a full queue: %v", err)
	}
	c.want(7, abi.StatusSuccess)
	for range 8 {
		c.mustSend(abi.SendWR{Opcode: abi.OpWrite}, 0, 0)
	}
	if err := c.send(abi.SendWR{Opcode: abi.OpWrite}, 0, 0); err != syscall.ENOMEM {
		t.Fatalf("post to a full queue: %v", err)
	}
}

func TestReceiveQueueIsReleasedByPolledCompletions(t *testing.T) {
	e := connected(t, options{})
	c, s := e.client, e.server
	for i := range 16 {
		s.recv(uint64(i), 0, 8)
	}
	post := func() error {
		(&abi.RecvWR{}).Put(s.wr)
		_, err := s.h.PostRecv(s.qp, abi.Addr(s.wr))
		return err
	}
	c.mustSend(abi.SendWR{Opcode: abi.OpSend}, 0, 8)
	e.idle()
	if err := post(); err != syscall.ENOMEM {
		t.Fatalf("post to a full queue: %v", err)
	}
	s.want(0, abi.StatusSuccess)
	check(t, post())
}

// TestRefusedPostNamesTheFirstRequestThatWasNotPosted is the rule of bad_wr.
func TestRefusedPostNamesTheFirstRequestThatWasNotPosted(t *testing.T) {
	e := connected(t, options{})
	c := e.client
	for i := range 3 {
		w := abi.SendWR{ID: uint64(i), Opcode: abi.OpWrite, Flags: abi.Signaled}
		if i == 1 {
			w.Opcode = 99
		}
		if i < 2 {
			w.Next = abi.Addr(c.wr[(i+1)*abi.SendWRSize:])
		}
		w.Put(c.wr[i*abi.SendWRSize:])
	}
	bad, err := c.h.PostSend(c.qp, abi.Addr(c.wr))
	if bad != abi.Addr(c.wr[abi.SendWRSize:]) || err != syscall.EINVAL {
		t.Errorf("PostSend = %#x, %v", bad, err)
	}
	c.want(0, abi.StatusSuccess)
	c.none()
}

func TestPostsAreRefusedInTheWrongState(t *testing.T) {
	e := newEnv(t, options{})
	c := e.client
	if err := c.send(abi.SendWR{Opcode: abi.OpSend}, 0, 8); err != syscall.EINVAL {
		t.Errorf("PostSend in QPInit: %v", err)
	}
	c.qp = must(c.h.CreateQP(c.pd, &abi.QPInitAttr{SendCQ: uintptr(c.cq), RecvCQ: uintptr(c.cq), MaxRecvWR: 1}))(t)
	(&abi.RecvWR{}).Put(c.wr)
	if _, err := c.h.PostRecv(c.qp, abi.Addr(c.wr)); err != syscall.EINVAL {
		t.Errorf("PostRecv in QPReset over InfiniBand: %v", err)
	}
	w := newEnv(t, options{transport: abi.TransportIWARP}).client
	w.qp = must(w.h.CreateQP(w.pd, &abi.QPInitAttr{SendCQ: uintptr(w.cq), RecvCQ: uintptr(w.cq), MaxRecvWR: 1}))(t)
	(&abi.RecvWR{}).Put(w.wr)
	if _, err := w.h.PostRecv(w.qp, abi.Addr(w.wr)); err != nil {
		t.Errorf("PostRecv in QPReset over iWARP: %v", err)
	}
}

// TestRequestsInTheErrorStateAreFlushed also when they are posted later.
func TestRequestsInTheErrorStateAreFlushed(t *testing.T) {
	e := connected(t, options{})
	c := e.client
	c.recv(1, 0, 8)
	check(t, c.h.ModifyQP(c.qp, abi.QPAttr{State: abi.QPErr}, abi.MaskState))
	c.want(1, abi.StatusFlushed)
	c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend}, 0, 8)
	c.want(2, abi.StatusFlushed)
	c.recv(3, 0, 8)
	c.want(3, abi.StatusFlushed)
	// The peer of an InfiniBand queue pair notices nothing, until it has something to send.
	e.server.none()
	e.server.mustSend(abi.SendWR{ID: 4, Opcode: abi.OpWrite}, 0, 0)
	e.server.want(4, abi.StatusRetryExc)
}

func TestSendThatIsTooLongFailsAtBothEnds(t *testing.T) {
	e := connected(t, options{})
	e.server.recv(1, 0, 4)
	e.client.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend}, 0, 8)
	e.client.want(2, abi.StatusRemInvReq)
	e.server.want(1, abi.StatusLocLen)
}

func TestReceiveInADeregisteredRegionFailsAtBothEnds(t *testing.T) {
	e := connected(t, options{})
	e.server.recv(1, 0, 8)
	check(t, e.server.h.DeregMR(e.server.mr))
	e.client.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend}, 0, 8)
	e.client.want(2, abi.StatusRemOp)
	e.server.want(1, abi.StatusLocProt)
}

func TestSendFromADeregisteredRegionFails(t *testing.T) {
	e := connected(t, options{})
	e.server.recv(1, 0, 8)
	e.client.dev.Stall(true)
	e.client.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend}, 0, 8)
	check(t, e.client.h.DeregMR(e.client.mr))
	e.client.dev.Stall(false)
	e.client.want(2, abi.StatusLocProt)
}

func TestArmedQueueMakesOneEvent(t *testing.T) {
	e := connected(t, options{})
	c := e.client
	write := func() {
		c.mustSend(abi.SendWR{Opcode: abi.OpWrite, Flags: abi.Signaled}, 0, 0)
		e.idle()
	}
	write()
	c.wantEvent(false)
	check(t, c.h.ReqNotify(c.cq, false))
	c.wantEvent(false) // for the completion that was there before
	write()
	write()
	c.wantEvent(true)
	c.wantEvent(false)
	check(t, c.h.ReqNotify(c.cq, true))
	write()
	c.wantEvent(false)
	check(t, c.h.ReqNotify(c.cq, false)) // the wider request holds
	check(t, c.h.ReqNotify(c.cq, true))
	write()
	c.wantEvent(true)
}

func TestOverflowOfACompletionQueueIsNoticed(t *testing.T) {
	e := newEnv(t, options{})
	c := e.client
	small := must(c.h.CreateCQ(c.dev.Context(), 1, 0, 0, 0))(t)
	c.qp = must(c.h.CreateQP(c.pd, &abi.QPInitAttr{SendCQ: uintptr(small), RecvCQ: uintptr(small), MaxRecvWR: 2, MaxRecvSGE: 1}))(t)
	check(t, c.h.ModifyQP(c.qp, abi.QPAttr{State: abi.QPInit, Port: 1}, abi.MaskState|abi.MaskPort|abi.MaskPKey|abi.MaskAccess))
	c.recv(1, 0, 8)
	c.recv(2, 0, 8)
	check(t, c.h.ModifyQP(c.qp, abi.QPAttr{State: abi.QPErr}, abi.MaskState))
	e.idle()
	if m := e.misuses.take(); !strings.Contains(m, "overflows") {
		t.Errorf("misuse %q", m)
	}
}

func TestDestructionWithUnacknowledgedEventsIsNoticed(t *testing.T) {
	e := connected(t, options{Options: Options{AckTime: time.Millisecond}})
	c, s := e.client, e.server
	check(t, c.h.ReqNotify(c.cq, false))
	c.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpWrite, RemoteAddr: 1}, 0, 8)
	c.want(1, abi.StatusRemAccess)
	must(first(c.h.CQEvent(c.ch)))(t)
	ev := must(s.h.AsyncEvent(s.dev.Context()))(t)
	check(t, c.h.Disconnect(c.id))
	cm := must(c.h.GetCMEvent(c.events))(t)
	for _, n := range []*end{c, s} {
		abi.SetCMQP(uintptr(n.id), 0)
		check(t, n.h.DestroyQP(n.qp))
	}
	check(t, c.h.DestroyCQ(c.cq))
	check(t, c.h.DestroyID(c.id))
	m := e.misuses.take()
	for _, fn := range []string{"ibv_destroy_qp", "ibv_destroy_cq", "rdma_destroy_id"} {
		if strings.Count(m, fn+" hangs") != 1 {
			t.Errorf("misuses do not name %s: %s", fn, m)
		}
	}
	_, _ = ev, cm
}

func first[A, B any](a A, _ B, err error) (A, error) { return a, err }

// TestDestructionWaitsForTheAcknowledgement of an event by another goroutine.
func TestDestructionWaitsForTheAcknowledgement(t *testing.T) {
	e := connected(t, options{Options: Options{AckTime: time.Minute}})
	c := e.client
	check(t, c.h.Disconnect(c.id))
	ev := must(c.h.GetCMEvent(c.events))(t)
	abi.SetCMQP(uintptr(c.id), 0)
	done := make(chan error)
	go func() { done <- c.h.DestroyID(c.id) }()
	select {
	case <-done:
		t.Error("DestroyID did not wait")
	case <-time.After(5 * time.Millisecond):
	}
	check(t, c.h.AckCMEvent(ev))
	check(t, <-done)
}

func TestTooManyAcknowledgementsAreNoticed(t *testing.T) {
	e := newEnv(t, options{})
	e.client.h.AckCQEvents(e.client.cq, 1)
	e.client.h.AckAsyncEvent(abi.AsyncEvent{Type: abi.AsyncQPFatal, Element: uintptr(e.client.qp)})
	if m := e.misuses.take(); strings.Count(m, "acknowledges") != 2 {
		t.Errorf("misuse %q", m)
	}
}

func TestObjectsInUseCannotBeDestroyed(t *testing.T) {
	e := newEnv(t, options{})
	c := e.client
	for what, err := range map[string]error{
		"domain": c.h.DeallocPD(c.pd), "queue": c.h.DestroyCQ(c.cq), "channel": c.h.DestroyCompChannel(c.ch),
	} {
		if !errors.Is(err, syscall.EBUSY) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestLockedMemoryIsLimited(t *testing.T) {
	e := newEnv(t, options{})
	h := e.net.Host(HostOptions{MemLock: 64 << 10}, DeviceOptions{Name: "m0"})
	ctx := h.Device("m0").Context()
	pd := must(h.AllocPD(ctx))(t)
	mem := mmap(t, 1<<17)
	mr := must(h.RegMR(pd, abi.Addr(mem), 60<<10, 0))(t)
	before := e.net.Objects().LockedBytes
	must(h.RegMR(pd, abi.Addr(mem)+1, 1, 0))(t) // a page is counted again, and as a whole
	if n := e.net.Objects().LockedBytes - before; n != pageSize {
		t.Errorf("a byte locks %d bytes, want a page of %d", n, pageSize)
	}
	if _, err := h.RegMR(pd, abi.Addr(mem), 1, 0); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("RegMR over the limit: %v", err)
	}
	if _, err := h.CreateCQ(ctx, 1, 0, 0, 0); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("CreateCQ over the limit: %v", err)
	}
	check(t, h.DeregMR(mr))
	if _, err := h.RegMR(pd, abi.Addr(mem)+1, 60<<10, 0); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("RegMR of 16 pages, of which two in part: %v", err)
	}
	cq := must(h.CreateCQ(ctx, 64, 0, 0, 0))(t)
	if _, err := h.CreateQP(pd, &abi.QPInitAttr{SendCQ: uintptr(cq), RecvCQ: uintptr(cq), MaxSendWR: 512}); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("CreateQP over the limit: %v", err)
	}
}

func TestCallsFailOnDemand(t *testing.T) {
	e := newEnv(t, options{})
	c := e.client
	c.h.Fail("ibv_alloc_pd", syscall.EMFILE, 1, 2)
	for i, want := range []error{nil, syscall.EMFILE, syscall.EMFILE, nil} {
		if _, err := c.h.AllocPD(c.dev.Context()); !errors.Is(err, want) {
			t.Errorf("call %d: %v, want %v", i, err, want)
		}
	}
}

func TestAttributesAreReported(t *testing.T) {
	attr := abi.DeviceAttr{MaxQPWR: 5, MaxQP: 1, Ports: 1}
	n := NewNet(Options{})
	t.Cleanup(n.Close)
	h := n.Host(HostOptions{}, DeviceOptions{Name: "rxe3", Transport: abi.TransportIWARP, Attr: &attr})
	ctxs := must(h.Devices())(t)
	if len(ctxs) != 1 || ctxs[0] != h.Device("rxe3").Context() {
		t.Fatalf("Devices() = %v", ctxs)
	}
	f := abi.Device(abi.Context(uintptr(ctxs[0])).Device)
	if f.Name != "rxe3" || f.Transport != abi.TransportIWARP {
		t.Errorf("device %+v", f)
	}
	if got := must(h.QueryDevice(ctxs[0]))(t); got != attr {
		t.Errorf("attributes %+v", got)
	}
	if port := must(h.QueryPort(ctxs[0], 1))(t); port.State != abi.PortActive || port.Link != abi.LinkEthernet {
		t.Errorf("port %+v", port)
	}
	if _, err := h.QueryPort(ctxs[0], 2); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("port 2: %v", err)
	}
	if gid := must(h.QueryGID(ctxs[0], 1, 0))(t); gid != h.Device("rxe3").Addr().As16() {
		t.Errorf("GID %v", gid)
	}
}

var _ lib.Lib = (*Host)(nil)

// TestNothingBehindAFailedRequestIsExecuted: the Write would succeed.
func TestNothingBehindAFailedRequestIsExecuted(t *testing.T) {
	e := connected(t, options{})
	c, s := e.client, e.server
	s.put(0, 1)
	c.put(0, 2)
	c.dev.Stall(true)
	c.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpLocalInv, Invalidate: 1}, 0, 0)
	c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpWrite, RemoteAddr: s.addr(0), RKey: s.key()}, 0, 8)
	c.dev.Stall(false)
	c.want(1, abi.StatusMWBind)
	c.want(2, abi.StatusFlushed)
	if s.get(0) != 1 {
		t.Error("the Write was executed")
	}
}

func TestDestroyedObjectsAreOverwritten(t *testing.T) {
	e := newEnv(t, options{})
	c := e.client
	first := must(c.h.RegMR(c.pd, abi.Addr(c.mem), 8, 0))(t)
	check(t, c.h.DeregMR(first))
	if f := abi.MR(uintptr(first)); f.LKey != 0xdddddddd {
		t.Errorf("a destroyed region has the keys %+v", f)
	}
	for range spareSlots / 2 {
		mr := must(c.h.RegMR(c.pd, abi.Addr(c.mem), 8, 0))(t)
		if mr == first {
			t.Fatal("the handle is used again soon")
		}
		check(t, c.h.DeregMR(mr))
	}
}
