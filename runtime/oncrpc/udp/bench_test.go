package udp_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// blocking is a Carrier whose Calls block: a Call that is submitted has a goroutine.
type blocking struct{ oncrpc.Carrier }

// BenchmarkSubmit submits small calls of a procedure that never blocks, and makes such calls with a
// goroutine each.
func BenchmarkSubmit(b *testing.B) {
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = 2 * *args
		return nil
	})
	svc.NonBlocking(1)
	s := listen(b, "127.0.0.1:0", rpc.NewHandler(nil, svc), nil)
	for _, depth := range []int{1, 32, 128} {
		for name, via := range map[string]func(oncrpc.Carrier) oncrpc.Carrier{
			"record":    func(c oncrpc.Carrier) oncrpc.Carrier { return c },
			"goroutine": func(c oncrpc.Carrier) oncrpc.Carrier { return blocking{c} },
		} {
			b.Run(fmt.Sprintf("%s/depth=%d", name, depth), func(b *testing.B) {
				c := rpc.NewClient(via(dial(b, s.Addr(), &udp.Config{Logger: quiet})), program, nil)
				b.ReportAllocs()
				var left atomic.Int64
				left.Store(int64(b.N))
				var chains sync.WaitGroup
				chains.Add(depth)
				for range depth {
					args, res := oncrpc.Uint32(21), oncrpc.Uint32(0)
					var next func(error)
					next = func(err error) {
						if err == nil && left.Add(-1) >= 0 {
							if err = c.Submit(context.Background(), 1, &args, &res, nil, next); err == nil {
								return
							}
						}
						if err != nil {
							b.Error(err)
						}
						chains.Done()
					}
					next(nil)
				}
				chains.Wait()
			})
		}
	}
}
