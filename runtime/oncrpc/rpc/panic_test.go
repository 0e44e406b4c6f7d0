package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

var faultyV1 = oncrpc.Program{Number: 400010, Version: 1, Name: "FAULTY1", Procedures: map[uint32]string{1: "FAIL", 2: "WAIT"}}

// badArgs and badResults are values whose code panics.
type badArgs struct{ oncrpc.Uint32 }

func (*badArgs) DecodeXDR(*xdr.Decoder) error { panic("out of coffee") }

type badResults struct{ oncrpc.Uint32 }

func (*badResults) EncodeXDR(*xdr.Encoder) error { panic("out of coffee") }

// A procedure that panics or ends its goroutine, and so all other code of a service that package
// rpc calls before the answer, costs its call and nothing else: the caller gets SYSTEM_ERR (RFC
// 5531 §9), the connection and the calls in progress on it go on, Failed and Events have the error,
// and it is logged with the procedure, the peer and the stack.
func TestPanicCostsItsCallAlone(t *testing.T) {
	type (
		void  = oncrpc.Void
		value = oncrpc.Uint32
	)
	panics := func() error { panic("out of coffee") }
	fine := func(*rpc.Request, *value, *value) error { return nil }
	for name, serve := range map[string]func(*rpc.Service, *rpc.HandlerConfig){
		"procedure": func(s *rpc.Service, _ *rpc.HandlerConfig) {
			rpc.Handle(s, 1, func(*rpc.Request, *value, *value) error { return panics() })
		},
		"error that is a refusal": func(s *rpc.Service, _ *rpc.HandlerConfig) {
			rpc.Handle(s, 1, func(*rpc.Request, *value, *value) error { panic(oncrpc.ErrAuth) })
		},
		"error that is no answer": func(s *rpc.Service, _ *rpc.HandlerConfig) {
			rpc.Handle(s, 1, func(*rpc.Request, *value, *value) error { panic(rpc.ErrDrop) })
		},
		"end of the goroutine": func(s *rpc.Service, _ *rpc.HandlerConfig) {
			rpc.Handle(s, 1, func(*rpc.Request, *value, *value) error { runtime.Goexit(); return nil })
		},
		"async": func(s *rpc.Service, _ *rpc.HandlerConfig) {
			rpc.HandleAsync(s, 1, func(*rpc.Request, *value, *value, func(error)) { _ = panics() })
		},
		"async, end of the goroutine": func(s *rpc.Service, _ *rpc.HandlerConfig) {
			rpc.HandleAsync(s, 1, func(*rpc.Request, *value, *value, func(error)) { runtime.Goexit() })
		},
		"interceptor": func(s *rpc.Service, cfg *rpc.HandlerConfig) {
			rpc.Handle(s, 1, fine)
			cfg.Interceptors = append(cfg.Interceptors, func(r *rpc.Request, _, _ xdr.Value, next func() error) error {
				if r.Procedure() == 1 {
					_ = panics()
				}
				return next()
			})
		},
		"async, interceptor": func(s *rpc.Service, cfg *rpc.HandlerConfig) {
			rpc.HandleAsync(s, 1, func(_ *rpc.Request, _, _ *value, answer func(error)) { answer(nil) })
			cfg.Interceptors = append(cfg.Interceptors, func(r *rpc.Request, _, _ xdr.Value, next func() error) error {
				if r.Procedure() == 1 {
					_ = panics()
				}
				return next()
			})
		},
		"Allow": func(s *rpc.Service, _ *rpc.HandlerConfig) {
			rpc.Handle(s, 1, fine)
			s.Allow = func(r *rpc.Request) error {
				if r.Procedure() == 1 {
					_ = panics()
				}
				return nil
			}
		},
		"arguments": func(s *rpc.Service, _ *rpc.HandlerConfig) {
			rpc.Handle(s, 1, func(*rpc.Request, *badArgs, *value) error { return nil })
		},
		"results": func(s *rpc.Service, _ *rpc.HandlerConfig) {
			rpc.Handle(s, 1, func(*rpc.Request, *value, *badResults) error { return nil })
		},
	} {
		for _, carrier := range []string{"tcp", "rdma"} {
			t.Run(name+" over "+carrier, func(t *testing.T) {
				var log bytes.Buffer
				logger := slog.New(slog.NewTextHandler(&log, nil))
				var mu sync.Mutex
				var failed, ended []error
				cfg := &rpc.HandlerConfig{
					Failed: func(_ *rpc.Request, err error) { mu.Lock(); defer mu.Unlock(); failed = append(failed, err) },
					Events: func(s *rpc.Served) {
						if s.Procedure() == 1 {
							mu.Lock()
							defer mu.Unlock()
							ended = append(ended, s.Err)
						}
					},
				}
				svc := rpc.NewService(faultyV1)
				waits := make(chan bool)
				gate, release := context.WithCancel(t.Context())
				rpc.Handle(svc, 2, func(*rpc.Request, *void, *void) error { waits <- true; <-gate.Done(); return nil })
				serve(svc, cfg)
				h := rpc.NewHandler(cfg, svc)
				var conn oncrpc.Carrier
				if carrier == "tcp" {
					c := mem.New(h, &tcp.Config{Logger: logger})
					t.Cleanup(func() { _ = c.Close() })
					conn = c
				} else {
					w := newWorld(t, "mem")
					w.serve(h, &rdmaio.Config{Logger: logger})
					conn = w.dial(nil)
				}
				c := rpc.NewClient(conn, faultyV1, nil)
				// for credits
				if err := c.Call(context.Background(), 0, nil, nil, nil); err != nil {
					t.Fatal(err)
				}
				innocent := make(chan error)
				go func() { innocent <- c.Call(context.Background(), 2, nil, nil, nil) }()
				<-waits
				const n = 3
				for range n {
					arg := value(1)
					err := c.Call(context.Background(), 1, &arg, new(value), nil)
					var ce *rpc.Error
					if !errors.Is(err, oncrpc.ErrSystem) || !errors.As(err, &ce) || !ce.MayHaveRun {
						t.Errorf("the caller got %v", err)
					}
				}
				release()
				if err := <-innocent; err != nil {
					t.Errorf("a call in progress failed: %v", err)
				}
				for _, all := range [][]error{failed, ended} {
					if len(all) != n || !errors.Is(all[0], oncrpc.ErrPanic) {
						t.Errorf("%d errors: %v", len(all), all)
					}
				}
				got := log.String()
				for _, want := range []string{"level=WARN", "FAULTY1 FAIL (400010 v1 proc 1)", "peer=", "panic_test.go", "oncrpc: a handler panicked: "} {
					if !strings.Contains(got, want) {
						t.Errorf("the log has no %q:\n%s", want, got)
					}
				}
			})
		}
	}
}

