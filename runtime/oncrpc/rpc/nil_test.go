package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A nil pointer to arguments or results is an error of the call, with and without interceptors. The
// call is not made.
func TestNilValue(t *testing.T) {
	conn := mem.New(rpc.NewHandler(nil, storerpc.NewService(&oneFile{})), nil)
	defer conn.Close()
	look := func(ctx context.Context, call *rpc.Invocation, next func(context.Context) error) error {
		_ = call.Args.(*store.ReadArgs).Name
		return next(ctx)
	}
	for _, cfg := range []*rpc.ClientConfig{nil, {Interceptors: []rpc.ClientInterceptor{look}}} {
		files := storerpc.NewClient(conn, cfg)
		for what, call := range map[string]func() error{
			"arguments are a nil *store.WriteArgs": func() error { _, err := files.Write(context.Background(), nil); return err },
			// READ is bounded by an argument (the line reply of the sidecar).
			"arguments are a nil *store.ReadArgs": func() error { _, err := files.Read(context.Background(), nil); return err },
			"results are a nil *store.ReadRes": func() error {
				return files.ReadInto(context.Background(), new(store.ReadArgs), nil, nil)
			},
		} {
			err := call()
			var e *rpc.Error
			if !errors.Is(err, rpc.ErrNilValue) || !errors.As(err, &e) || e.MayHaveRun || !strings.Contains(err.Error(), what) {
				t.Errorf("want the %s, got %v", what, err)
			}
		}
	}
}

// Interceptors of both sides see the same types: pointers to generated types, those of package
// oncrpc for XDR's own, and *oncrpc.Void for none.
func TestInterceptedTypes(t *testing.T) {
	program := oncrpc.Program{Number: 400011, Version: 2}
	var seen []string
	see := func(side string, args, res xdr.Value) { seen = append(seen, fmt.Sprintf("%s %T %T", side, args, res)) }
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(*rpc.Request, *oncrpc.Void, *oncrpc.Uint64) error { return nil })
	rpc.Handle(svc, 2, func(*rpc.Request, *store.ReadArgs, *oncrpc.Void) error { return nil })
	conn := mem.New(rpc.NewHandler(&rpc.HandlerConfig{Interceptors: []rpc.ServerInterceptor{
		func(r *rpc.Request, args, res xdr.Value, next func() error) error {
			if n, v := r.Program(); n != 400011 || v != 2 {
				t.Errorf("the call is for program %d version %d", n, v)
			}
			see("server", args, res)
			return next()
		},
	}}, svc), nil)
	defer conn.Close()
	c := rpc.NewClient(conn, program, &rpc.ClientConfig{Interceptors: []rpc.ClientInterceptor{
		func(ctx context.Context, call *rpc.Invocation, next func(context.Context) error) error {
			see("client", call.Args, call.Results)
			return next(ctx)
		},
	}})
	err := errors.Join(c.Call(context.Background(), 1, nil, new(oncrpc.Uint64), nil), c.Call(context.Background(), 2, new(store.ReadArgs), nil, nil))
	if err != nil {
		t.Error(err)
	}
	for i, want := range []string{"*oncrpc.Void *oncrpc.Uint64", "*store.ReadArgs *oncrpc.Void"} {
		if len(seen) != 4 || seen[2*i] != "client "+want || seen[2*i+1] != "server "+want {
			t.Errorf("call %d: want %q at both sides, got %q", i, want, seen)
		}
	}
}
