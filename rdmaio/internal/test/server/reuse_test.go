package server

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// forgetting is a Handler that keeps no Request, or says so.
type forgetting struct {
	rdmaio.HandlerFunc
	forgets, marked bool
}

func (f forgetting) ForgetsRequests() bool { return f.forgets }

func (f forgetting) NonBlocking(_, _, _ uint32) bool { return f.marked }

// The memory of a Request is used again when its handler has returned and its answer is sent, if
// the Handler keeps no Requests, and not before.
func TestRequestsAreUsedAgain(t *testing.T) {
	const calls = 40
	for _, tt := range []struct {
		name              string
		forgets, marked   bool
		nonBlocking, ends bool // each handler has returned before the next Call
		reuses            bool
	}{
		{"keeps", false, false, false, true, false},
		{"forgets", true, false, false, true, true},
		{"marked", true, true, false, true, true},
		{"NonBlocking", true, false, true, true, true},
		{"still runs", true, false, false, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			all := make(chan *rdmaio.Request, calls)
			gate := make(chan struct{})
			s := w.Serve(forgetting{func(r *rdmaio.Request) {
				answer(r)
				all <- r
				if !tt.ends {
					<-gate
				}
			}, tt.forgets, tt.marked}, &rdmaio.Config{NonBlocking: tt.nonBlocking})
			c := w.Dial(nil)
			for range calls {
				call := rpctest.SmallCall()
				binary.BigEndian.PutUint32(call.Inline, c.XID())
				if _, err := c.Call(context.Background(), call); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			seen := map[*rdmaio.Request]bool{}
			for range calls {
				seen[<-all] = true
			}
			if again := len(seen) < calls; again != tt.reuses {
				t.Errorf("%s: %d Requests for %d Calls", tt.name, len(seen), calls)
			}
			close(gate)
			_, _ = c.Close(), s.Close()
		})
	}
}

// A server allocates no Request for each Call of a Handler that keeps none.
func TestRequestsAreNotAllocated(t *testing.T) {
	const calls = 200
	per := func(forgets bool) float64 {
		h := forgetting{answer, forgets, false}
		c := rdmaiotest.Plain(t, h, &rdmaio.Config{NonBlocking: true})
		call := rpctest.SmallCall()
		return testing.AllocsPerRun(5, func() {
			for range calls {
				binary.BigEndian.PutUint32(call.Inline, c.XID())
				if _, err := c.Call(context.Background(), call); err != nil {
					t.Fatal(err)
				}
			}
		}) / calls
	}
	kept, used := per(false), per(true)
	t.Logf("allocations a call: %.2f with Requests that are kept, %.2f without", kept, used)
	if kept-used < 0.5 { // with the race detector sync.Pool drops one of four
		t.Errorf("%.2f allocations a call, and %.2f if the Requests are used again", kept, used)
	}
}

var _ oncrpc.Forgetter = forgetting{}
