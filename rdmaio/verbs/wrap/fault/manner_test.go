package fault_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// allied returns two connected ends whose devices have the same manners, and their network.
func allied(t testing.TB, cfg fault.Config) (inj *fault.Injector, n *mem.Network, c, s *side) {
	t.Helper()
	inj, n = fault.New(cfg), mem.New(nil)
	open := func(name string) *side {
		d, err := n.Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return newSide(t, inj.Device(d))
	}
	c, s = open("client"), open("server")
	if dial, accept := connect(t, c, s); dial != nil || accept != nil {
		t.Fatal(dial, accept)
	}
	return inj, n, c, s
}

// effect checks that a manner has had an effect.
func effect(t testing.TB, inj *fault.Injector, m fault.Manners) {
	t.Helper()
	if inj.Happened(m) == 0 {
		t.Errorf("%v had no effect: the test tested nothing", m)
	}
}

// order posts Writes of one byte each, and then a Send, and returns the order in which they reach
// the peer's memory. wr changes a Write.
func order(t *testing.T, seed uint64, wr func(i int, wr *verbs.SendWR)) (seen []int, completions []string) {
	const n = 8
	_, net, c, s := allied(t, fault.Config{Manners: fault.ShuffledWrites, Seed: seed})
	s.recvs(1)
	var wrs []verbs.SendWR
	regions := [2]verbs.MemoryRegion{s.mr, s.register(verbs.AccessLocalWrite | verbs.AccessRemoteWrite)}
	for i := range n {
		c.mr.Bytes()[i] = byte(i + 1)
		to := regions[i%2]
		w := verbs.SendWR{
			WRID: uint64(i), Opcode: verbs.RDMAWrite, SGL: []verbs.SGE{{MR: c.mr, Offset: i, Length: 1}},
			RKey: to.RKey(), RemoteAddr: to.RemoteAddr() + uint64(i),
		}
		wr(i, &w)
		wrs = append(wrs, w)
	}
	send := c.wr(n, verbs.Send, s)
	send.SGL = []verbs.SGE{{MR: c.mr, Offset: 63, Length: 1}}
	net.Hold()
	if k, err := c.qp.PostSend(append(wrs, send)); k != n+1 || err != nil {
		t.Fatal(k, err)
	}
	for range n {
		if !net.Step() {
			t.Fatal("a Write is missing")
		}
		for i := range n {
			if regions[i%2].Bytes()[i] == byte(i+1) && !slices.Contains(seen, i) {
				seen = append(seen, i)
			}
		}
	}
	if got := s.poll(); len(got) > 0 {
		t.Errorf("the Send came before the Writes: %v", got)
	}
	net.Release()
	want(t, "server", s.poll(), "100 success")
	completions = c.poll()
	if len(seen) != n {
		t.Errorf("%v arrived", seen)
	}
	return seen, completions
}

// R4, R5: Writes that share one completion become visible in any order, all before the next Send.
// Other Writes keep their order, and fences their place.
func TestShuffledWrites(t *testing.T) {
	plain := func(int, *verbs.SendWR) {}
	first, completions := order(t, 1, plain)
	want(t, "completions", completions, "8 success")
	again, _ := order(t, 1, plain)
	other, _ := order(t, 2, plain)
	if slices.IsSorted(first) || !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Errorf("order %v, again %v, with another seed %v", first, again, other)
	}
	got, completions := order(t, 1, func(_ int, wr *verbs.SendWR) { wr.Flags = verbs.SendSignaled })
	if want(t, "completions", completions, "0 success", "1 success", "2 success", "3 success", "4 success", "5 success", "6 success", "7 success", "8 success"); !slices.IsSorted(got) {
		t.Errorf("signaled Writes arrived in the order %v", got)
	}
	got, _ = order(t, 1, func(i int, wr *verbs.SendWR) {
		if i == 4 {
			wr.Flags = verbs.SendFence
		}
	})
	if slices.Max(got[:4]) != 3 || slices.IsSorted(got[:4]) || slices.IsSorted(got[4:]) {
		t.Errorf("with a fence before 4 they arrived in the order %v", got)
	}
}

func TestLateCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inj, _, c, s := allied(t, fault.Config{Manners: fault.LateCause, NotifyDelay: time.Second})
		c.recvs(1)
		if err := s.qp.Disconnect(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // after no time, and after nearly all
			if c.qp.State() != verbs.StateError || c.qp.Err() != nil || len(c.lost) > 0 {
				t.Errorf("state %v, reason %v, %d notifications", c.qp.State(), c.qp.Err(), len(c.lost))
			}
			time.Sleep(time.Second - 1)
		}
		time.Sleep(2)
		synctest.Wait()
		if !errors.Is(c.qp.Err(), verbs.ErrPeerDisconnected) || len(c.lost) != 1 {
			t.Errorf("reason %v, %d notifications", c.qp.Err(), len(c.lost))
		}
		want(t, "completions", c.poll(), "100 flushed")
		effect(t, inj, fault.LateCause)
	})
	synctest.Test(t, func(t *testing.T) {
		_, _, c, _ := allied(t, fault.Config{Manners: fault.LateCause, NotifyDelay: time.Hour})
		if err := c.qp.Close(); err != nil || len(c.lost) != 1 {
			t.Errorf("Close: %v, %d notifications", err, len(c.lost))
		}
		time.Sleep(2 * time.Hour)
		if synctest.Wait(); len(c.lost) != 1 {
			t.Errorf("%d notifications after Close", len(c.lost))
		}
	})
}

// The peer's disconnect, and an error, may have any reason. An end by this side, and a failed
// attempt to connect, keep theirs.
func TestUnknownCause(t *testing.T) {
	for _, breaks := range []bool{false, true} {
		kinds := make(map[string]int)
		for seed := range uint64(30) {
			inj, _, c, s := allied(t, fault.Config{Manners: fault.UnknownCause, Seed: seed})
			if breaks {
				if err := s.send(1, verbs.Send, c); err != nil { // there is no Receive
					t.Fatal(err)
				}
			} else if err := s.qp.Disconnect(); err != nil {
				t.Fatal(err)
			}
			c.wait(c.lost, "the end")
			if !breaks && !errors.Is(s.qp.Err(), verbs.ErrDisconnected) {
				t.Errorf("own reason: %v", s.qp.Err())
			}
			why := c.qp.Err()
			if why == nil || !errors.Is(why, verbs.ErrPeerDisconnected) && !errors.Is(why, verbs.ErrConnectionBroken) || c.qp.Err() != why {
				t.Errorf("reason %v, then %v", why, c.qp.Err())
			}
			kinds[why.Error()]++
			effect(t, inj, fault.UnknownCause)
		}
		if len(kinds) != 3 {
			t.Errorf("breaks %v: reasons %v", breaks, kinds)
		}
	}
	inj := fault.New(fault.Config{Manners: fault.UnknownCause})
	client, server := devices(t, inj)
	c, s := newSide(t, client), newSide(t, server)
	if err := s.qp.Disconnect(); err != nil { // so that Accept fails
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ln, err := server.Listen(ctx, "here")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	defer accepting.Wait()
	defer ln.Close()
	accepting.Go(func() {
		if req, err := ln.Accept(ctx); err == nil {
			cancel()
			spare, _ := s.pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, MaxSendWR: 1, MaxRecvWR: 1})
			req.Accept(ctx, spare, nil)
			spare.Close()
		}
	})
	if _, err := client.Dial(t.Context(), "here", c.qp, nil); !errors.Is(err, verbs.ErrPeerDisconnected) || inj.Happened(fault.UnknownCause) > 0 || !errors.Is(c.qp.Err(), err) && !errors.Is(c.qp.Err(), verbs.ErrPeerDisconnected) {
		t.Errorf("dial: %v, then %v", err, c.qp.Err())
	}
	if n := inj.Happened(fault.UnknownCause); n > 0 {
		t.Errorf("%d reasons of an attempt to connect were replaced", n)
	}
}

