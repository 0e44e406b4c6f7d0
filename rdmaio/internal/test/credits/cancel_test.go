package credits

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Calls are cancelled at any moment: each returns once, replies reach the Calls they belong to, and
// in the end all credits are free (R135, R291; T14, T64).
func TestCallsMayBeCancelledAtAnyMoment(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Heads = true
	l := &rpctest.Later{Handler: &rpctest.File{T: t}}
	t.Cleanup(l.Running.Wait)
	w.Serve(l, &rdmaio.Config{Credits: 5})
	c := w.Dial(nil)
	var xid, ok, given atomic.Uint32
	var wg sync.WaitGroup
	for g := range 24 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for range 60 {
				id := xid.Add(1)
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(1500))*time.Microsecond)
				reply, err := c.Call(ctx, rpctest.NullCall(id, 40))
				cancel()
				switch {
				case err == nil:
					ok.Add(1)
					if got := binary.BigEndian.Uint32(reply.Message); got != id {
						t.Errorf("Call %d got the reply to %d", id, got)
					}
				case errors.Is(err, context.DeadlineExceeded):
					given.Add(1)
				default:
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if ok.Load() == 0 || given.Load() == 0 {
		t.Errorf("%d Calls succeeded, %d were cancelled: the test proves nothing", ok.Load(), given.Load())
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		l, err := rdmaiotest.Audit(w.Since(0), "client")
		if err != nil || l.MostOutstanding > 5 {
			t.Fatalf("%v; at most %d Calls in flight of 5 granted", err, l.MostOutstanding)
		}
		if c.Stats().InFlight == 0 && len(l.Outstanding) == 0 { // the CANCELs are answered, too
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("credits did not come back: %+v, %d Calls in flight by the trace", c.Stats(), len(l.Outstanding))
		}
	}
}
