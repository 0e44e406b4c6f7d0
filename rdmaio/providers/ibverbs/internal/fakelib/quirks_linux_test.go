package fakelib

import (
	"bytes"
	"errors"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// quirkTests has a test for each field of quirks.Quirks. The test sees the device with the quirk
// and without it.
var quirkTests = map[string]func(t *testing.T, on bool){
	"UnorderedReads": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{UnorderedReads: on}})
		c, s := e.client, e.server
		s.dev.HoldReads(true)
		s.recv(1, 0, 64)
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpRead, Flags: abi.Signaled, RemoteAddr: s.addr(0), RKey: s.key()}, 0, 8)
		c.mustSend(abi.SendWR{ID: 3, Opcode: abi.OpSend, Flags: abi.Signaled}, 64, 8)
		s.want(1, abi.StatusSuccess)
		if on {
			c.want(3, abi.StatusSuccess)
		}
		c.none()
		s.dev.HoldReads(false)
		c.want(2, abi.StatusSuccess)
		if !on {
			c.want(3, abi.StatusSuccess)
		}
	},
	"NoSolicitedEvent": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{NoSolicitedEvent: on}})
		c, s := e.client, e.server
		check(t, s.h.ReqNotify(s.cq, true))
		s.recv(1, 0, 64)
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend, Flags: abi.Solicited}, 0, 8)
		s.want(1, abi.StatusSuccess)
		s.wantEvent(!on)
	},
	"NoErrorEvent": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{NoErrorEvent: on}})
		c := e.client
		check(t, c.h.ReqNotify(c.cq, true))
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend}, 0, 8) // the server has no Receive
		c.want(2, abi.StatusRNRRetryExc)
		c.wantEvent(!on)
	},
	"LateCause": func(t *testing.T, on bool) {
		e := connected(t, options{transport: abi.TransportIWARP, quirks: quirks.Quirks{LateCause: on}})
		c := e.client
		e.server.recv(1, 0, 8)
		c.mustSend(abi.SendWR{ID: 3, Opcode: abi.OpSend, Flags: abi.Signaled}, 0, 8)
		c.want(3, abi.StatusSuccess)
		e.server.want(1, abi.StatusSuccess)
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpWrite, RemoteAddr: 1, RKey: 1}, 0, 8)
		if !on {
			c.want(2, abi.StatusRemAccess)
			return
		}
		c.want(2, abi.StatusFlushed)
		if ev := c.async(); ev.Type != abi.AsyncQPAccessErr || ev.Element != uintptr(c.qp) {
			t.Errorf("event %+v, want AsyncQPAccessErr", ev)
		}
		c.wantCM(abi.CMDisconnected)
	},
	"CauseAfterEnd": func(t *testing.T, on bool) { testLateCause(t, quirks.Quirks{LateCause: true, CauseAfterEnd: on}) },
	"CauseDelayed":  func(t *testing.T, on bool) { testLateCause(t, quirks.Quirks{LateCause: true, CauseDelayed: on}) },
	"CauseNever":    func(t *testing.T, on bool) { testLateCause(t, quirks.Quirks{LateCause: true, CauseNever: on}) },
	"UnreadFirst": func(t *testing.T, on bool) {
		e := connected(t, options{transport: abi.TransportIWARP, quirks: quirks.Quirks{UnreadFirst: on}})
		c, s := e.client, e.server
		s.recv(1, 0, 8)
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend, Flags: abi.Signaled}, 0, 8)
		if on {
			s.none()
			c.mustSend(abi.SendWR{ID: 3, Opcode: abi.OpWrite}, 0, 0)
		}
		s.want(1, abi.StatusSuccess)
		c.want(2, abi.StatusSuccess)
	},
	"BrittleReply": func(t *testing.T, on bool) {
		e := newEnv(t, options{transport: abi.TransportIWARP, quirks: quirks.Quirks{BrittleReply: on}})
		c, s := e.client, e.server
		l, addr := e.listen()
		defer func() { check(t, s.h.DestroyID(l)) }()
		p := abi.ConnParam{Responder: 4, Initiator: 4, Retry: 7}
		e.dial(addr, p, "")
		e.accept(p, "")
		s.wantCM(abi.CMEstablished)
		s.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpWrite, Flags: abi.Signaled}, 0, 0)
		if !on {
			s.want(2, abi.StatusSuccess)
			c.wantCM(abi.CMEstablished)
			return
		}
		s.want(2, abi.StatusFlushed)
		s.wantCM(abi.CMDisconnected)
		c.wantCM(abi.CMConnectError)
	},
	"NoEmptyReads": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{NoEmptyReads: on}})
		want := abi.StatusSuccess
		if on {
			want = abi.StatusRemAccess
		}
		e.client.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpRead, Flags: abi.Signaled}, 0, -1)
		e.client.want(2, want)
	},
	"KernelTCP": func(t *testing.T, on bool) {
		e := connected(t, options{transport: abi.TransportIWARP, quirks: quirks.Quirks{KernelTCP: on}})
		c, s := e.client, e.server
		id := abi.GetCMID(uintptr(c.id))
		local, _ := addrPort(id.Src)
		remote, _ := addrPort(id.Dst)
		before, _, err := c.h.TCP(local, remote)
		if !on {
			if err != syscall.ENOENT {
				t.Errorf("TCP: %v, want ENOENT", err)
			}
			return
		}
		check(t, err)
		s.recv(1, 0, 8)
		time.Sleep(time.Millisecond)
		start := time.Now()
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend, Flags: abi.Signaled}, 0, 8)
		c.want(2, abi.StatusSuccess)
		got, _, err := c.h.TCP(local, remote)
		check(t, err)
		if got > time.Since(start) {
			t.Errorf("heard %v ago, and %v ago before a message", got, before)
		}
	},
	"NoRNR": func(t *testing.T, on bool) {
		e := connected(t, options{transport: abi.TransportIWARP, quirks: quirks.Quirks{NoRNR: on}})
		c := e.client
		want := abi.StatusRNRRetryExc
		if on {
			want = abi.StatusSuccess
		}
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend, Flags: abi.Signaled}, 0, 8)
		c.want(2, want)
		c.wantCM(abi.CMDisconnected)
		e.server.wantCM(abi.CMDisconnected)
	},
	"EmptySGE": func(t *testing.T, on bool) {
		e := newEnv(t, options{quirks: quirks.Quirks{EmptySGE: on}})
		c := e.client
		(&abi.RecvWR{ID: 1}).Put(c.wr)
		_, err := c.h.PostRecv(c.qp, abi.Addr(c.wr))
		if (err == syscall.EINVAL) != on {
			t.Errorf("a Receive without elements: %v", err)
		}
		c.recv(2, 0, 0)
	},
	"PaddedPrivateData": func(t *testing.T, on bool) {
		e := newEnv(t, options{quirks: quirks.Quirks{PaddedPrivateData: on}})
		want := func(got []byte, text string, size int) {
			t.Helper()
			if !on {
				size = len(text)
			}
			if !bytes.Equal(got, append([]byte(text), make([]byte, size-len(text))...)) {
				t.Errorf("private data %q of %d bytes, want %q of %d bytes", got, len(got), text, size)
			}
		}
		_, addr := e.listen()
		e.dial(addr, abi.ConnParam{}, "ask")
		ev := e.server.wantCM(abi.CMConnectRequest)
		want(ev.PrivateData, "ask", 56)
		s := e.server
		s.id = lib.ID(ev.ID)
		abi.SetCMQP(uintptr(s.id), uintptr(s.qp))
		check(t, s.h.Accept(s.id, s.param(abi.ConnParam{}, "answer")))
		want(e.client.wantCM(abi.CMEstablished).PrivateData, "answer", 196)

		e.client.newQP()
		e.dial(addr, abi.ConnParam{}, "")
		s.wantCM(abi.CMEstablished)
		ev = s.wantCM(abi.CMConnectRequest)
		want(ev.PrivateData, "", 56)
		check(t, s.h.Reject(lib.ID(ev.ID), []byte("no")))
		want(e.client.wantCM(abi.CMRejected).PrivateData, "no", 148)
	},
	"PeersDepths": func(t *testing.T, on bool) {
		e := newEnv(t, options{quirks: quirks.Quirks{PeersDepths: on}})
		_, addr := e.listen()
		e.dial(addr, abi.ConnParam{Initiator: 3, Responder: 5}, "")
		ev := e.server.wantCM(abi.CMConnectRequest)
		wantDepths(t, ev, 3, 5, false) // of a request, as over InfiniBand
		s := e.server
		s.id = lib.ID(ev.ID)
		abi.SetCMQP(uintptr(s.id), uintptr(s.qp))
		check(t, s.h.Accept(s.id, s.param(abi.ConnParam{Initiator: 2, Responder: 1}, "")))
		wantDepths(t, e.client.wantCM(abi.CMEstablished), 2, 1, on)
	},
	"StatusRejects": func(t *testing.T, on bool) {
		e := newEnv(t, options{quirks: quirks.Quirks{StatusRejects: on}})
		l, addr := e.listen()
		refused, rejected := int32(8), int32(28)
		if on {
			refused, rejected = -int32(syscall.ECONNREFUSED), -int32(syscall.ECONNRESET)
		}
		e.dial(addr, abi.ConnParam{}, "")
		check(t, e.server.h.Reject(lib.ID(e.server.wantCM(abi.CMConnectRequest).ID), nil))
		if ev := e.client.wantCM(abi.CMRejected); ev.Status != rejected {
			t.Errorf("status of a rejection %d, want %d", ev.Status, rejected)
		}
		check(t, e.server.h.DestroyID(l))
		e.client.newQP()
		e.dial(addr, abi.ConnParam{}, "")
		if ev := e.client.wantCM(abi.CMRejected); ev.Status != refused {
			t.Errorf("status without a listener %d, want %d", ev.Status, refused)
		}
	},
	"NoLocalInvalidate": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{NoLocalInvalidate: on}})
		c := e.client
		err := c.send(abi.SendWR{ID: 1, Opcode: abi.OpLocalInv, Flags: abi.Signaled, Invalidate: c.key()}, 0, 0)
		if (err == syscall.EINVAL) != on {
			t.Errorf("a local invalidation: %v", err)
		}
	},
	"LocalInvalidateBreaks": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{LocalInvalidateBreaks: on}})
		c := e.client
		c.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpLocalInv, Flags: abi.Signaled, Invalidate: c.key()}, 0, 0)
		if on {
			c.want(1, abi.StatusMWBind)
			return
		}
		c.want(1, abi.StatusSuccess)
		e.server.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpWrite, RemoteAddr: c.addr(0), RKey: c.key()}, 0, 8)
		e.server.want(2, abi.StatusRemAccess)
	},
	"InvalidateOnce": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{InvalidateOnce: on}})
		c := e.client
		key := c.bind(must(c.h.AllocMW(c.pd))(t), 1, 0, 64, abi.RemoteRead)
		c.want(1, abi.StatusSuccess)
		want := []abi.Status{abi.StatusSuccess, abi.StatusSuccess}
		if on {
			want[1] = abi.StatusMWBind
		}
		for i := range 2 {
			c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpLocalInv, Flags: abi.Signaled, Invalidate: key}, 0, 0)
			c.want(2, want[i])
		}
	},
	"RemoteInvalidateBreaks": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{RemoteInvalidateBreaks: on}})
		c, s := e.client, e.server
		s.recv(1, 0, 64)
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSendInv, Flags: abi.Signaled, Invalidate: s.key(), RKey: s.key()}, 0, 8)
		c.want(2, abi.StatusSuccess)
		if on {
			s.want(1, abi.StatusRemInvReq)
			return
		}
		if wc := s.want(1, abi.StatusSuccess); wc.InvalidatedKey != s.key() || wc.Flags != abi.WithInv {
			t.Errorf("completion %+v, want the key %#x", wc, s.key())
		}
	},
	"UnreportedInvalidate": func(t *testing.T, on bool) {
		key, wc := testInvalidation(t, quirks.Quirks{UnreportedInvalidate: on})
		if on && (wc.InvalidatedKey == key || wc.Flags != 0) || !on && (wc.InvalidatedKey != key || wc.Flags != abi.WithInv) {
			t.Errorf("completion %+v of the invalidation of %#x", wc, key)
		}
	},
	"KernelWithInv": func(t *testing.T, on bool) {
		key, wc := testInvalidation(t, quirks.Quirks{KernelWithInv: on})
		if wc.InvalidatedKey != key || (wc.Flags == abi.KernelWithInv) != on {
			t.Errorf("completion %+v of the invalidation of %#x", wc, key)
		}
	},
	"InvalidateInRKey": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{InvalidateInRKey: on}})
		c, s := e.client, e.server
		s.recv(1, 0, 64)
		w := abi.SendWR{ID: 2, Opcode: abi.OpSendInv, Invalidate: s.key(), RKey: 1}
		if on {
			w.Invalidate, w.RKey = w.RKey, w.Invalidate
		}
		c.mustSend(w, 0, 8)
		s.want(1, abi.StatusSuccess)
	},
	"GuessableKeys": func(t *testing.T, on bool) {
		e := newEnv(t, options{quirks: quirks.Quirks{GuessableKeys: on}})
		c := e.client
		next := 0
		for last, i := c.key(), 0; i < 8; i++ {
			key := abi.MR(uintptr(must(c.h.RegMR(c.pd, abi.Addr(c.mem), 8, 0))(t))).RKey
			if key>>8-last>>8 <= 2 {
				next++
			}
			last = key
		}
		if on != (next == 8) {
			t.Errorf("%d of 8 keys follow the one before", next)
		}
	},
	"SinkNeedsRemoteWrite": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{SinkNeedsRemoteWrite: on}})
		c, s := e.client, e.server
		c.mr = must(c.h.RegMR(c.pd, abi.Addr(c.mem), 64, abi.LocalWrite))(t)
		c.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpRead, Flags: abi.Signaled, RemoteAddr: s.addr(0), RKey: s.key()}, 0, 8)
		if on {
			c.want(1, abi.StatusLocProt)
		} else {
			c.want(1, abi.StatusSuccess)
		}
	},
	"DeregLeavesReads": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{DeregLeavesReads: on}})
		c, s := e.client, e.server
		s.put(0, 1)
		s.dev.HoldReads(true)
		c.mustSend(abi.SendWR{ID: 1, Opcode: abi.OpRead, Flags: abi.Signaled, RemoteAddr: s.addr(0), RKey: s.key()}, 0, 8)
		e.idle()
		done := make(chan error)
		go func() { done <- s.h.DeregMR(s.mr) }()
		if on {
			check(t, <-done)
			s.put(0, 2)
			s.dev.HoldReads(false)
			c.want(1, abi.StatusSuccess)
			if c.get(0) != 2 {
				t.Errorf("the Read brought %d", c.get(0))
			}
			return
		}
		select {
		case <-done:
			t.Error("DeregMR did not wait for the Read")
		case <-time.After(20 * time.Millisecond):
		}
		s.dev.HoldReads(false)
		check(t, <-done)
		c.want(1, abi.StatusSuccess)
		if c.get(0) != 1 {
			t.Errorf("the Read brought %d", c.get(0))
		}
	},
	"MaxUnflushed": func(t *testing.T, on bool) {
		q := quirks.Quirks{}
		if on {
			q.MaxUnflushed = 2
		}
		e := connected(t, options{quirks: q})
		c := e.client
		c.dev.Stall(true)
		for i := range 5 {
			c.mustSend(abi.SendWR{ID: uint64(i), Opcode: abi.OpWrite}, 0, 0)
		}
		check(t, c.h.ModifyQP(c.qp, abi.QPAttr{State: abi.QPErr}, abi.MaskState))
		c.dev.Stall(false)
		for i := range 5 {
			if !on || i < 3 {
				c.want(uint64(i), abi.StatusFlushed)
			}
		}
		c.none()
	},
	"OddStatuses": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{OddStatuses: on}})
		c, s := e.client, e.server
		s.recv(1, 0, 4)
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend}, 0, 8)
		q := quirks.Quirks{OddStatuses: on}
		ours, theirs := abi.StatusRemInvReq, abi.StatusLocLen
		if on {
			ours, theirs = abi.StatusRemOp, abi.StatusGeneral
		}
		c.want(2, ours)
		s.want(1, theirs)
		if q.Status(ours, false) != abi.StatusRemInvReq || q.Status(theirs, true) != abi.StatusLocLen {
			t.Error("Quirks.Status does not undo the odd statuses")
		}
	},
	"NoWindows": func(t *testing.T, on bool) {
		caps, err := windows(t, quirks.Quirks{NoWindows: on})
		if caps == on || errors.Is(err, syscall.EOPNOTSUPP) != on {
			t.Errorf("capability %v, AllocMW: %v", caps, err)
		}
	},
	"WindowsAbsent": func(t *testing.T, on bool) {
		caps, err := windows(t, quirks.Quirks{WindowsAbsent: on})
		if !caps || errors.Is(err, syscall.EOPNOTSUPP) != on {
			t.Errorf("capability %v, AllocMW: %v", caps, err)
		}
	},
	"WindowsUnbounded": func(t *testing.T, on bool) {
		e := connected(t, options{quirks: quirks.Quirks{WindowsUnbounded: on}})
		c, s := e.client, e.server
		key := s.bind(must(s.h.AllocMW(s.pd))(t), 1, 0, 64, abi.RemoteRead)
		s.want(1, abi.StatusSuccess)
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpRead, Flags: abi.Signaled, RemoteAddr: uint64(abi.Addr(s.mem)) + 64, RKey: key}, 0, 8)
		want := abi.StatusRemAccess
		if on {
			want = abi.StatusSuccess
		}
		c.want(2, want)
	},
	"RefusedPage": func(t *testing.T, on bool) {
		c := newEnv(t, options{quirks: quirks.Quirks{RefusedPage: on}}).client
		refused := 0
		for range 150 { // of a page each
			cq, err := c.h.CreateCQ(c.dev.Context(), 64, 0, 0, 0)
			if err != nil {
				refused++
				continue
			}
			defer func() { check(t, c.h.DestroyCQ(cq)) }()
		}
		if refused > 0 != on {
			t.Errorf("%d of 150 queues refused", refused)
		}
	},
	"NoConnections": func(t *testing.T, on bool) {
		e := newEnv(t, options{quirks: quirks.Quirks{NoConnections: on}})
		_, err := e.client.h.CreateQP(e.client.pd, &abi.QPInitAttr{SendCQ: uintptr(e.client.cq), RecvCQ: uintptr(e.client.cq)})
		if errors.Is(err, syscall.EOPNOTSUPP) != on {
			t.Errorf("CreateQP: %v", err)
		}
	},
}

