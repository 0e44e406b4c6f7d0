package server

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Marked procedures of a connection run one after the other, also after one has passed its Request
// to another handler.
func TestMarkedProcedurePassesItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		var running atomic.Int32
		s := w.Serve(forgetting{func(r *rdmaio.Request) {
			if running.Add(1) > 1 {
				t.Error("two marked procedures run at the same time")
			}
			defer running.Add(-1)
			r.Serve(oncrpc.HandlerFunc(answer))
			for range 100 {
				runtime.Gosched()
			}
		}, true, true}, nil)
		c := w.Dial(nil)
		over := make(chan error)
		for xid := range uint32(20) {
			go func() {
				_, err := c.Call(context.Background(), &rdmaio.Call{Message: rpctest.CallHeader(10+xid, 1).Message()})
				over <- err
			}()
		}
		for range 20 {
			if err := <-over; err != nil {
				t.Error(err)
			}
		}
		_, _ = c.Close(), s.Close()
	})
}
