package tcp_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// BenchmarkCall makes small calls, one at a time and many.
func BenchmarkCall(b *testing.B) { benchCall(b, &tcp.Config{Logger: quiet}) }

// BenchmarkCallTLS is BenchmarkCall over TLS.
func BenchmarkCallTLS(b *testing.B) { benchCall(b, secured(tlstest.NewAuthority(b), tcp.TLSRequired)) }

func benchCall(b *testing.B, cfg *tcp.Config) {
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = 2 * *args
		return nil
	})
	s := listen(b, rpc.NewHandler(nil, svc), cfg)
	c := rpc.NewClient(dial(b, s.Addr(), cfg), program, nil)
	call := func() {
		args, res := oncrpc.Uint32(21), oncrpc.Uint32(0)
		if err := c.Call(context.Background(), 1, &args, &res, nil); err != nil || res != 42 {
			b.Error(res, err)
		}
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			call()
		}
	})
	b.Run("32", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				call()
			}
		})
	})
}

// BenchmarkMarked submits small calls, of a procedure that is marked and of one that is not.
func BenchmarkMarked(b *testing.B) {
	for _, depth := range []int{1, 32, 256} {
		for _, marked := range []bool{true, false} {
			b.Run(fmt.Sprintf("depth=%d/marked=%t", depth, marked), func(b *testing.B) {
				svc := rpc.NewService(program)
				rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
					*res = 2 * *args
					return nil
				})
				if marked {
					svc.NonBlocking(1)
				}
				cfg := &tcp.Config{MaxRequests: depth, Logger: quiet}
				s := listen(b, rpc.NewHandler(nil, svc), cfg)
				c := rpc.NewClient(dial(b, s.Addr(), cfg), program, nil)
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

// BenchmarkRead reads 1 MiB at a time.
func BenchmarkRead(b *testing.B) { benchRead(b, &tcp.Config{Logger: quiet}) }

// BenchmarkReadTLS is BenchmarkRead over TLS.
func BenchmarkReadTLS(b *testing.B) { benchRead(b, secured(tlstest.NewAuthority(b), tcp.TLSRequired)) }

// BenchmarkDial connects, plainly and over TLS, with certificates of both ends.
func BenchmarkDial(b *testing.B) {
	for name, cfg := range map[string]*tcp.Config{"plain": {Logger: quiet}, "TLS": secured(tlstest.NewAuthority(b), tcp.TLSRequired)} {
		b.Run(name, func(b *testing.B) {
			s := listen(b, newService(), cfg)
			b.ReportAllocs()
			for b.Loop() {
				c, err := tcp.Dial(context.Background(), s.Addr(), cfg)
				if err != nil {
					b.Fatal(err)
				}
				double(b, c)
				_ = c.Close()
			}
		})
	}
}

func benchRead(b *testing.B, cfg *tcp.Config) {
	const size = 1 << 20
	p := oncrpc.Program{Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings()}
	data := make([]byte, size)
	svc := rpc.NewService(p)
	rpc.Handle(svc, store.ProcRead, func(_ *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
		res.OK.Data = data
		return nil
	})
	s := listen(b, rpc.NewHandler(nil, svc), cfg)
	c := rpc.NewClient(dial(b, s.Addr(), cfg), p, nil)
	b.SetBytes(size)
	b.ReportAllocs()
	opt := &rpc.Options{ReplyBuf: make([]byte, size+1000)}
	for b.Loop() {
		var res store.ReadRes
		if err := c.Call(context.Background(), store.ProcRead, &store.ReadArgs{Count: size}, &res, opt); err != nil || len(res.OK.Data) != size {
			b.Fatal(len(res.OK.Data), err)
		}
	}
}