func TestEachQuirkIsASwitch(t *testing.T) {
	fields := reflect.TypeOf(quirks.Quirks{})
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		test := quirkTests[name]
		if test == nil {
			t.Errorf("no test of the quirk %s", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Run("off", func(t *testing.T) { test(t, false) })
			t.Run("on", func(t *testing.T) { test(t, true) })
		})
	}
	if len(quirkTests) != fields.NumField() {
		t.Errorf("%d tests of %d quirks", len(quirkTests), fields.NumField())
	}
}

// testLateCause sees when the cause of an end comes.
func testLateCause(t *testing.T, q quirks.Quirks) {
	for _, after := range []time.Duration{time.Millisecond, time.Hour} {
		e := connected(t, options{Options: Options{CauseTime: after}, transport: abi.TransportIWARP, quirks: q})
		c := e.client
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpWrite, RemoteAddr: 1, RKey: 1}, 0, 8)
		c.want(2, abi.StatusFlushed)
		if q.CauseAfterEnd {
			c.noAsync()
		}
		c.wantCM(abi.CMDisconnected)
		if q.CauseNever || q.CauseDelayed && after == time.Hour {
			c.noAsync()
		} else {
			c.async()
		}
	}
}

// noAsync checks that the device has no asynchronous event.
func (n *end) noAsync() {
	n.e.t.Helper()
	if _, err := n.h.AsyncEvent(n.dev.Context()); err != syscall.EAGAIN {
		n.e.t.Errorf("AsyncEvent: %v, want EAGAIN", err)
	}
}