// The memory of a call whose procedure panicked is not used for a later call: a goroutine of the
// procedure may still write to it.
func TestPanicMemory(t *testing.T) {
	var kept *oncrpc.Uint32
	var request *rpc.Request
	svc := rpc.NewService(faultyV1)
	rpc.Handle(svc, 1, func(r *rpc.Request, _ *oncrpc.Void, res *oncrpc.Uint32) error {
		if kept == nil {
			kept, request = res, r
			panic("out of coffee")
		}
		if res == kept || r == request {
			t.Error("the memory is used again")
		}
		return nil
	})
	conn := mem.New(rpc.NewHandler(nil, svc), &tcp.Config{Logger: slog.New(slog.DiscardHandler)})
	defer conn.Close()
	c := rpc.NewClient(conn, faultyV1, nil)
	for i := range 20 {
		if err := c.Call(context.Background(), 1, nil, new(oncrpc.Uint32), nil); (err == nil) != (i > 0) {
			t.Error(err)
		}
	}
}

// A procedure of HandleAsync that panics when it has answered is a fault of the handler: the caller
// has its answer, and the connection is closed.
func TestPanicAnswered(t *testing.T) {
	svc := rpc.NewService(faultyV1)
	rpc.HandleAsync(svc, 1, func(_ *rpc.Request, _, _ *oncrpc.Void, answer func(error)) {
		answer(nil)
		panic("out of coffee")
	})
	conn := mem.New(rpc.NewHandler(nil, svc), &tcp.Config{Logger: slog.New(slog.DiscardHandler)})
	defer conn.Close()
	err := rpc.NewClient(conn, faultyV1, nil).Call(context.Background(), 1, nil, nil, nil)
	if err != nil && !errors.Is(err, tcp.ErrPeerClosed) { // the answer may not be written any more
		t.Error(err)
	}
	<-conn.Done()
}
