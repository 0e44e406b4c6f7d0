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

// markedHandler is a Handler whose procedures are marked as ones that never block, if it says so.
// The replies are short.
type markedHandler struct {
	rdmaio.HandlerFunc
	marked bool
}

func (h markedHandler) NonBlocking(_, _, _ uint32) bool { return h.marked }

func (markedHandler) ReplyBound(_, _, _ uint32) int { return 100 }

// What a goroutine for each handler costs: docs/adr/0042-handler-goroutines.md.
func BenchmarkHandlers(b *testing.B) {
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
	})
	for _, depth := range []int{1, 8, 32} {
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