func TestUnnoticedSend(t *testing.T) {
	for flags, completion := range map[verbs.SendFlags]string{verbs.SendSignaled: "1 success", 0: "1 flushed"} {
		inj, _, c, s := allied(t, fault.Config{Manners: fault.UnnoticedSend})
		c.recvs(1)
		wr := c.wr(1, verbs.Send, s)
		wr.Flags = flags
		if _, err := c.qp.PostSend([]verbs.SendWR{wr}); err != nil {
			t.Fatal(err)
		}
		c.wait(c.lost, "the end")
		want(t, "completions", c.poll(), completion, "100 flushed")
		effect(t, inj, fault.UnnoticedSend)
	}
}

// The device knows of each request whether it was signaled, even after other requests have
// completed.
func TestUnnoticedSendBehindOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		recvs int
		posts [][]verbs.SendFlags // ids from 1 on
		want  []string
	}{
		"the second is signaled":     {1, [][]verbs.SendFlags{{0, verbs.SendSignaled}}, []string{"2 success"}},
		"the second is not":          {1, [][]verbs.SendFlags{{verbs.SendSignaled, 0}}, []string{"1 success", "2 flushed"}},
		"behind completed ones":      {2, [][]verbs.SendFlags{{0, verbs.SendSignaled}, {0}}, []string{"2 success", "1 flushed"}},
		"with the id of an old one":  {2, [][]verbs.SendFlags{{0, verbs.SendSignaled}, {verbs.SendSignaled}}, []string{"2 success", "1 success"}},
		"with the id of a done one":  {1, [][]verbs.SendFlags{{verbs.SendSignaled}, {0}}, []string{"1 success", "1 flushed"}},
		"with the id of a later one": {3, [][]verbs.SendFlags{{0, verbs.SendSignaled}, {0, 0}}, []string{"2 success", "2 flushed"}},
		"with the id of a quiet one": {3, [][]verbs.SendFlags{{0, 0, verbs.SendSignaled}, {0, verbs.SendSignaled}}, []string{"3 success", "1 flushed", "2 flushed"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, c, s := allied(t, fault.Config{Manners: fault.UnnoticedSend})
			s.recvs(tt.recvs)
			var got []string
			for _, flags := range tt.posts {
				var wrs []verbs.SendWR
				for i, f := range flags {
					wr := c.wr(uint64(i+1), verbs.Send, s)
					wr.Flags = f
					wrs = append(wrs, wr)
				}
				if _, err := c.qp.PostSend(wrs); err != nil {
					t.Fatal(err)
				}
				got = append(got, c.poll()...)
			}
			want(t, "completions", got, tt.want...)
		})
	}
}

// A request that the post refuses is not known.
func TestUnnoticedSendBehindRefusedOne(t *testing.T) {
	_, _, c, s := allied(t, fault.Config{Manners: fault.UnnoticedSend})
	bad := c.wr(1, verbs.Send, s)
	bad.Flags, bad.SGL = 0, []verbs.SGE{{MR: c.mr, Offset: 60, Length: 8}}
	if _, err := c.qp.PostSend([]verbs.SendWR{bad}); !errors.Is(err, verbs.ErrInvalidWR) {
		t.Fatal(err)
	}
	if err := c.send(1, verbs.Send, s); err != nil {
		t.Fatal(err)
	}
	want(t, "completions", c.poll(), "1 success")
}

