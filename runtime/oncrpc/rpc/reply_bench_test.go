package rpc_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
)

// The cost of a reply chunk that is offered and not used, and of one that is used:
// docs/adr/0046-unbounded-replies.md.
func BenchmarkMaxReply(b *testing.B) {
	for _, provider := range []string{"mem", "rdmatcp"} {
		for _, entries := range []int{1, 2000} {
			for _, most := range []int{-1, 64 << 10, 512 << 10} {
				if entries > 1 && most < 0 {
					continue
				}
				b.Run(fmt.Sprintf("%s/entries=%d/most=%d", provider, entries, most), func(b *testing.B) {
					w, l := newWorld(b, provider), new(lists)
					l.entries.Store(int64(entries))
					w.serve(rpc.NewHandler(nil, l.service()), &rdmaio.Config{NonBlocking: true})
					c := rpc.NewClient(w.dial(nil), listV4, &rpc.ClientConfig{MaxReply: most})
					var got rpcbind.Mappings
					for b.Loop() {
						if err := c.Call(context.Background(), rpcbind.ProcDump, new(oncrpc.Void), &got, nil); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
