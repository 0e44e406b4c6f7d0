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