// A key has a number for its region and counts registrations. An old key is refused, until it is
// used again after 256 registrations.
func TestGuessableKeys(t *testing.T) {
	inj, _, c, s := allied(t, fault.Config{Manners: fault.GuessableKeys})
	first, keys := s.mr.RKey(), make(map[uint32]bool)
	for s.mr.RKey() != first || len(keys) == 0 {
		key := s.mr.RKey()
		if key == 0 || key>>8 != first>>8 || keys[key] || len(keys) > 256 {
			t.Fatalf("key %#x after %#x and %d others", key, first, len(keys))
		}
		keys[key] = true
		if err := errors.Join(s.mr.Invalidate(), s.mr.Reregister(s.mr.Bytes(), s.mr.Access())); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 256 || c.mr.RKey()>>8 == first>>8 {
		t.Errorf("%d keys of a region, and %#x of another one", len(keys), c.mr.RKey())
	}
	for op := range 2 {
		if err := c.send(uint64(op), verbs.RDMAWrite+verbs.Opcode(op), s); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "with the right key", c.poll(), "0 success", "1 success")
	old := c.wr(2, verbs.RDMAWrite, s)
	old.RKey = first - 1
	if _, err := c.qp.PostSend([]verbs.SendWR{old}); err != nil {
		t.Fatal(err)
	}
	c.wait(c.lost, "the end")
	want(t, "with an old key", c.poll(), "2 remote access error")
	effect(t, inj, fault.GuessableKeys)
}

// invalidates makes the server invalidate the client's region mr with a message, and returns the
// client's completion.
func invalidates(t *testing.T, c, s *side, mr verbs.MemoryRegion) verbs.WC {
	t.Helper()
	c.recvs(1)
	wr := s.wr(1, verbs.SendWithInvalidate, c)
	wr.InvalidateRKey = mr.RKey()
	if _, err := s.qp.PostSend([]verbs.SendWR{wr}); err != nil {
		t.Fatal(err)
	}
	wcs := make([]verbs.WC, 2)
	if n, err := c.cq.Poll(wcs); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	want(t, "server", s.poll(), "1 success")
	return wcs[0]
}

func (s *side) register(access verbs.Access) verbs.MemoryRegion {
	s.t.Helper()
	mr, err := s.pd.RegisterMemory(make([]byte, 8), access)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := mr.Deregister(); err != nil {
			s.t.Error(err)
		}
	})
	return mr
}

func TestWindowsOnly(t *testing.T) {
	inj, _, c, s := allied(t, fault.Config{Manners: fault.WindowsOnly | fault.GuessableKeys})
	const rights = verbs.AccessRemoteRead
	ordinary, window := c.register(rights), c.register(rights|verbs.AccessRemoteInvalidate)
	if !c.dev.Attributes().InvalidateWindowsOnly || ordinary.Access() != rights {
		t.Errorf("%+v, region with %v", c.dev.Attributes(), ordinary.Access())
	}
	n, err := c.qp.PostSend([]verbs.SendWR{
		{WRID: 1, Opcode: verbs.LocalInvalidate, Flags: verbs.SendSignaled, InvalidateRKey: window.RKey()},
		{WRID: 2, Opcode: verbs.LocalInvalidate, InvalidateRKey: ordinary.RKey()},
	})
	if n != 1 || !errors.Is(err, verbs.ErrNotSupported) || ordinary.State() != verbs.MRValid || window.State() != verbs.MRInvalid {
		t.Errorf("%d posted, %v; ordinary region %v, window %v", n, err, ordinary.State(), window.State())
	}
	want(t, "client", c.poll(), "1 success")
	if wc := invalidates(t, c, s, ordinary); wc.InvalidatedRKey != ordinary.RKey() || ordinary.State() != verbs.MRInvalid {
		t.Errorf("%+v, region %v: the peer can invalidate any", wc, ordinary.State())
	}
	effect(t, inj, fault.WindowsOnly)
}

