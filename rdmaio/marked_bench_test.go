package rdmaio_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// What marked procedures cost a server, with a client that submits its Calls:
// docs/adr/0192-procedures-that-never-block.md.
func BenchmarkMarked(b *testing.B) {
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
	})
	for _, depth := range []int{1, 32} {
		for _, name := range []string{"default", "marked", "nonblocking"} {
			b.Run(fmt.Sprintf("depth=%d/%s", depth, name), func(b *testing.B) {
				dev, err := rdmatcp.Open(nil)
				if err != nil {
					b.Fatal(err)
				}
				marked := markedHandler{h, name == "marked"}
				s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", marked, &rdmaio.Config{NonBlocking: name == "nonblocking"})
				if err != nil {
					b.Fatal(err)
				}
				c, err := rdmaio.Dial(context.Background(), dev, s.Addr(), nil)
				if err != nil {
					b.Fatal(err)
				}
				rpctest.Again(b, c, rpctest.SmallCall(), 1)
				b.ResetTimer()
				var left atomic.Int64
				left.Store(int64(b.N))
				var chains sync.WaitGroup
				chains.Add(depth)
				for range depth {
					call := rpctest.SmallCall()
					var next func(*oncrpc.Reply, error)
					next = func(_ *oncrpc.Reply, err error) {
						if err == nil && left.Add(-1) >= 0 {
							binary.BigEndian.PutUint32(call.Inline, c.XID())
							if err = oncrpc.Submit(context.Background(), c, call, next); err == nil {
								return
							}
						}
						if err != nil {
							b.Error(err)
						}
						chains.Done()
					}
					next(nil, nil)
				}
				chains.Wait()
				b.StopTimer()
				if err := errors.Join(c.Close(), s.Close(), dev.Close()); err != nil {
					b.Error(err)
				}
			})
		}
	}
}
