package rpc_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Handlers know which procedures never block: the null procedure and those that were marked, in any
// order with MaxReply. With Interceptors none is. Handlers that pass Requests on ask the next one.
// Package gss does not for procedure 0, which makes contexts.
func TestHandlerKnowsMarkedProcedures(t *testing.T) {
	nothing := func(*rpc.Request, *oncrpc.Void, *oncrpc.Uint32) error { return nil }
	newService := func(number uint32) *rpc.Service {
		svc := rpc.NewService(oncrpc.Program{Number: number, Version: 3})
		for _, proc := range []uint32{1, 2, 3, 1000, 1001} {
			rpc.Handle(svc, proc, nothing)
		}
		svc.NonBlocking(1, 1000)
		svc.MaxReply(0, 1, 2, 1000, 1001) // lowers their bounds
		svc.NonBlocking(2, 1001)
		return svc
	}
	plain := rpc.NewHandler(nil, newService(400001))
	next := rpc.NewHandler(&rpc.HandlerConfig{Next: plain}, newService(400002))
	for _, tt := range []struct {
		name                        string
		h                           oncrpc.Handler
		program, version, procedure uint32
		want                        bool
	}{
		{"null", plain, 400001, 3, 0, true},
		{"marked", plain, 400001, 3, 1, true},
		{"marked after MaxReply", plain, 400001, 3, 2, true},
		{"not marked", plain, 400001, 3, 3, false},
		{"a large number", plain, 400001, 3, 1000, true},
		{"a large number, after MaxReply", plain, 400001, 3, 1001, true},
		{"no procedure", plain, 400001, 3, 4, false},
		{"no procedure with a large number", plain, 400001, 3, 4000, false},
		{"no version", plain, 400001, 4, 1, false},
		{"no program", plain, 400003, 3, 1, false},
		{"of the next", next, 400001, 3, 1, true},
		{"not of the next", next, 400001, 3, 3, false},
		{"with a next", next, 400002, 3, 1, true},
		{"of neither", next, 400003, 3, 0, false},
		{"a cache", replycache.New(plain, nil), 400001, 3, 1, true},
		{"not in a cache", replycache.New(plain, nil), 400001, 3, 3, false},
		{"a secured one", gss.NewHandler(plain, nil, nil), 400001, 3, 1, true},
		{"the null procedure of a secured one", gss.NewHandler(plain, nil, nil), 400001, 3, 0, false},
		{"a function", oncrpc.HandlerFunc(plain.ServeRPC), 400001, 3, 1, false},
		{"intercepted", rpc.NewHandler(&rpc.HandlerConfig{Interceptors: make([]rpc.ServerInterceptor, 1)}, newService(400001)), 400001, 3, 1, false},
	} {
		if got := oncrpc.NonBlocking(tt.h, tt.program, tt.version, tt.procedure); got != tt.want {
			t.Errorf("%s: never blocks %t, want %t", tt.name, got, tt.want)
		}
	}
	if got := plain.ReplyBound(400001, 3, 2); got < 0 {
		t.Errorf("the bound of a procedure that was marked later is %d", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a procedure that was not added was marked")
		}
	}()
	newService(400001).NonBlocking(77)
}

// A Handler forgets its Requests, unless it passes some on to one that does not say so.
func TestHandlerForgetsRequests(t *testing.T) {
	plain := rpc.NewHandler(nil)
	for _, tt := range []struct {
		next oncrpc.Handler
		want bool
	}{{nil, true}, {plain, true}, {oncrpc.HandlerFunc(plain.ServeRPC), false}} {
		if got := oncrpc.ForgetsRequests(rpc.NewHandler(&rpc.HandlerConfig{Next: tt.next})); got != tt.want {
			t.Errorf("before %T: forgets %t, want %t", tt.next, got, tt.want)
		}
	}
}
