package rdmaio_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
)

// What a goroutine for each handler costs: docs/adr/0042-handler-goroutines.md.
func BenchmarkHandlers(b *testing.B) {
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
	})
	for _, depth := range []int{1, 8, 32} {
		for name, nonBlocking := range map[string]bool{"default": false, "nonblocking": true} {
			b.Run(fmt.Sprintf("depth=%d/%s", depth, name), func(b *testing.B) {
				dev, err := rdmatcp.Open(nil)
				if err != nil {
					b.Fatal(err)
				}
				s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", h, &rdmaio.Config{NonBlocking: nonBlocking})
				if err != nil {
					b.Fatal(err)
				}
				c, err := rdmaio.Dial(context.Background(), dev, s.Addr(), nil)
				if err != nil {
					b.Fatal(err)
				}
				rpctest.Again(b, c, rpctest.SmallCall(), 1)
				b.ResetTimer()
				var wg sync.WaitGroup
				for range depth {
					wg.Go(func() {
						call := rpctest.SmallCall()
						for range b.N/depth + 1 {
							binary.BigEndian.PutUint32(call.Inline, c.XID())
							if _, err := c.Call(context.Background(), call); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				if err := errors.Join(c.Close(), s.Close(), dev.Close()); err != nil {
					b.Error(err)
				}
			})
		}
	}
}
