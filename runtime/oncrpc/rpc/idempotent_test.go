package rpc_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// R288: a reply cache before a Handler keeps the replies of procedures that are not idempotent, and
// no others.
func TestIdempotent(t *testing.T) {
	w := newWorld(t, "mem")
	svc := newService()
	svc.Idempotent(store.ProcRead)
	cache := replycache.New(rpc.NewHandler(nil, svc), nil)
	w.serve(cache, nil)
	c := rpc.NewClient(w.dial(nil), storeV1, nil)
	for proc, kept := range map[uint32]int{store.ProcNull: 0, store.ProcRead: 0, 99: 0, store.ProcWrite: 1} {
		before := cache.Stats().Entries
		switch proc {
		case store.ProcWrite:
			if err := c.Call(context.Background(), proc, new(store.WriteArgs), new(store.WriteRes), nil); err != nil {
				t.Error(err)
			}
		case store.ProcRead:
			if err := c.Call(context.Background(), proc, new(store.ReadArgs), new(store.ReadRes), nil); err != nil {
				t.Error(err)
			}
		default:
			if err := c.Call(context.Background(), proc, nil, nil, nil); (err != nil) != (proc == 99) {
				t.Errorf("procedure %d: %v", proc, err)
			}
		}
		if got := cache.Stats().Entries - before; got != kept {
			t.Errorf("procedure %d: %d replies kept, want %d", proc, got, kept)
		}
	}
}

// A Handler returns Idempotent of HandlerConfig.Next for programs that it does not serve.
func TestIdempotentNext(t *testing.T) {
	svc := newService()
	svc.Idempotent(store.ProcRead)
	front := rpc.NewHandler(&rpc.HandlerConfig{Next: rpc.NewHandler(nil, svc)})
	silent := rpc.NewHandler(&rpc.HandlerConfig{Next: rdmaio.HandlerFunc(func(*rdmaio.Request) {})})
	for _, tt := range []struct {
		h          *rpc.Handler
		proc, vers uint32
		want       bool
	}{
		{front, store.ProcRead, 1, true},
		{front, store.ProcWrite, 1, false},
		{front, store.ProcWrite, 2, true},
		{silent, store.ProcRead, 1, false},
	} {
		if got := tt.h.Idempotent(store.Program, tt.vers, tt.proc); got != tt.want {
			t.Errorf("procedure %d of version %d: %v, want %v", tt.proc, tt.vers, got, tt.want)
		}
	}
}