func TestUnreportedInvalidate(t *testing.T) {
	inj, _, c, s := allied(t, fault.Config{Manners: fault.UnreportedInvalidate})
	mr := c.register(verbs.AccessRemoteRead | verbs.AccessRemoteInvalidate)
	if wc := invalidates(t, c, s, mr); wc.InvalidatedRKey != 0 || mr.State() != verbs.MRValid {
		t.Errorf("%+v, region %v", wc, mr.State())
	}
	if err := mr.Reregister(mr.Bytes(), mr.Access()); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("reregister: %v", err)
	}
	if err := mr.Invalidate(); err != nil || mr.State() != verbs.MRInvalid {
		t.Errorf("invalidate: %v, region %v", err, mr.State())
	}
	if err := mr.Reregister(mr.Bytes(), mr.Access()); err != nil || mr.State() != verbs.MRValid {
		t.Errorf("reregister: %v, region %v", err, mr.State())
	}
	effect(t, inj, fault.UnreportedInvalidate)
}

// The peer's invalidation may be polled after the owner's, and after another registration. Then it
// changes nothing, and a report has the key that the peer has named.
func TestInvalidationComesLate(t *testing.T) {
	for _, m := range []fault.Manners{fault.UnreportedInvalidate, fault.UnreportedInvalidate | fault.GuessableKeys, fault.GuessableKeys} {
		for _, again := range []bool{false, true} {
			_, _, c, s := allied(t, fault.Config{Manners: m})
			mr := c.register(verbs.AccessRemoteRead | verbs.AccessRemoteInvalidate)
			c.recvs(1)
			wr, key := s.wr(1, verbs.SendWithInvalidate, c), mr.RKey()
			wr.InvalidateRKey = key
			if _, err := s.qp.PostSend([]verbs.SendWR{wr}); err != nil {
				t.Fatal(err)
			}
			if err := mr.Invalidate(); err != nil {
				t.Fatal(err)
			}
			reregister := func() {
				if err := mr.Reregister(mr.Bytes(), mr.Access()); err != nil || mr.State() != verbs.MRValid {
					t.Errorf("%v: reregister: %v, region %v", m, err, mr.State())
				}
			}
			if again {
				reregister()
			}
			wcs := make([]verbs.WC, 2)
			if m&fault.UnreportedInvalidate != 0 {
				key = 0
			}
			if n, err := c.cq.Poll(wcs); n != 1 || err != nil || wcs[0].Status != verbs.StatusSuccess || wcs[0].InvalidatedRKey != key {
				t.Errorf("%v: %d completions, %+v, %v, want key %#x", m, n, wcs[0], err, key)
			}
			if !again {
				reregister()
			}
		}
	}
}

// A Read in progress returns bytes that are written after Invalidate. A later one is refused.
func TestLateReads(t *testing.T) {
	inj, n, c, s := allied(t, fault.Config{Manners: fault.LateReads})
	mr := s.register(verbs.AccessRemoteRead)
	read := c.wr(1, verbs.RDMARead, s)
	read.RKey, read.RemoteAddr = mr.RKey(), mr.RemoteAddr()
	n.Hold()
	late := read
	late.WRID = 2
	if _, err := c.qp.PostSend([]verbs.SendWR{read}); err != nil {
		t.Fatal(err)
	}
	if err := mr.Invalidate(); err != nil || mr.State() != verbs.MRInvalid {
		t.Errorf("invalidate: %v, region %v", err, mr.State())
	}
	copy(mr.Bytes(), "a secret")
	if _, err := c.qp.PostSend([]verbs.SendWR{late}); err != nil {
		t.Fatal(err)
	}
	n.Release()
	c.wait(c.lost, "the end")
	if want(t, "completions", c.poll(), "1 success", "2 remote access error"); !bytes.Equal(c.mr.Bytes()[:8], []byte("a secret")) {
		t.Errorf("read %q", c.mr.Bytes()[:8])
	}
	if err := mr.Reregister(mr.Bytes(), verbs.AccessRemoteRead); err != nil {
		t.Error(err)
	}
	if err := mr.Invalidate(); err != nil || inj.Happened(fault.LateReads) != 1 {
		t.Errorf("invalidate with no Read in progress: %v, %d were late", err, inj.Happened(fault.LateReads))
	}
}

