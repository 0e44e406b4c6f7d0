package fakelib

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// TestPeerFallsSilentDuringARevocation is the life of a connection that ends badly.
func TestPeerFallsSilentDuringARevocation(t *testing.T) {
	e := connected(t, options{Options: Options{RetryTime: 20 * time.Millisecond}})
	c, s := e.client, e.server
	w := must(c.h.AllocMW(c.pd))(t)
	key := c.bind(w, 1, 0, 64, abi.RemoteRead|abi.RemoteWrite)
	s.recv(2, 0, 128)
	c.put(256, 42)
	c.mustSend(abi.SendWR{ID: 3, Opcode: abi.OpSend, Flags: abi.Signaled}, 256, 8)
	c.want(1, abi.StatusSuccess)
	c.want(3, abi.StatusSuccess)
	if wc := s.want(2, abi.StatusSuccess); wc.ByteLen != 8 || wc.Opcode != abi.WCRecv || s.get(0) != 42 {
		t.Fatalf("received %d bytes, opcode %d, value %d", wc.ByteLen, wc.Opcode, s.get(0))
	}
	s.put(512, 43)
	s.mustSend(abi.SendWR{ID: 4, Opcode: abi.OpWrite, Flags: abi.Signaled, RemoteAddr: c.addr(56), RKey: key}, 512, 8)
	s.want(4, abi.StatusSuccess)
	if c.get(56) != 43 {
		t.Fatalf("the Write through the window brought %d", c.get(56))
	}
	c.recv(8, 1024, 64)
	s.dev.Silence(true)
	c.mustSend(abi.SendWR{ID: 5, Opcode: abi.OpSend}, 256, 8) // unsignaled
	c.mustSend(abi.SendWR{ID: 6, Opcode: abi.OpLocalInv, Flags: abi.Signaled, Invalidate: key}, 0, 0)
	c.want(5, abi.StatusRetryExc)
	c.want(6, abi.StatusFlushed)
	c.want(8, abi.StatusFlushed)
	check(t, c.h.Disconnect(c.id))
	c.wantCM(abi.CMDisconnected)
	abi.SetCMQP(uintptr(c.id), 0)
	check(t, c.h.DeallocMW(w))
	check(t, c.h.DestroyQP(c.qp))
	check(t, c.h.DestroyID(c.id))
	check(t, c.h.DeregMR(c.mr))
	check(t, c.h.DestroyCQ(c.cq))
	check(t, c.h.DestroyCompChannel(c.ch))
	c.h.DestroyEventChannel(c.events)
	check(t, c.h.DeallocPD(c.pd))
	want := Objects{PDs: 1, MRs: 1, CompChannels: 1, CQs: 1, QPs: 1, EventChannels: 1, IDs: 1}
	got := e.net.Objects()
	got.LockedBytes = 0
	if got != want {
		t.Errorf("live objects %+v, want those of the server only: %+v", got, want)
	}
}

func TestHandlesOfDestroyedObjectsAreNoticed(t *testing.T) {
	e := newEnv(t, options{})
	c := e.client
	check(t, c.h.DeregMR(c.mr))
	if err := c.h.DeregMR(c.mr); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("second DeregMR: %v", err)
	}
	if s := e.misuses.take(); !strings.Contains(s, "ibv_dereg_mr") {
		t.Errorf("misuse %q", s)
	}
}
