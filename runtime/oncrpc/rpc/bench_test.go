package rpc_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// small returns a function that makes a small call. Its arguments and results are new each time, or
// reused if again is set.
func small(tb testing.TB, again bool) func() {
	w := newWorld(tb, "mem")
	svc := rpc.NewService(storeV1)
	data := pattern(128)
	rpc.Handle(svc, store.ProcRead, func(_ *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
		res.OK.Data = data
		return nil
	})
	w.serve(rpc.NewHandler(nil, svc), &rdmaio.Config{NonBlocking: true})
	c := rpc.NewClient(w.dial(nil), storeV1, nil)
	ctx, name := context.Background(), store.Name("small")
	call := func(args *store.ReadArgs, res *store.ReadRes, opt *rpc.Options) {
		if err := c.Call(ctx, store.ProcRead, args, res, opt); err != nil || len(res.OK.Data) != 128 {
			tb.Fatal(err)
		}
	}
	if !again {
		return func() {
			var res store.ReadRes
			call(&store.ReadArgs{Name: name, Count: 128}, &res, nil)
		}
	}
	var res store.ReadRes
	args, opt := store.ReadArgs{Name: name, Count: 128}, rpc.Options{ReplyBuf: make([]byte, 256)}
	return func() { call(&args, &res, &opt) }
}

// A small call allocates no more than this, at both ends together.
func TestAllocations(t *testing.T) {
	if xdrtest.Race {
		t.Skip("the race detector makes pools forget")
	}
	for _, tt := range []struct {
		again bool
		most  float64
	}{{false, 4}, {true, 1}} {
		if got := testing.AllocsPerRun(200, small(t, tt.again)); got > tt.most {
			t.Errorf("again %v: %v allocations a call, at most %v", tt.again, got, tt.most)
		}
	}
}

// raw makes the same call over the transport alone, with messages that are encoded already.
func raw(tb testing.TB) func() {
	w := newWorld(tb, "mem")
	answer, err := oncrpc.NewReply(0, oncrpc.Success).AppendBinary(nil)
	if err == nil {
		answer, err = (&store.ReadRes{OK: store.ReadOK{Data: pattern(128)}}).AppendBinary(answer)
	}
	if err != nil {
		tb.Fatal(err)
	}
	w.serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		copy(answer, r.Message[:4])
		r.Reply(rdmaio.Message{Inline: answer}, nil)
	}), &rdmaio.Config{NonBlocking: true})
	conn := w.dial(nil)
	message, err := oncrpc.NewCall(0, store.Program, 1, store.ProcRead, oncrpc.None()).AppendBinary(nil)
	if err == nil {
		message, err = (&store.ReadArgs{Name: []byte("small"), Count: 128}).AppendBinary(message)
	}
	if err != nil {
		tb.Fatal(err)
	}
	call := &rdmaio.Call{Message: rdmaio.Message{Inline: message}, ReplyBuf: make([]byte, 256)}
	return func() {
		binary.BigEndian.PutUint32(message, conn.XID())
		if r, err := conn.Call(context.Background(), call); err != nil || len(r.Message) != len(answer) {
			tb.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	b.Run("raw", func(b *testing.B) {
		call := raw(b)
		b.ReportAllocs()
		for b.Loop() {
			call()
		}
	})
	for name, again := range map[string]bool{"fresh": false, "again": true} {
		b.Run(name, func(b *testing.B) {
			call := small(b, again)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
