package fakelib

import (
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// mannerTests has a test for each field of Manners, which sees the device with it and without it.
var mannerTests = map[string]func(t *testing.T, m Manners, on bool){
	"PollsOne": func(t *testing.T, m Manners, on bool) {
		c := failedWith(t, m, 1, 2)
		wcs := make([]byte, 4*abi.WCSize)
		n := must(c.h.Poll(c.cq, wcs))(t)
		if want := 2; !on && n != want || on && n != 1 {
			t.Errorf("a poll returns %d of 2 completions", n)
		}
	},
	"SignalsAll": func(t *testing.T, m Manners, on bool) {
		c := connected(t, options{manners: m}).client
		c.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpWrite}, 0, 0)
		if on {
			c.want(2, abi.StatusSuccess)
		}
		c.none()
	},
	"FlushesTwice": func(t *testing.T, m Manners, on bool) {
		c := failedWith(t, m, 1)
		c.want(1, abi.StatusFlushed)
		if on {
			c.want(1, abi.StatusFlushed)
		}
		c.none()
	},
	"ReceivesFirst": func(t *testing.T, m Manners, on bool) {
		c := failedWith(t, m, 1, 100)
		first, second := uint64(100), uint64(1)
		if on {
			first, second = second, first
		}
		c.want(first, abi.StatusFlushed)
		c.want(second, abi.StatusFlushed)
	},
	"SlowFlush": func(t *testing.T, m Manners, on bool) {
		start := time.Now()
		c := failedWith(t, m, 1)
		c.want(1, abi.StatusFlushed)
		if took := time.Since(start); on && took < flushDelay {
			t.Errorf("the flush took %v", took)
		}
	},
	"RefusesFlush": func(t *testing.T, m Manners, on bool) {
		c := failedWith(t, m)
		if err := c.send(abi.SendWR{ID: 2, Opcode: abi.OpWrite}, 0, 0); (err == syscall.EINVAL) != on {
			t.Errorf("post to a queue pair that has failed: %v", err)
		}
	},
	"LostFields": func(t *testing.T, m Manners, on bool) {
		c := failedWith(t, m, 1)
		if wc := c.want(1, abi.StatusFlushed); (wc.QPNum == 0) != on {
			t.Errorf("the completion is of queue pair %d", wc.QPNum)
		}
	},
	"OddFlags": func(t *testing.T, m Manners, on bool) {
		e := connected(t, options{manners: m})
		e.server.recv(1, 0, 8)
		e.client.mustSend(abi.SendWR{ID: 2, Opcode: abi.OpSend}, 0, 8)
		if wc := e.server.want(1, abi.StatusSuccess); (wc.Flags != 0) != on {
			t.Errorf("the completion has flags %#x", wc.Flags)
		}
	},
	"DistinctKeys": func(t *testing.T, m Manners, on bool) {
		c := connected(t, options{manners: m}).client
		if f := abi.MR(uintptr(c.mr)); (f.LKey != f.RKey) != on {
			t.Errorf("keys %#x and %#x", f.LKey, f.RKey)
		}
	},
	"Larger": func(t *testing.T, m Manners, on bool) {
		c := newEnv(t, options{manners: m}).client
		attr := abi.QPInitAttr{SendCQ: uintptr(c.cq), RecvCQ: uintptr(c.cq), MaxSendWR: 16, MaxRecvWR: 16}
		qp := must(c.h.CreateQP(c.pd, &attr))(t)
		if (attr.MaxSendWR > 16) != on || (attr.MaxRecvWR > 16) != on {
			t.Errorf("queues of %d and %d requests, asked for 16", attr.MaxSendWR, attr.MaxRecvWR)
		}
		check(t, c.h.DestroyQP(qp))
	},
	"EmptyEvents": func(t *testing.T, m Manners, on bool) {
		c := connected(t, options{manners: m}).client
		check(t, c.h.ReqNotify(c.cq, false))
		c.wantEvent(on)
	},
	"Interrupted": func(t *testing.T, m Manners, on bool) {
		c := newEnv(t, options{manners: m}).client
		_, _, err := c.h.CQEvent(c.ch)
		_, async := c.h.AsyncEvent(c.dev.Context())
		_, cm := c.h.GetCMEvent(c.events)
		for _, err := range []error{err, async, cm} {
			if (err == syscall.EINTR) != on {
				t.Errorf("a call that takes an event: %v", err)
			}
		}
		if _, _, err := c.h.CQEvent(c.ch); err != syscall.EAGAIN {
			t.Errorf("the next call: %v", err)
		}
	},
	"StrayEvents": func(t *testing.T, m Manners, on bool) {
		c := connected(t, options{manners: m}).client
		e, err := c.h.AsyncEvent(c.dev.Context())
		if (err == nil) != on {
			t.Fatalf("event %+v, %v", e, err)
		}
		for ; err == nil; e, err = c.h.AsyncEvent(c.dev.Context()) {
			c.h.AckAsyncEvent(e)
		}
	},
	"StrayCMEvents": func(t *testing.T, m Manners, on bool) {
		e := newEnv(t, options{manners: m})
		_, addr := e.listen()
		c := e.client
		c.id = must(c.h.CreateID(c.events, 0))(t)
		check(t, c.h.ResolveAddr(c.id, nil, addr, time.Second))
		if on {
			c.wantCM(abi.CMAddrChange)
			c.wantCM(cmUnknown)
		}
		c.wantCM(abi.CMAddrResolved)
	},
	"LateEstablished": func(t *testing.T, m Manners, on bool) {
		e := newEnv(t, options{manners: m})
		_, addr := e.listen()
		start := time.Now()
		e.dial(addr, abi.ConnParam{}, "")
		e.accept(abi.ConnParam{}, "")
		e.client.wantCM(abi.CMEstablished)
		e.server.wantCM(abi.CMEstablished)
		if took := time.Since(start); on && took < establishedDelay {
			t.Errorf("the server had the event after %v", took)
		}
	},
}

