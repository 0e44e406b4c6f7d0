package rpc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Only the procedure 0 of NewService is the null procedure (RFC 5531 §12.1). One that was added is
// like the others, with arguments or without: Allow is asked, and its replies are kept.
func TestAddedProcedureZeroIsOrdinary(t *testing.T) {
	for _, added := range []string{"none", "void", "with arguments"} {
		t.Run(added, func(t *testing.T) {
			w := newWorld(t, "mem")
			svc, null, ran := rpc.NewService(storeV1), added == "none", 0
			call := func(c *rpc.Client) error { return c.Call(context.Background(), 0, nil, nil, nil) }
			switch added {
			case "void":
				rpc.Handle(svc, 0, func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error { ran++; return nil })
			case "with arguments":
				rpc.Handle(svc, 0, func(_ *rpc.Request, _ *store.ReadArgs, _ *store.ReadRes) error { ran++; return nil })
				call = func(c *rpc.Client) error {
					return c.Call(context.Background(), 0, new(store.ReadArgs), new(store.ReadRes), nil)
				}
			}
			h := rpc.NewHandler(nil, svc)
			cache := replycache.New(h, nil)
			if h.IsNull(store.Program, 1) != null || cache.IsNull(store.Program, 1) != null || h.Idempotent(store.Program, 1, 0) != null {
				t.Errorf("IsNull is %t, of the cache %t, Idempotent %t", h.IsNull(store.Program, 1), cache.IsNull(store.Program, 1), h.Idempotent(store.Program, 1, 0))
			}
			if !h.IsNull(store.Program, 9) || !h.IsNull(7, 1) {
				t.Error("a procedure 0 that does not exist is not null")
			}
			svc.Allow = func(*rpc.Request) error { return oncrpc.Refused(oncrpc.AuthStatTooWeak) }
			w.serve(h, nil)
			c := rpc.NewClient(w.dial(nil), storeV1, nil)
			if err := call(c); errors.Is(err, oncrpc.ErrAuth) == null || ran != 0 {
				t.Errorf("executed %d times: %v", ran, err)
			}
			svc.Allow = nil
			if err := call(c); err != nil || (ran == 1) == null {
				t.Errorf("allowed: executed %d times: %v", ran, err)
			}
		})
	}
}

// A second procedure 0 is refused like a second procedure of another number, and an idempotent one
// is so declared.
func TestProcedureZeroIsAddedOnce(t *testing.T) {
	svc := rpc.NewService(storeV1)
	svc.Idempotent(0)
	void := func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error { return nil }
	rpc.Handle(svc, 0, void)
	if h := rpc.NewHandler(nil, svc); !h.Idempotent(store.Program, 1, 0) || h.IsNull(store.Program, 1) {
		t.Error("a declared procedure 0 is not idempotent, or it is null")
	}
	defer func() {
		if recover() == nil {
			t.Error("a second procedure 0 was added")
		}
	}()
	rpc.Handle(svc, 0, void)
}

// Procedure 0 of a Handler that does not know the null procedure is not exempt.
func TestUnknownProcedureZeroIsNotNull(t *testing.T) {
	h := oncrpc.HandlerFunc(func(*oncrpc.Request) {})
	if oncrpc.IsNull(h, store.Program, 1) {
		t.Error("procedure 0 of a HandlerFunc is null")
	}
	next := rpc.NewHandler(&rpc.HandlerConfig{Next: h}, newService())
	if oncrpc.IsNull(next, 7, 1) || !oncrpc.IsNull(next, store.Program, 1) {
		t.Error("a Handler does not ask Next")
	}
}

// Without a gss.Handler, RPCSEC_GSS is denied for every procedure, number 0 included: a request for
// a context is a call of procedure 0 (RFC 2203 §5.2.3.2). Other flavours may call the null
// procedure with a credential that is well formed.
func TestFlavoursAtEachProcedure(t *testing.T) {
	w := newWorld(t, "mem")
	svc := rpc.NewService(storeV1)
	rpc.Handle(svc, store.ProcRead, func(*rpc.Request, *store.ReadArgs, *store.ReadRes) error { return nil })
	w.serve(rpc.NewHandler(nil, svc), nil)
	c := rpc.NewClient(w.dial(nil), storeV1, nil)
	const ok = oncrpc.AuthStat(0)
	for _, tt := range []struct {
		flavor     oncrpc.Flavor
		body       string
		null, read oncrpc.AuthStat
	}{
		{oncrpc.AuthNone, "", ok, ok},
		{oncrpc.AuthNone, "zzzz", oncrpc.AuthStatBadCred, oncrpc.AuthStatBadCred},
		{oncrpc.AuthSys, "zzzz", oncrpc.AuthStatBadCred, oncrpc.AuthStatBadCred},
		{2, "", ok, oncrpc.AuthStatTooWeak},
		{3, "zzzz", ok, oncrpc.AuthStatTooWeak},
		{oncrpc.RPCSecGSS, "", oncrpc.AuthStatRejectedCred, oncrpc.AuthStatRejectedCred},
		{oncrpc.RPCSecGSS, "zzzz", oncrpc.AuthStatRejectedCred, oncrpc.AuthStatRejectedCred},
		{42, "", ok, oncrpc.AuthStatTooWeak},
		{390003, "zzzz", ok, oncrpc.AuthStatTooWeak},
	} {
		opts := &rpc.Options{Cred: &oncrpc.OpaqueAuth{Flavor: tt.flavor, Body: []byte(tt.body)}}
		for proc, want := range map[uint32]oncrpc.AuthStat{0: tt.null, store.ProcRead: tt.read} {
			var err error
			if proc == 0 {
				err = c.Call(context.Background(), 0, nil, nil, opts)
			} else {
				err = c.Call(context.Background(), proc, new(store.ReadArgs), new(store.ReadRes), opts)
			}
			var refused *oncrpc.ReplyError
			if got := errors.As(err, &refused); got != (want != ok) || got && refused.Auth != want {
				t.Errorf("flavour %v with %q, procedure %d: %v, want %v", tt.flavor, tt.body, proc, err, want)
			}
		}
	}
}

// Where a gss.Handler requires protection, only the null procedure does without.
func TestRequiredProtectionHoldsForProcedureZero(t *testing.T) {
	w := newWorld(t, "mem")
	svc, plain := rpc.NewService(storeV1), rpc.NewService(oncrpc.Program{Number: store.Program, Version: 3})
	rpc.Handle(svc, 0, func(*rpc.Request, *store.ReadArgs, *store.ReadRes) error { return nil })
	h := gss.NewHandler(rpc.NewHandler(nil, svc, plain), nil, &gss.HandlerConfig{Required: gss.Privacy})
	w.serve(h, nil)
	conn := w.dial(nil)
	err := rpc.NewClient(conn, storeV1, nil).Call(context.Background(), 0, new(store.ReadArgs), new(store.ReadRes), nil)
	if !errors.Is(err, oncrpc.ErrAuth) {
		t.Errorf("procedure 0 with arguments, without protection: %v, want ErrAuth", err)
	}
	if err := rpc.NewClient(conn, oncrpc.Program{Number: store.Program, Version: 3}, nil).Call(context.Background(), 0, nil, nil, nil); err != nil {
		t.Errorf("the null procedure: %v", err)
	}
}
