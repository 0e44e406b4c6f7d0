package tcp_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// BenchmarkCall makes small calls, one at a time and many.
func BenchmarkCall(b *testing.B) {
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = 2 * *args
		return nil
	})
	s := listen(b, rpc.NewHandler(nil, svc), nil)
	c := rpc.NewClient(dial(b, s.Addr(), nil), program, nil)
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

// BenchmarkRead reads 1 MiB at a time.
func BenchmarkRead(b *testing.B) {
	const size = 1 << 20
	p := oncrpc.Program{Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings()}
	data := make([]byte, size)
	svc := rpc.NewService(p)
	rpc.Handle(svc, store.ProcRead, func(_ *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
		res.OK.Data = data
		return nil
	})
	s := listen(b, rpc.NewHandler(nil, svc), &tcp.Config{})
	c := rpc.NewClient(dial(b, s.Addr(), nil), p, nil)
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
