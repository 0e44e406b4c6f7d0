package ibverbs

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

const remoteRW = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite

// side is one end of a connection, for tests.
type side struct {
	t    *testing.T
	dev  *Device
	pd   *domain
	cq   verbs.CompletionQueue
	wake <-chan struct{}
	lost <-chan struct{}
	qp   *queuePair

	info     *verbs.ConnInfo // of connectFully
	peerData []byte          // that the peer has sent or received
}

func newSide(t *testing.T, d *Device, cfg verbs.QPConfig) *side {
	t.Helper()
	s := &side{t: t, dev: d}
	pd, err := d.AllocPD()
	s.must(err)
	s.pd = pd.(*domain)
	t.Cleanup(func() { s.must(s.pd.Close()) })
	notify, wake := verbs.NotifyChannel()
	s.wake = wake
	s.cq, err = d.CreateCQ(1024, notify)
	s.must(err)
	t.Cleanup(func() { s.must(s.cq.Close()) })
	cfg.SendCQ, cfg.RecvCQ = s.cq, s.cq
	if cfg.Notify == nil {
		cfg.Notify, s.lost = verbs.NotifyChannel()
	}
	qp, err := s.pd.CreateQP(cfg)
	s.must(err)
	s.qp = qp.(*queuePair)
	t.Cleanup(func() { s.must(s.qp.Close()) })
	return s
}

// connectedSides returns the connected sides of a network.
func connectedSides(t *testing.T, f *fakeNet) (c, s *side) {
	t.Helper()
	c, s = newSide(t, f.c, verbs.QPConfig{}), newSide(t, f.s, verbs.QPConfig{})
	connectSides(c, s)
	return c, s
}

func connectSides(c, s *side) {
	t := c.t
	t.Helper()
	ln, err := s.dev.Listen(t.Context(), "127.0.0.2:0")
	c.must(err)
	defer ln.Close()
	dialed := make(chan error, 1)
	go func() {
		_, err := c.dev.Dial(t.Context(), ln.Addr(), c.qp, nil)
		dialed <- err
	}()
	req, err := ln.Accept(t.Context())
	c.must(err)
	_, err = req.Accept(t.Context(), s.qp, nil)
	c.must(err)
	c.must(<-dialed)
}

func (s *side) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// region returns a region of n bytes. The end of the test deregisters it.
func (s *side) region(n int, access verbs.Access) *region {
	s.t.Helper()
	buf, err := s.pd.Alloc(n)
	s.must(err)
	mr, err := s.pd.RegisterMemory(buf, access)
	s.must(err)
	s.t.Cleanup(func() {
		s.must(mr.Deregister())
		s.must(s.pd.Free(buf))
	})
	return mr.(*region)
}

func (s *side) recv(id uint64, r *region) {
	s.t.Helper()
	_, err := s.qp.PostRecv([]verbs.RecvWR{{WRID: id, SGL: []verbs.SGE{{MR: r, Length: len(r.Bytes())}}}})
	s.must(err)
}

func (s *side) send(wrs ...verbs.SendWR) {
	s.t.Helper()
	_, err := s.qp.PostSend(wrs)
	s.must(err)
}

// wait polls n completions.
func (s *side) wait(n int) []verbs.WC {
	s.t.Helper()
	got := make([]verbs.WC, n)
	for have := 0; have < n; {
		k, err := s.cq.Poll(got[have:])
		s.must(err)
		if have += k; k > 0 {
			continue
		}
		s.must(s.cq.Arm(false))
		if k, err = s.cq.Poll(got[have:]); k > 0 || err != nil {
			s.must(err)
			have += k
			continue
		}
		select {
		case <-s.wake:
		case <-time.After(leak.Patience()):
			s.t.Fatalf("%d of %d completions have come", have, n)
		}
	}
	return got
}

// ends waits until the provider has called Lost.
func (s *side) ends() {
	s.t.Helper()
	select {
	case <-s.lost:
	case <-time.After(leak.Patience()):
		s.t.Fatal("the connection is not lost")
	}
}

// The one ending that no other test runs as a whole: a window is bound, a Send carries its key, the
// peer is silent, and the window's revocation waits in the queue after the Send. The device gives
// up, the queue pair fails, its requests are flushed, it is destroyed, and then all waiting calls
// are answered.
func TestSilentPeerDelaysRevocationUntilRetriesEnd(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{PeerTimeout: -1})
	for range 20 {
		notified := make(chan int, 1)
		var c *side
		c = newSide(t, f.c, verbs.QPConfig{Notify: func() {
			n, _ := c.cq.Poll(make([]verbs.WC, 8))
			notified <- n
		}})
		s := newSide(t, f.s, verbs.QPConfig{})
		connectSides(c, s)
		for i := range uint64(3) {
			c.recv(i, c.region(8, verbs.AccessLocalWrite))
		}
		s.recv(1, s.region(64, verbs.AccessLocalWrite))
		f.server.Device("fake1").Silence(true)

		mr := c.region(4096, remoteRW)
		if mr.window == nil {
			t.Fatal("the region is not a window")
		}
		msg := c.region(64, 0)
		c.send(verbs.SendWR{WRID: 7, Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: msg, Length: 64}}})
		done := make(chan error, 1)
		began := time.Now()
		c.must(c.qp.Revoke([]verbs.MemoryRegion{mr}, func(err error) { done <- err }))
		if took := time.Since(began); mr.State() != verbs.MRValid && took < 50*time.Millisecond {
			t.Errorf("the region is %v after %v, while the Send before its revocation is not acknowledged", mr.State(), took)
		}
		if err := mr.Reregister(mr.Bytes(), remoteRW); !errors.Is(err, verbs.ErrBusy) {
			t.Errorf("reregister during the revocation: %v", err)
		}
		c.must(<-done)
		if mr.State() != verbs.MRInvalid {
			t.Errorf("the region is %v after its revocation", mr.State())
		}
		if n := <-notified; n != 4 {
			t.Errorf("%d completions when the end is notified, want a Send and 3 Receives", n)
		}
		if err := c.qp.Err(); !errors.Is(err, verbs.StatusError{Status: verbs.StatusRetryExceeded}) || !errors.Is(err, verbs.ErrConnectionBroken) {
			t.Errorf("the queue pair ended with %v", err)
		}
		if o := f.net.Objects(); o.MWs != 0 {
			t.Errorf("%d memory windows are left", o.MWs)
		}
		f.server.Device("fake1").Silence(false)
		c.must(c.qp.Close())
		c.must(s.qp.Close())
	}
}