// A region stays valid until the last of several Reads. Its memory can be freed before, and it can
// be registered again.
func TestLateReadsOfOneRegion(t *testing.T) {
	inj, n, c, s := allied(t, fault.Config{Manners: fault.LateReads})
	buf, err := s.pd.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	mr, err := s.pd.RegisterMemory(buf, verbs.AccessRemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	reads := func(id uint64) []verbs.SendWR {
		read := c.wr(id, verbs.RDMARead, s)
		read.RKey, read.RemoteAddr = mr.RKey(), mr.RemoteAddr()
		next := read
		next.WRID++
		return []verbs.SendWR{read, next}
	}
	n.Hold()
	if _, err := c.qp.PostSend(reads(1)); err != nil {
		t.Fatal(err)
	}
	if err := mr.Invalidate(); err != nil {
		t.Fatal(err)
	}
	for _, completion := range []string{"1 success", "2 success"} {
		n.Step()
		want(t, "in turn", c.poll(), completion)
	}
	if err := mr.Reregister(buf, verbs.AccessRemoteRead); err != nil {
		t.Fatal(err)
	}
	if _, err := c.qp.PostSend(reads(3)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(mr.Invalidate(), mr.Reregister(buf, verbs.AccessRemoteRead), mr.Invalidate(), s.pd.Free(buf), mr.Deregister()); err != nil {
		t.Error(err)
	}
	if got := inj.Happened(fault.LateReads); got < 2 {
		t.Errorf("%d invalidations came late", got)
	}
	n.Release()
	c.wait(c.lost, "the end")
}

// A Read that the post refuses, and one of a region that the peer may also write, prolong nothing.
func TestNoLateReads(t *testing.T) {
	inj, n, c, s := allied(t, fault.Config{Manners: fault.LateReads})
	mr := s.register(verbs.AccessRemoteRead)
	n.Hold()
	bad := c.wr(1, verbs.RDMARead, s)
	bad.RKey, bad.RemoteAddr, bad.SGL = mr.RKey(), mr.RemoteAddr(), []verbs.SGE{{MR: c.mr, Offset: 60, Length: 8}}
	if _, err := c.qp.PostSend([]verbs.SendWR{bad}); !errors.Is(err, verbs.ErrInvalidWR) {
		t.Fatal(err)
	}
	if err := c.send(2, verbs.RDMARead, s); err != nil { // of a region that it may write, too
		t.Fatal(err)
	}
	if err := errors.Join(mr.Invalidate(), s.mr.Invalidate()); err != nil || inj.Happened(fault.LateReads) > 0 {
		t.Errorf("%v, %d invalidations came late", err, inj.Happened(fault.LateReads))
	}
	n.Release()
	c.wait(c.lost, "the end")
	want(t, "the Read", c.poll(), "2 remote access error")

	// Nor does one that the end of its connection has flushed.
	inj, n, c, s = allied(t, fault.Config{Manners: fault.LateReads})
	mr = s.register(verbs.AccessRemoteRead)
	n.Hold()
	read := c.wr(1, verbs.RDMARead, s)
	read.RKey, read.RemoteAddr = mr.RKey(), mr.RemoteAddr()
	if _, err := c.qp.PostSend([]verbs.SendWR{read}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.qp.Disconnect(), mr.Invalidate()); err != nil || inj.Happened(fault.LateReads) > 0 {
		t.Errorf("%v, %d invalidations came late", err, inj.Happened(fault.LateReads))
	}
}

func TestSendsBeforeReads(t *testing.T) {
	inj, _, c, s := allied(t, fault.Config{Manners: fault.SendsBeforeReads, DelayPolls: 100})
	s.recvs(1)
	if n, err := c.qp.PostSend([]verbs.SendWR{c.wr(1, verbs.RDMARead, s), c.wr(2, verbs.RDMARead, s), c.wr(3, verbs.Send, s), c.wr(4, verbs.RDMARead, s)}); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	want(t, "before", c.poll(), "3 success", "1 success", "2 success")
	if err := c.cq.Arm(false); err != nil {
		t.Fatal(err)
	}
	c.wait(c.wake, "the notification")
	want(t, "after", c.poll(), "4 success")
	if err := c.send(5, verbs.RDMARead, s); err != nil {
		t.Fatal(err)
	}
	if err := c.cq.Arm(false); err != nil { // too late for a notification
		t.Fatal(err)
	}
	want(t, "armed", c.poll(), "5 success")
	if n, err := c.qp.PostSend([]verbs.SendWR{c.wr(6, verbs.RDMARead, s), c.wr(7, verbs.RDMAWrite, s)}); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	want(t, "before a Write", c.poll(), "6 success", "7 success")
	effect(t, inj, fault.SendsBeforeReads)
}

func TestLostSolicited(t *testing.T) {
	inj, _, c, s := allied(t, fault.Config{Manners: fault.LostSolicited})
	s.recvs(2)
	wr := c.wr(1, verbs.Send, s)
	wr.Flags |= verbs.SendSolicited
	for _, solicited := range []bool{true, false} {
		if err := s.cq.Arm(solicited); err != nil {
			t.Fatal(err)
		}
		if _, err := c.qp.PostSend([]verbs.SendWR{wr}); err != nil {
			t.Fatal(err)
		}
		if n := len(s.wake); (n == 0) != solicited {
			t.Errorf("armed for solicited completions only %v: %d notifications", solicited, n)
		}
	}
	effect(t, inj, fault.LostSolicited)
}

func TestSlowRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inj, _, c, _ := allied(t, fault.Config{Manners: fault.SlowRegister, RegisterDelay: time.Second})
		start := time.Now()
		mr := c.register(0)
		if err := errors.Join(mr.Invalidate(), mr.Reregister(mr.Bytes(), 0)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("two registrations took %v", took)
		}
		effect(t, inj, fault.SlowRegister)
	})
}