// testInvalidation invalidates a window of the server by a Send of the client.
func testInvalidation(t *testing.T, q quirks.Quirks) (uint32, abi.WC) {
	e := connected(t, options{quirks: q})
	c, s := e.client, e.server
	key := s.bind(must(s.h.AllocMW(s.pd))(t), 3, 0, 64, abi.RemoteRead)
	s.want(3, abi.StatusSuccess)
	s.recv(1, 0, 64)
	c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSendInv, Flags: abi.Signaled, Invalidate: key, RKey: key}, 0, 8)
	c.want(2, abi.StatusSuccess)
	return key, s.want(1, abi.StatusSuccess)
}

// wantDepths checks the depths in an event of a peer that has passed initiator and responder.
func wantDepths(t *testing.T, ev abi.CMEvent, initiator, responder uint8, theirs bool) {
	t.Helper()
	if !theirs {
		initiator, responder = responder, initiator
	}
	if ev.Initiator != initiator || ev.Responder != responder {
		t.Errorf("initiator depth %d, responder resources %d, want %d, %d", ev.Initiator, ev.Responder, initiator, responder)
	}
}

// windows returns whether a device says that it has windows, and the result of an allocation.
func windows(t *testing.T, q quirks.Quirks) (bool, error) {
	e := newEnv(t, options{quirks: q})
	attr := must(e.client.h.QueryDevice(e.client.dev.Context()))(t)
	_, err := e.client.h.AllocMW(e.client.pd)
	return attr.Caps&abi.CapMemWindow2B != 0, err
}

// key returns the key of the region.
func (n *end) key() uint32 { return abi.MR(uintptr(n.mr)).RKey }

// wantEvent checks whether the completion queue has an event.
func (n *end) wantEvent(want bool) {
	n.e.t.Helper()
	n.e.idle()
	cq, user, err := n.h.CQEvent(n.ch)
	if !want {
		if err != syscall.EAGAIN {
			n.e.t.Errorf("CQEvent: %v, want EAGAIN", err)
		}
		return
	}
	check(n.e.t, err)
	if cq != n.cq || user != 7 {
		n.e.t.Errorf("event of %#x with %d, want %#x with 7", cq, user, n.cq)
	}
	n.h.AckCQEvents(cq, 1)
}
