package ibverbs

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A queue pair whose requests could overflow the largest completion queue of the device is refused.
func TestQueuePairNeedsCompletionQueueForAllRequests(t *testing.T) {
	f := openFake(t, abi.TransportIB, quirks.Quirks{}, Config{})
	pd, err := f.c.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := f.c.CreateCQ(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4, MaxBoundMRs: 1}
	// Requests, a bind and a revocation, a ping and the last request, Receives.
	const entries = 4 + 2*1 + 3 + 4
	f.c.limits.MaxCQE = entries - 1
	if _, err := pd.CreateQP(cfg); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("create a queue pair: %v, want %v", err, verbs.ErrTooLarge)
	}
	f.c.limits.MaxCQE = entries
	qp, err := pd.CreateQP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(qp.Close(), cq.Close(), pd.Close()); err != nil {
		t.Error(err)
	}
}

// A queue pair whose requests do not fit in the device's send queue is refused before the device
// is asked: the entries for windows count, too.
func TestQueuePairNeedsEntriesForWindows(t *testing.T) {
	f, w := openWatched(t, abi.TransportIB, quirks.Quirks{}, Config{})
	pd := openDomain(t, f)
	cq, err := f.c.CreateCQ(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4, MaxBoundMRs: 1}
	const entries = 4 + 2*1 + 3
	f.c.limits.MaxQPWR = entries - 1
	if _, err := pd.CreateQP(cfg); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("create a queue pair: %v, want ErrTooLarge", err)
	}
	if n := w.count("ibv_create_qp"); n != 0 {
		t.Errorf("the library was asked for a queue pair that is too large")
	}
	f.c.limits.MaxQPWR = entries
	qp, err := pd.CreateQP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	// Close is for good, and a second one changes nothing.
	for range 2 {
		if err := qp.Close(); err != nil {
			t.Error(err)
		}
		if r := f.c.Resources(); r.QPs != 0 {
			t.Errorf("%d queue pairs are left", r.QPs)
		}
	}
	if err := cq.Close(); err != nil {
		t.Error(err)
	}
}

// What a device says of windows is tried, and decides what the provider promises.
func TestAttributesSayWhatWindowsCanDo(t *testing.T) {
	for name, tt := range map[string]struct {
		quirks          quirks.Quirks
		windows, remote bool
	}{
		"windows":    {quirks.Quirks{}, true, true},
		"absent":     {quirks.Quirks{WindowsAbsent: true}, false, false},
		"none":       {quirks.Quirks{NoWindows: true}, false, false},
		"unreported": {quirks.Quirks{UnreportedInvalidate: true}, true, false},
		"unbounded":  {quirks.Quirks{WindowsUnbounded: true}, false, false},
		"invalidate": {quirks.Quirks{NoLocalInvalidate: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := openFake(t, abi.TransportIB, tt.quirks, Config{})
			if f.c.windows != tt.windows || f.c.Attributes().RemoteInvalidate != tt.remote {
				t.Errorf("windows %v and invalidation by the peer %v, want %v and %v", f.c.windows, f.c.Attributes().RemoteInvalidate, tt.windows, tt.remote)
			}
			c, _ := connectedSides(t, f)
			if r := c.region(8, remoteRW); (r.window != nil) != tt.windows || (r.own != 0) == tt.windows {
				t.Errorf("a region with window %v and registration %v", r.window, r.own)
			}
		})
	}
}