// failedWith returns a queue pair that has failed with requests posted: Receives for identifiers
// below 100, else Writes.
func failedWith(t *testing.T, m Manners, ids ...uint64) *end {
	t.Helper()
	c := connected(t, options{manners: m, quirks: quirks.Quirks{}}).client
	c.dev.Stall(true)
	for _, id := range ids {
		if id < 100 {
			c.recv(id, 0, 8)
		} else {
			c.mustSend(abi.SendWR{ID: id, Opcode: abi.OpWrite, Flags: abi.Signaled}, 0, 0)
		}
	}
	c.dev.Fatal(c.qp)
	c.dev.Stall(false)
	c.async()
	c.e.idle()
	return c
}

func TestEachMannerShows(t *testing.T) {
	kind := reflect.TypeFor[Manners]()
	for i := range kind.NumField() {
		name := kind.Field(i).Name
		test := mannerTests[name]
		if test == nil {
			t.Errorf("%s has no test", name)
			continue
		}
		for _, on := range []bool{false, true} {
			var m Manners
			reflect.ValueOf(&m).Elem().Field(i).SetBool(on)
			t.Run(name+map[bool]string{false: " off", true: " on"}[on], func(t *testing.T) { test(t, m, on) })
		}
	}
	if len(mannerTests) > kind.NumField() {
		t.Error("there are tests of manners that do not exist")
	}
}

// Objects beyond the limits of a device are refused, and can be created when others are gone.
func TestObjectsBeyondTheLimitsAreRefused(t *testing.T) {
	net := NewNet(Options{})
	defer net.Close()
	h := net.Host(HostOptions{}, DeviceOptions{Name: "c0", Attr: &abi.DeviceAttr{MaxPD: 1, MaxMR: 1, MaxMW: 1, MaxMRSize: 4096}})
	ctx := h.Device("c0").Context()
	mem := mmap(t, 4096)
	for range 2 {
		pd := must(h.AllocPD(ctx))(t)
		mr := must(h.RegMR(pd, abi.Addr(mem), 8, abi.LocalWrite))(t)
		mw := must(h.AllocMW(pd))(t)
		for what, err := range map[string]error{
			"domain": second(h.AllocPD(ctx)), "region": second(h.RegMR(pd, abi.Addr(mem), 8, 0)), "window": second(h.AllocMW(pd)),
		} {
			if err == nil {
				t.Errorf("a second %s, limit is 1", what)
			}
		}
		check(t, h.DeallocMW(mw))
		check(t, h.DeregMR(mr))
		check(t, h.DeallocPD(pd))
	}
}

func second[T any](_ T, err error) error { return err }
