package rpc_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// The ways to make a small call.
const (
	stub  = "stub"  // by the generated client
	fresh = "fresh" // with new arguments and results
	again = "again" // with those of the call before
)

// small returns a function that makes a small call.
func small(tb testing.TB, way string) func() {
	w := newWorld(tb, "mem")
	svc := rpc.NewService(storeV1)
	data := pattern(128)
	rpc.Handle(svc, store.ProcRead, func(_ *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
		res.OK.Data = data
		return nil
	})
	w.serve(rpc.NewHandler(nil, svc), &rdmaio.Config{NonBlocking: true})
	conn := w.dial(nil)
	c := rpc.NewClient(conn, storeV1, nil)
	ctx, name := context.Background(), store.Name("small")
	call := func(args *store.ReadArgs, res *store.ReadRes, opt *rpc.Options) {
		if err := c.Call(ctx, store.ProcRead, args, res, opt); err != nil || len(res.OK.Data) != 128 {
			tb.Fatal(err)
		}
	}
	switch way {
	case stub:
		files := storerpc.NewClient(conn, nil)
		return func() {
			if res, err := files.Read(ctx, &store.ReadArgs{Name: name, Count: 128}); err != nil || len(res.OK.Data) != 128 {
				tb.Fatal(err)
			}
		}
	case fresh:
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
func TestSmallCallAllocatesLittle(t *testing.T) {
	if xdrtest.Race {
		t.Skip("the race detector makes pools forget")
	}
	for way, most := range map[string]float64{stub: 4, fresh: 4, again: 1} {
		if got := testing.AllocsPerRun(200, small(t, way)); got > most {
			t.Errorf("%s: %v allocations a call, at most %v", way, got, most)
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
	for _, way := range []string{stub, fresh, again} {
		b.Run(way, func(b *testing.B) {
			call := small(b, way)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
