package trace_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// A revocation is recorded when it begins and when it is done, with each key.
func TestRevocationIsRecorded(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  fault.Config
		want []trace.Kind
		err  error
	}{
		"by a Revoker":    {fault.Config{Revoke: func(end func()) { end() }}, []trace.Kind{trace.Revoke, trace.Revoke, trace.Invalidate, trace.Invalidate}, nil},
		"one by one":      {fault.Config{}, []trace.Kind{trace.Revoke, trace.Revoke, trace.Revoke, trace.Invalidate, trace.Invalidate}, nil},
		"with an error":   {fault.Config{Revoke: func(end func()) { end() }, Script: []fault.Fault{{Kind: fault.FailInvalidate, At: 2}}}, []trace.Kind{trace.Revoke, trace.Revoke, trace.Invalidate, trace.Invalidate}, verbs.ErrBusy},
		"by no wrapper's": {fault.Config{}, []trace.Kind{trace.Invalidate, trace.Invalidate}, nil},
	} {
		rec := trace.NewRecorder(100)
		inner, err := mem.New(nil).Open("d", nil)
		if err != nil {
			t.Fatal(err)
		}
		below := fault.New(tt.cfg).Device(inner)
		if name == "by no wrapper's" {
			below = inner
		}
		dev := trace.New(trace.Config{Sink: rec.Add}).Device(below)
		pd, err := dev.AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		cq, err := dev.CreateCQ(10, nil)
		if err != nil {
			t.Fatal(err)
		}
		qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
		if err != nil {
			t.Fatal(err)
		}
		var regions []verbs.MemoryRegion
		for range 2 {
			mr, err := pd.RegisterMemory(make([]byte, 8), verbs.AccessRemoteRead)
			if err != nil {
				t.Fatal(err)
			}
			regions = append(regions, mr)
		}
		if err := verbs.Invalidate(qp, regions...); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", name, err, tt.err)
		}
		at, keys := 0, map[uint32]bool{0: true, regions[0].RKey(): true, regions[1].RKey(): true}
		for _, e := range rec.Events() {
			if e.Kind != trace.Revoke && e.Kind != trace.Invalidate {
				continue
			}
			if at == len(tt.want) || e.Kind != tt.want[at] || !keys[e.RKey] || e.Kind == trace.Invalidate && !errors.Is(e.Err, tt.err) {
				t.Errorf("%s: event %d of a revocation: %v, want %v", name, at, e, tt.want)
				break
			}
			at++
		}
		if at != len(tt.want) {
			t.Errorf("%s: %d events, want %v", name, at, tt.want)
		}
		for _, close := range []func() error{regions[0].Deregister, regions[1].Deregister, qp.Close, cq.Close, pd.Close, dev.Close} {
			if err := close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