func TestFewRegions(t *testing.T) {
	_, _, c, _ := allied(t, fault.Config{MaxRegions: 2}) // of each device; one exists
	mr := c.register(0)
	if _, err := c.pd.RegisterMemory(make([]byte, 8), 0); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("a third region: %v", err)
	}
	if _, err := c.pd.RegisterMemory(nil, 0); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("no bytes: %v", err)
	}
	if err := errors.Join(mr.Deregister(), mr.Deregister()); err != nil {
		t.Error(err)
	}
	if _, err := c.pd.RegisterMemory(nil, 0); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("no bytes, with a region free: %v", err)
	}
	c.register(0)
	if _, err := c.pd.RegisterMemory(make([]byte, 8), 0); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("a third region, again: %v", err)
	}
}

func TestPlainDevicesHaveNoOptionalParts(t *testing.T) {
	inj := fault.New(fault.Config{Manners: fault.Plain})
	dev, _ := devices(t, inj)
	a := dev.Attributes()
	a.Name = ""
	if want := (verbs.DeviceAttributes{}); a.HeapMemory || a.LendReceives || a.ReaderNotifies || a.InlineSize != want.InlineSize {
		t.Errorf("attributes %+v", a)
	}
	pd, err := dev.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	buf, err := pd.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	const rights = verbs.AccessLocalWrite | verbs.AccessRemoteWrite
	mr, err := pd.RegisterMemory(buf[8:16], rights)
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"redirect":  mr.(verbs.Redirector).Redirect(buf[:8]),
		"on demand": mr.(verbs.OnDemand).ReregisterOnDemand(8, rights, func() ([]byte, error) { return buf[:8], nil }),
		"heap":      func() error { _, err := pd.RegisterMemory(make([]byte, 8), 0); return err }(),
	} {
		if !errors.Is(err, verbs.ErrNotSupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := errors.Join(mr.Deregister(), pd.Free(buf)); err != nil {
		t.Fatal(err)
	}
	if _, err := pd.RegisterMemory(buf[:8], 0); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("memory after Free: %v", err)
	}
	if err := pd.Close(); err != nil {
		t.Error(err)
	}
	if inj.Happened(fault.Plain) < 4 {
		t.Errorf("%d effects", inj.Happened(fault.Plain))
	}
}

