package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// In both versions, a Call over the server's limit, and a reply that does not fit its chunk, fail
// alone: the Call is made once, and the other Calls of the connection are executed once (ADR 0183).
func TestMessageOverTheLimitFailsAlone(t *testing.T) {
	const limit = 64 << 10
	for _, tt := range []struct {
		name     string
		call     func(xid uint32) *rdmaio.Call
		executed int32
	}{
		{"call", func(xid uint32) *rdmaio.Call { return rpctest.WriteCall(xid, 0, make([]byte, 2*limit)) }, 0},
		{"reply", func(xid uint32) *rdmaio.Call {
			c := rpctest.NullCall(xid, 48)
			c.MaxReply = limit
			return c
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
				var long, short atomic.Int32
				w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
					size := 24
					if len(r.Message) > 40 {
						long.Add(1)
						size = 2 << 20 // too much for version 2 to keep
					} else {
						short.Add(1)
					}
					r.Reply(oncrpc.Message{Inline: rpctest.ReplyBytes(rpctest.XID(r.Message), size)}, nil)
				}), &rdmaio.Config{MaxReadBytes: limit, MaxContinued: limit})
				c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Conn: &rdmaio.Config{MaxContinued: limit}})
				const neighbours, calls, times = 8, 10, 3
				errs := make(chan error, neighbours)
				for range neighbours {
					go func() {
						var failed error
						for range calls {
							_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
							failed = errors.Join(failed, err)
						}
						errs <- failed
					}()
				}
				for range times {
					_, err := c.Call(context.Background(), tt.call(c.XID()))
					var refused *rdmaio.PeerError
					if !errors.As(err, &refused) {
						t.Errorf("%v, want a *PeerError", err)
					}
				}
				for range neighbours {
					if err := <-errs; err != nil {
						t.Error(err)
					}
				}
				if long.Load() != times*tt.executed || short.Load() != neighbours*calls {
					t.Errorf("executed %d and %d times, want %d and %d", long.Load(), short.Load(), times*tt.executed, neighbours*calls)
				}
				if s := c.Stats(); s.Connects != 1 || s.Lost != 0 || s.Retransmissions != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}
