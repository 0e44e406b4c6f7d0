package fault_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func devices(t testing.TB, inj *fault.Injector) (client, server verbs.Device) {
	n := mem.New(nil)
	open := func(name string) verbs.Device {
		d, err := n.Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return inj.Device(d)
	}
	return open("client"), open("server")
}

// The wrapper passes the suite without a fault, and with delayed completions, which the rules
// allow.
func TestWrapperPassesTheSuite(t *testing.T) {
	for name, cfg := range map[string]fault.Config{
		"none":           {},
		"delay":          {Seed: 1, Rate: map[fault.Kind]float64{fault.DelayCompletion: 0.3}},
		"revoke at once": {Revoke: func(end func()) { end() }},
		"revoke later":   {Revoke: func(end func()) { go end(); go end() }},
	} {
		t.Run(name, func(t *testing.T) {
			inj := fault.New(cfg)
			verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
				n, inner := mem.New(nil), make(map[verbs.Device]*mem.Device)
				open := func(name string) verbs.Device {
					d, err := n.Open(name, nil)
					if err != nil {
						t.Fatal(err)
					}
					wrapped := inj.Device(d)
					inner[wrapped] = d
					return wrapped
				}
				return verbstest.Fabric{
					Client: open("client"), Server: open("server"), Addr: "here", Precise: true,
					Remove: func(d verbs.Device) { inner[d].Remove() },
				}
			})
			for _, k := range fault.Kinds() {
				if c := inj.Count(k); c.Seen == 0 || (c.Fired > 0) != (cfg.Rate[k] > 0) {
					t.Errorf("%v: %+v", k, c)
				}
			}
		})
	}
}

// side is one end of a connection. Its device has a separate Injector, or is not wrapped.
type side struct {
	t    testing.TB
	dev  verbs.Device
	pd   verbs.ProtectionDomain
	cq   verbs.CompletionQueue
	qp   verbs.QueuePair
	mr   verbs.MemoryRegion
	wake <-chan struct{}
	lost <-chan struct{}
}