// Private data has the sizes of InfiniBand's messages, and no more than the shortest has room for.
func TestPaddedPrivateData(t *testing.T) {
	inj := fault.New(fault.Config{Manners: fault.PaddedPrivateData})
	client, server := devices(t, inj)
	c, s := newSide(t, client), newSide(t, server)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ln, err := server.Listen(ctx, "here")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	pad := func(s string, n int) []byte { return append([]byte(s), make([]byte, n-len(s))...) }
	answer := func(req verbs.ConnRequest, rejects bool) error {
		long := make([]byte, 57)
		if got, want := req.PrivateData(), pad("hello", 56); !bytes.Equal(got, want) {
			t.Errorf("request with %q", got)
		}
		if _, err := req.Accept(ctx, s.qp, &verbs.ConnParams{PrivateData: long}); !errors.Is(err, verbs.ErrTooLarge) {
			t.Errorf("accept with 57 bytes: %v", err)
		}
		if err := req.Reject(long); !errors.Is(err, verbs.ErrTooLarge) {
			t.Errorf("reject with 57 bytes: %v", err)
		}
		if rejects {
			return req.Reject([]byte("no"))
		}
		info, err := req.Accept(ctx, s.qp, &verbs.ConnParams{PrivateData: []byte("yes")})
		if err == nil && !bytes.Equal(info.PrivateData, pad("hello", 56)) {
			t.Errorf("accepted with %q", info.PrivateData)
		}
		return err
	}
	dial := func(qp verbs.QueuePair, rejects bool) (*verbs.ConnInfo, error) {
		answered := make(chan error, 1)
		go func() {
			req, err := ln.Accept(ctx)
			if err == nil {
				err = answer(req, rejects)
			}
			answered <- err
		}()
		info, err := client.Dial(ctx, "here", qp, &verbs.ConnParams{PrivateData: []byte("hello")})
		if err := <-answered; err != nil {
			t.Error(err)
		}
		return info, err
	}
	if _, err := client.Dial(ctx, "here", c.qp, &verbs.ConnParams{PrivateData: make([]byte, 57)}); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("dial with 57 bytes: %v", err)
	}
	other, err := c.pd.CreateQP(verbs.QPConfig{SendCQ: c.cq, RecvCQ: c.cq, MaxSendWR: 1, MaxRecvWR: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	rejected := new(verbs.RejectedError)
	if _, err := dial(other, true); !errors.As(err, &rejected) || !bytes.Equal(rejected.PrivateData, pad("no", 148)) {
		t.Errorf("rejected: %v with %q", err, rejected.PrivateData)
	}
	info, err := dial(c.qp, false)
	if err != nil || !cmp.Equal(info.PrivateData, pad("yes", 196)) {
		t.Errorf("connected: %v with %+v", err, info)
	}
	effect(t, inj, fault.PaddedPrivateData)

	// A device without private data has nothing to pad.
	n := mem.New(nil)
	var bare [2]*side
	for i, name := range [...]string{"client", "server"} {
		d, err := n.Open(name, &verbs.DeviceAttributes{MaxPrivateData: -1})
		if err != nil {
			t.Fatal(err)
		}
		bare[i] = newSide(t, inj.Device(d))
	}
	before := inj.Happened(fault.PaddedPrivateData)
	if dial, accept := connect(t, bare[0], bare[1]); dial != nil || accept != nil || inj.Happened(fault.PaddedPrivateData) != before {
		t.Errorf("without private data: %v, %v, padded %d times", dial, accept, inj.Happened(fault.PaddedPrivateData)-before)
	}
}
