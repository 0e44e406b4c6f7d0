package fault_test

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// A device may be removed while a peer's write asks for memory on demand: nothing may hang. The
// function of verbs.OnDemand runs with locks of the provider held.
func TestRemoveDuringOnDemand(t *testing.T) {
	write := func(at uint64) (before, after uint64) {
		inj, c, s := connected(t, fault.Config{Script: []fault.Fault{{Kind: fault.RemoveDevice, At: at}}})
		pool := mrpool.New(c.pd, mrpool.Config{Heap: true})
		r, err := pool.RegisterOnDemand(64, verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
		if err != nil {
			t.Fatal(err)
		}
		before = inj.Count(fault.RemoveDevice).Seen
		done := make(chan error, 1)
		go func() {
			_, err := s.qp.PostSend([]verbs.SendWR{{
				WRID: 1, Opcode: verbs.RDMAWrite, Flags: verbs.SendSignaled, SGL: s.whole(), RKey: r.RKey(), RemoteAddr: r.RemoteAddr(),
			}})
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			panic("the write, which asks for memory, hangs")
		}
		after = inj.Count(fault.RemoveDevice).Seen
		if err := pool.Abandon(&r); err != nil {
			t.Error(err)
		}
		if _, err := pool.Collect(&r, nil, 0); err != nil {
			t.Error(err)
		}
		return before, after
	}
	before, after := write(1 << 40)
	for at := before + 1; at <= after; at++ {
		write(at)
	}
}