func newSide(t testing.TB, dev verbs.Device) *side {
	t.Helper()
	s := &side{t: t, dev: dev}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	s.pd, err = dev.AllocPD()
	must(err)
	notify, wake := verbs.NotifyChannel()
	s.wake = wake
	s.cq, err = dev.CreateCQ(64, notify)
	must(err)
	lost, c := verbs.NotifyChannel()
	s.lost = c
	s.qp, err = s.pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, MaxSendWR: 16, MaxRecvWR: 16, Notify: lost})
	must(err)
	s.mr, err = s.pd.RegisterMemory(make([]byte, 64), verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite)
	must(err)
	t.Cleanup(func() {
		for _, close := range []func() error{s.qp.Close, s.mr.Deregister, s.cq.Close, s.pd.Close, dev.Close} {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// pair returns two ends. The faults are injected at the client.
func pair(t testing.TB, cfg fault.Config) (inj *fault.Injector, c, s *side) {
	t.Helper()
	inj = fault.New(cfg)
	n := mem.New(nil)
	client, err := n.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := n.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	return inj, newSide(t, inj.Device(client)), newSide(t, server)
}

// connect connects two ends and returns the errors of Dial and Accept.
func connect(t testing.TB, c, s *side) (dial, accept error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ln, err := s.dev.Listen(ctx, "here")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	answered := make(chan error, 1)
	wait, stop := context.WithCancel(ctx)
	go func() {
		req, err := ln.Accept(wait)
		if err == nil {
			_, err = req.Accept(ctx, s.qp, nil)
		}
		answered <- err
	}()
	_, dial = c.dev.Dial(ctx, "here", c.qp, nil)
	if dial != nil {
		stop() // the request may never come
	}
	accept = <-answered
	stop()
	return dial, accept
}

func connected(t testing.TB, cfg fault.Config) (inj *fault.Injector, c, s *side) {
	t.Helper()
	inj, c, s = pair(t, cfg)
	if dial, accept := connect(t, c, s); dial != nil || accept != nil {
		t.Fatal(dial, accept)
	}
	return inj, c, s
}

func (s *side) whole() []verbs.SGE { return []verbs.SGE{{MR: s.mr, Length: 8}} }

func (s *side) recvs(n int) {
	s.t.Helper()
	for i := range n {
		if _, err := s.qp.PostRecv([]verbs.RecvWR{{WRID: 100 + uint64(i), SGL: s.whole()}}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *side) send(id uint64, op verbs.Opcode, peer *side) error {
	_, err := s.qp.PostSend([]verbs.SendWR{s.wr(id, op, peer)})
	return err
}

func (s *side) wr(id uint64, op verbs.Opcode, peer *side) verbs.SendWR {
	return verbs.SendWR{WRID: id, Opcode: op, Flags: verbs.SendSignaled, SGL: s.whole(), RKey: peer.mr.RKey(), RemoteAddr: peer.mr.RemoteAddr()}
}

// poll lists the completions, as "id status".
func (s *side) poll() (got []string) {
	wcs := make([]verbs.WC, 3)
	for {
		n, err := s.cq.Poll(wcs)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, wc := range wcs[:n] {
			got = append(got, fmt.Sprint(wc.WRID, " ", wc.Status))
		}
		if n == 0 {
			return got
		}
	}
}

func (s *side) wait(c <-chan struct{}, what string) {
	s.t.Helper()
	select {
	case <-c:
	case <-time.After(5 * time.Second):
		s.t.Fatal("waited in vain for ", what)
	}
}

func want(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestRefusedRequestsAreNotPosted(t *testing.T) {
	t.Run("posts", func(t *testing.T) {
		inj, c, s := connected(t, fault.Config{Script: []fault.Fault{{Kind: fault.RefuseSend, At: 2}, {Kind: fault.RefuseRecv, At: 1, Err: syscall.ENOMEM}}})
		s.recvs(4)
		n, err := c.qp.PostSend([]verbs.SendWR{c.wr(1, verbs.Send, s), c.wr(2, verbs.Send, s), c.wr(3, verbs.Send, s)})
		if n != 1 || !errors.Is(err, verbs.ErrQueueFull) {
			t.Errorf("%d posted, error %v", n, err)
		}
		if err := c.send(4, verbs.Send, s); err != nil {
			t.Error(err)
		}
		want(t, "completions", c.poll(), "1 success", "4 success")
		if n, err := c.qp.PostRecv([]verbs.RecvWR{{}}); n != 0 || !errors.Is(err, syscall.ENOMEM) {
			t.Errorf("%d posted, error %v", n, err)
		}
		fired(t, inj, fault.RefuseSend, fault.RefuseRecv)
	})
	t.Run("memory", func(t *testing.T) {
		inj, c, _ := pair(t, fault.Config{Script: []fault.Fault{{Kind: fault.RefuseRegister, At: 2}, {Kind: fault.RefuseRegister, At: 3}, {Kind: fault.RefuseAlloc, At: 1}}})
		if _, err := c.pd.RegisterMemory(make([]byte, 1), 0); !errors.Is(err, verbs.ErrTooLarge) {
			t.Errorf("register: %v", err)
		}
		c.mr.Invalidate()
		if err := c.mr.Reregister(c.mr.Bytes(), 0); !errors.Is(err, verbs.ErrTooLarge) || c.mr.State() != verbs.MRInvalid {
			t.Errorf("reregister: %v, region %v", err, c.mr.State())
		}
		if _, err := c.pd.Alloc(8); !errors.Is(err, verbs.ErrTooLarge) {
			t.Errorf("alloc: %v", err)
		}
		fired(t, inj, fault.RefuseRegister, fault.RefuseAlloc)
	})
}

func fired(t testing.TB, inj *fault.Injector, kinds ...fault.Kind) {
	t.Helper()
	for _, k := range kinds {
		if inj.Count(k).Fired == 0 {
			t.Errorf("%v did not fire: the test tested nothing", k)
		}
	}
}

func TestConnectingFailsAsScripted(t *testing.T) {
	t.Run("dial", func(t *testing.T) {
		inj, c, s := pair(t, fault.Config{Script: []fault.Fault{{Kind: fault.FailDial, At: 1}}})
		c.recvs(1)
		dial, _ := connect(t, c, s)
		if !errors.Is(dial, verbs.ErrConnectionRefused) || !errors.Is(c.qp.Err(), verbs.ErrConnectionRefused) {
			t.Errorf("dial: %v; queue pair: %v", dial, c.qp.Err())
		}
		c.wait(c.lost, "the end")
		want(t, "flushed", c.poll(), "100 flushed")
		fired(t, inj, fault.FailDial)
	})
	t.Run("accept", func(t *testing.T) {
		inj, c, s := pair(t, fault.Config{Script: []fault.Fault{{Kind: fault.FailAccept, At: 1}}})
		c.recvs(1)
		dial, accept := connect(t, s, c)
		if rejected := new(verbs.RejectedError); !errors.As(dial, &rejected) || !errors.Is(accept, verbs.ErrPeerDisconnected) {
			t.Errorf("dial: %v; accept: %v", dial, accept)
		}
		c.wait(c.lost, "the end")
		want(t, "flushed", c.poll(), "100 flushed")
		fired(t, inj, fault.FailAccept)
	})
	t.Run("disconnect", func(t *testing.T) {
		inj, c, s := connected(t, fault.Config{Script: []fault.Fault{{Kind: fault.Disconnect, At: 2}}})
		s.recvs(4)
		n, err := c.qp.PostSend([]verbs.SendWR{c.wr(1, verbs.Send, s), c.wr(2, verbs.Send, s), c.wr(3, verbs.Send, s)})
		if n != 2 || !errors.Is(err, verbs.ErrInvalidState) || c.qp.State() != verbs.StateError || !errors.Is(c.qp.Err(), verbs.ErrConnectionBroken) {
			t.Errorf("%d posted, error %v, state %v for %v", n, err, c.qp.State(), c.qp.Err())
		}
		c.wait(c.lost, "the end")
		s.wait(s.lost, "the peer's end")
		want(t, "client", c.poll(), "1 success", "2 success")
		want(t, "server", s.poll(), "100 success", "101 success", "102 flushed", "103 flushed")
		if !errors.Is(s.qp.Err(), verbs.ErrPeerDisconnected) {
			t.Errorf("peer: %v", s.qp.Err())
		}
		fired(t, inj, fault.Disconnect)
	})
	// A Notify function may call Disconnect, as on the provider itself.
	t.Run("disconnect in its notification", func(t *testing.T) {
		inj, c, s := pair(t, fault.Config{Script: []fault.Fault{{Kind: fault.Disconnect, At: 1}}})
		var qp verbs.QueuePair
		done := make(chan error, 1)
		qp, err := c.pd.CreateQP(verbs.QPConfig{SendCQ: c.cq, RecvCQ: c.cq, MaxSendWR: 16, MaxRecvWR: 16, Notify: func() { done <- qp.Disconnect() }})
		if err != nil {
			t.Fatal(err)
		}
		c.qp, qp = qp, c.qp
		if err := qp.Close(); err != nil {
			t.Fatal(err)
		}
		qp = c.qp
		if dial, accept := connect(t, c, s); dial != nil || accept != nil {
			t.Fatal(dial, accept)
		}
		s.recvs(1)
		if _, err := c.qp.PostSend([]verbs.SendWR{c.wr(1, verbs.Send, s)}); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("Disconnect waits for the notification that it was called in")
		}
		fired(t, inj, fault.Disconnect)
	})
}

func TestCompletionsComeLateOrFail(t *testing.T) {
	t.Run("delayed to arm", func(t *testing.T) {
		inj, c, s := connected(t, fault.Config{DelayPolls: 100, Script: []fault.Fault{{Kind: fault.DelayCompletion, At: 2}}})
		s.recvs(4)
		for id := range uint64(3) {
			if err := c.send(id, verbs.Send, s); err != nil {
				t.Fatal(err)
			}
		}
		want(t, "before", c.poll(), "0 success")
		if err := c.cq.Arm(false); err != nil {
			t.Fatal(err)
		}
		c.wait(c.wake, "the notification")
		want(t, "after", c.poll(), "1 success", "2 success")
		fired(t, inj, fault.DelayCompletion)
	})
	t.Run("delayed for polls", func(t *testing.T) {
		_, c, s := connected(t, fault.Config{Script: []fault.Fault{{Kind: fault.DelayCompletion, At: 1}}})
		s.recvs(1)
		c.send(1, verbs.Send, s)
		polls := 0
		for got := []string(nil); got == nil && polls < 10; polls++ {
			got = c.poll()
		}
		if polls != 4 {
			t.Errorf("came at poll %d, want 4", polls)
		}
	})
	// A completion before Arm does not notify: the poll after Arm has to return it.
	t.Run("not while armed", func(t *testing.T) {
		_, c, s := connected(t, fault.Config{Script: []fault.Fault{{Kind: fault.DelayCompletion, At: 1}}})
		s.recvs(1)
		c.send(1, verbs.Send, s)
		if err := c.cq.Arm(false); err != nil {
			t.Fatal(err)
		}
		want(t, "at once", c.poll(), "1 success")
	})
	t.Run("stalled to the limit", func(t *testing.T) {
		_, c, s := connected(t, fault.Config{Rate: map[fault.Kind]float64{fault.StallRead: 1}})
		n := 0
		for ; n < 10_000; n++ {
			if err := c.send(uint64(n), verbs.RDMARead, s); err != nil {
				if !errors.Is(err, verbs.ErrQueueFull) {
					t.Error(err)
				}
				break
			}
		}
		if n == 0 || n == 10_000 {
			t.Errorf("%d Reads stall", n)
		}
		c.qp.Disconnect()
		c.wait(c.lost, "the end")
		if got := c.poll(); len(got) != n {
			t.Errorf("%d of %d Reads came back", len(got), n)
		}
	})
	t.Run("failed", func(t *testing.T) {
		inj, c, s := connected(t, fault.Config{Script: []fault.Fault{{Kind: fault.FailCompletion, At: 2}}})
		s.recvs(4)
		c.recvs(1)
		for id := range uint64(3) {
			c.send(id, verbs.Send, s)
		}
		got := c.poll()
		c.wait(c.lost, "the end")
		want(t, "completions", append(got, c.poll()...), "0 success", "1 transport retries exceeded", "2 flushed", "100 flushed")
		if err := c.qp.Err(); !errors.Is(err, verbs.ErrConnectionBroken) || !errors.Is(err, verbs.StatusError{Status: verbs.StatusRetryExceeded}) {
			t.Errorf("reason %v", err)
		}
		fired(t, inj, fault.FailCompletion)
	})
	t.Run("lost", func(t *testing.T) {
		inj, c, s := connected(t, fault.Config{Script: []fault.Fault{{Kind: fault.LoseCompletion, At: 2}}})
		s.recvs(4)
		c.recvs(1)
		for id := range uint64(3) {
			c.send(id, verbs.Send, s)
		}
		s.send(9, verbs.Send, c)
		want(t, "before", c.poll(), "0 success", "100 success") // the other queue is not affected
		c.qp.Disconnect()
		want(t, "after", c.poll(), "1 flushed", "2 flushed")
		fired(t, inj, fault.LoseCompletion)
	})
	t.Run("read without answer", func(t *testing.T) {
		inj, c, s := connected(t, fault.Config{Script: []fault.Fault{{Kind: fault.StallRead, At: 2}}})
		s.recvs(4)
		fenced := c.wr(4, verbs.Send, s)
		fenced.Flags |= verbs.SendFence
		n, err := c.qp.PostSend([]verbs.SendWR{c.wr(1, verbs.RDMARead, s), c.wr(2, verbs.RDMARead, s), c.wr(3, verbs.Send, s), fenced, c.wr(5, verbs.Send, s)})
		if n != 5 || err != nil {
			t.Fatal(n, err)
		}
		want(t, "before", c.poll(), "1 success")
		want(t, "peer", s.poll(), "100 success", "101 success") // not the fenced one
		s.qp.Disconnect()
		c.wait(c.lost, "the end")
		want(t, "after", c.poll(), "2 flushed", "3 flushed", "4 flushed", "5 flushed")
		fired(t, inj, fault.StallRead)
	})
}

// The same seed and the same calls give the same faults; another seed does not.
func TestSameSeedGivesTheSameFaults(t *testing.T) {
	history := func(seed uint64) (h []bool, n uint64) {
		inj := fault.New(fault.Config{Seed: seed, Rate: map[fault.Kind]float64{fault.RefuseAlloc: 0.2}})
		dev, _ := devices(t, inj)
		pd, err := dev.AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			buf, err := pd.Alloc(8)
			if h = append(h, err != nil); err == nil {
				pd.Free(buf)
			}
		}
		return h, inj.Count(fault.RefuseAlloc).Fired
	}
	a, n := history(1)
	b, _ := history(1)
	c, _ := history(2)
	if !cmp.Equal(a, b) || cmp.Equal(a, c) || n < 150 || n > 250 {
		t.Errorf("same: %v, other: %v, %d of 1000 at rate 0.2", cmp.Equal(a, b), cmp.Equal(a, c), n)
	}
}

// The occasions of a kind that a seed picks do not depend on other kinds, and differ from every
// other kind's.
func TestSeedPerKind(t *testing.T) {
	history := func(between bool) (alloc, register string) {
		inj := fault.New(fault.Config{Seed: 5, Rate: map[fault.Kind]float64{fault.RefuseAlloc: 0.3, fault.RefuseRegister: 0.3}})
		dev, _ := devices(t, inj)
		pd, err := dev.AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		mark := func(err error) string {
			if err != nil {
				return "x"
			}
			return "."
		}
		for range 200 {
			buf, err := pd.Alloc(8)
			alloc += mark(err)
			if err == nil {
				pd.Free(buf)
			}
			if between {
				mr, err := pd.RegisterMemory(make([]byte, 8), 0)
				register += mark(err)
				if err == nil {
					mr.Deregister()
				}
			}
		}
		return alloc, register
	}
	alone, _ := history(false)
	mixed, other := history(true)
	if alone != mixed {
		t.Errorf("allocations fail differently with registrations in between:\n%s\n%s", alone, mixed)
	}
	if mixed == other || !strings.Contains(other, "x") {
		t.Errorf("registrations fail like allocations, or never:\n%s\n%s", mixed, other)
	}
}

func TestKindsHaveNames(t *testing.T) {
	for _, k := range fault.Kinds() {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
	if s := fault.Kind(77).String(); s != "Kind(77)" || (fault.New(fault.Config{}).Count(77) != fault.Count{}) {
		t.Errorf("unknown kind is called %q", s)
	}
}
