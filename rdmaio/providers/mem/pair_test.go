package mem_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// side is one end of a connection, with little overhead, for benchmarks.
type side struct {
	dev *mem.Device
	pd  verbs.ProtectionDomain
	cq  verbs.CompletionQueue
	qp  verbs.QueuePair
	mr  verbs.MemoryRegion // 64 KiB with all rights
}

const sideBytes = 64 << 10

// sideConfig holds the parameters that differ between tests.
type sideConfig struct {
	notify, lost func()
}

func newSide(t testing.TB, dev *mem.Device, cfg sideConfig) *side {
	t.Helper()
	s := &side{dev: dev}
	var err error
	must := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.pd, err = dev.AllocPD()
	must()
	s.cq, err = dev.CreateCQ(256, cfg.notify)
	must()
	s.qp, err = s.pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, Notify: cfg.lost})
	must()
	s.mr, err = s.pd.RegisterMemory(make([]byte, sideBytes),
		verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite|verbs.AccessRemoteInvalidate)
	must()
	t.Cleanup(func() {
		for _, f := range []func() error{s.qp.Close, s.mr.Deregister, s.cq.Close, s.pd.Close} {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// join connects two sides.
func join(t testing.TB, c, s *side) {
	t.Helper()
	ln, err := s.dev.Listen(context.Background(), "pair")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan error, 1)
	go func() {
		_, err := c.dev.Dial(context.Background(), "pair", c.qp, nil)
		done <- err
	}()
	req, err := ln.Accept(context.Background())
	if err == nil {
		_, err = req.Accept(context.Background(), s.qp, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func newPair(t testing.TB) (n *mem.Network, c, s *side) {
	t.Helper()
	n, client, server := openPair(t)
	c, s = newSide(t, client, sideConfig{}), newSide(t, server, sideConfig{})
	join(t, c, s)
	return n, c, s
}

// poll polls until the queue is empty.
func (s *side) poll(t testing.TB) []verbs.WC {
	t.Helper()
	wcs := make([]verbs.WC, 64)
	n, err := s.cq.Poll(wcs)
	if err != nil {
		t.Fatal(err)
	}
	return wcs[:n]
}

func (s *side) sge(n int) []verbs.SGE { return []verbs.SGE{{MR: s.mr, Length: n}} }
