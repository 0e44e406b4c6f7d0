package soft

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R289: Redirect interrupts copies in progress and waits for them, also for those that end later.
// Then the region has the new memory and no trace of the old, and the next Redirect works.
func TestRedirectWaitsForCopies(t *testing.T) {
	for _, later := range []bool{false, true} {
		d := newDevice(t, 1)
		pd, err := d.AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		cq, _ := newCQ(t, d, 32)
		mr := register(t, pd, verbs.AccessRemoteWrite|verbs.AccessLocalWrite)
		var pinned []*Element
		interrupts := 0
		var q QueuePair
		if err := q.Configure(pd, 1, verbs.QPConfig{SendCQ: cq, RecvCQ: cq}); err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{}, 2)
		err = q.Register(interrupter(func() {
			interrupts++
			if later {
				release <- struct{}{}
				return
			}
			for _, e := range pinned {
				e.Unpin()
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		for round := 1; round <= 2; round++ {
			pinned = nil
			for range 2 {
				e, reason := pd.Remote(mr.RKey(), mr.RemoteAddr(), 8, verbs.AccessRemoteWrite)
				if reason != "" || !e.Pin() {
					t.Fatalf("no pin: %s", reason)
				}
				pinned = append(pinned, &e)
			}
			next := make([]byte, 8)
			done := make(chan error, 1)
			go func() { done <- mr.Redirect(next) }()
			if later {
				<-release
				for i, e := range pinned {
					if e.Unpin(); i == 0 && mr.loadUse().redirecting() == false {
						t.Error("Redirect does not wait for the second copy")
					}
				}
			}
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("Redirect does not return")
			}
			u := mr.loadUse()
			if interrupts != round || u.redirecting() || u.pins() != 0 || !u.valid() {
				t.Errorf("round %d: %d interrupts; redirecting %v, %d pins, valid %v", round, interrupts, u.redirecting(), u.pins(), u.valid())
			}
			if b := mr.Bytes(); &b[0] != &next[0] {
				t.Errorf("round %d: the region has other memory", round)
			}
			if mr.bufs[0] != nil && mr.bufs[1] != nil {
				t.Errorf("round %d: the region keeps its old memory", round)
			}
		}
		if err := mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		before := mr.bufs
		if err := mr.Redirect(make([]byte, 8)); err != nil || &mr.bufs[0] == nil || len(mr.bufs[0]) != len(before[0]) || len(mr.bufs[1]) != len(before[1]) {
			t.Errorf("an invalid region: %v", err)
		}
	}
}
