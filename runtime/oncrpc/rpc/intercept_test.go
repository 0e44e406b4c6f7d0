package rpc_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// echo is a store whose procedures do as their fields say.
type echo struct {
	read  func(r *rpc.Request, res *store.ReadRes) error
	calls int
}

func (e *echo) Write(*rpc.Request, *store.WriteArgs, *store.WriteRes) error { return rpc.Unimplemented }

func (e *echo) Read(r *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
	e.calls++
	if e.read == nil {
		return nil
	}
	return e.read(r, res)
}

// Interceptors of a server run in their order around the procedure, see the arguments before and
// the results after it, and can answer in its place.
func TestServerInterceptors(t *testing.T) {
	var seen []string
	refuse := errors.New("not today")
	named := func(name string) rpc.ServerInterceptor {
		return func(r *rpc.Request, args, res xdr.Value, next func() error) error {
			seen = append(seen, name+" before "+args.(*store.ReadArgs).Name.String())
			err := next()
			seen = append(seen, name+" after")
			if res := res.(*store.ReadRes); err == nil {
				res.OK.Data = append(res.OK.Data, name...)
			}
			return err
		}
	}
	gate := func(r *rpc.Request, args, res xdr.Value, next func() error) error {
		if args.(*store.ReadArgs).Name.String() == "forbidden" {
			return errors.Join(oncrpc.Refused(oncrpc.AuthStatTooWeak), refuse)
		}
		return next()
	}
	w := newWorld(t, "mem")
	e := &echo{}
	w.serve(rpc.NewHandler(&rpc.HandlerConfig{Interceptors: []rpc.ServerInterceptor{named("a"), gate, named("b")}}, storerpc.NewService(e)), nil)
	files := storerpc.NewClient(w.dial(nil), nil)
	res, err := files.Read(context.Background(), &store.ReadArgs{Name: store.Name("x")})
	if err != nil || string(res.OK.Data) != "ba" {
		t.Errorf("%v, %v", res, err)
	}
	if _, err = files.Read(context.Background(), &store.ReadArgs{Name: store.Name("forbidden")}); !errors.Is(err, oncrpc.ErrAuth) {
		t.Errorf("%v, want a refused credential", err)
	}
	want := []string{"a before x", "b before x", "b after", "a after", "a before forbidden", "a after"}
	if !slices.Equal(seen, want) || e.calls != 1 {
		t.Errorf("%q and %d calls, want %q and 1", seen, e.calls, want)
	}
}

// A procedure of HandleAsync is started inside the interceptors, or refused by one of them; what an
// interceptor returns after the start has no effect.
func TestAsyncInterceptors(t *testing.T) {
	w := newWorld(t, "mem")
	svc := rpc.NewService(storeV1)
	rpc.HandleAsync(svc, store.ProcRead, func(_ *rpc.Request, _ *store.ReadArgs, res *store.ReadRes, answer func(error)) {
		res.OK.EOF = true
		go answer(nil)
	})
	w.serve(rpc.NewHandler(&rpc.HandlerConfig{Interceptors: []rpc.ServerInterceptor{
		func(_ *rpc.Request, args, _ xdr.Value, next func() error) error {
			if args.(*store.ReadArgs).Count == 0 {
				return rpc.Unimplemented
			}
			return errors.Join(next(), errors.New("too late"))
		},
	}}, svc), nil)
	files := storerpc.NewClient(w.dial(nil), nil)
	if res, err := files.Read(context.Background(), &store.ReadArgs{Count: 1}); err != nil || !res.OK.EOF {
		t.Errorf("%v, %v", res, err)
	}
	var refused *oncrpc.ReplyError
	if _, err := files.Read(context.Background(), &store.ReadArgs{}); !errors.As(err, &refused) || refused.Accept != oncrpc.ProcUnavail {
		t.Errorf("%v, want PROC_UNAVAIL", err)
	}
}

// Interceptors of a client see the call, can change and repeat it, and return errors of their own.
func TestClientInterceptors(t *testing.T) {
	w := newWorld(t, "mem")
	fail := true
	e := &echo{read: func(r *rpc.Request, res *store.ReadRes) error {
		if fail {
			fail = false
			return errors.New("once")
		}
		who, err := r.AuthSys()
		if err == nil {
			res.OK.Data = who.MachineName
		}
		return err
	}}
	w.serve(rpc.NewHandler(nil, storerpc.NewService(e)), nil)
	own := errors.New("the client's own error")
	var seen []string
	cred, err := (&oncrpc.AuthSysParms{MachineName: []byte("garden")}).Auth()
	if err != nil {
		t.Fatal(err)
	}
	files := storerpc.NewClient(w.dial(nil), &rpc.ClientConfig{Interceptors: []rpc.ClientInterceptor{
		func(ctx context.Context, call *rpc.Invocation, next func(context.Context) error) error {
			seen = append(seen, call.Program.Describe(call.Procedure))
			if call.Args.(*store.ReadArgs).Count == 99 {
				return own
			}
			if err := next(ctx); err == nil {
				return nil
			}
			return next(ctx) // the second time it succeeds
		},
		func(ctx context.Context, call *rpc.Invocation, next func(context.Context) error) error {
			call.Options = &rpc.Options{Cred: &cred}
			return next(ctx)
		},
	}})
	res, err := files.Read(context.Background(), &store.ReadArgs{})
	if err != nil || string(res.OK.Data) != "garden" || e.calls != 2 {
		t.Errorf("%v, %v, %d calls", res, err, e.calls)
	}
	if _, err := files.Read(context.Background(), &store.ReadArgs{Count: 99}); err != own {
		t.Errorf("%v, want the interceptor's error as it is", err)
	}
	if !strings.Contains(seen[0], "STORE_V1 STORE_READ") {
		t.Errorf("%q", seen)
	}
}

// The events of both sides have the procedure, the sizes, the status and the reason.
func TestEventsTellOfBothSides(t *testing.T) {
	served, called := make(chan rpc.Served, 1), make(chan rpc.Called, 1)
	var err error
	w := newWorld(t, "mem")
	w.serve(rpc.NewHandler(&rpc.HandlerConfig{Events: func(s *rpc.Served) {
		if !strings.Contains(s.Describe(), "STORE_READ") || s.Time <= 0 {
			t.Errorf("served: %s in %v", s.Describe(), s.Time)
		}
		served <- *s
	}}, storerpc.NewService(&echo{read: func(_ *rpc.Request, res *store.ReadRes) error {
		res.OK.Data = make([]byte, 8)
		return err
	}})), nil)
	conn := w.dial(nil)
	cfg := &rpc.ClientConfig{Events: func(c *rpc.Called) { called <- *c }}
	files := storerpc.NewClient(conn, cfg)
	failed := errors.New("disk full")
	for _, tt := range []struct {
		err    error
		status oncrpc.AcceptStat
		reply  int
	}{{nil, oncrpc.Success, 24 + 16 + 4}, {failed, oncrpc.SystemErr, 24}} {
		err = tt.err
		_, got := files.Read(context.Background(), &store.ReadArgs{Name: store.Name("abcd")})
		s, c := <-served, <-called
		if s.Err != tt.err || (s.Status != nil) != (tt.err != nil) || s.Status != nil && s.Status.Accept != tt.status {
			t.Errorf("served: %+v", s)
		}
		if (got != nil) != (c.Err != nil) || c.Procedure != store.ProcRead || c.Program.Number != store.Program || c.Time <= 0 {
			t.Errorf("called: %+v, %v", c, got)
		}
		if size := 40 + 20; c.ArgBytes != size || s.ArgBytes != size || c.ResultBytes != tt.reply || s.ResultBytes != tt.reply {
			t.Errorf("%v: sizes %d, %d and %d, %d, want %d and %d", tt.err, c.ArgBytes, s.ArgBytes, c.ResultBytes, s.ResultBytes, size, tt.reply)
		}
	}
	// Arguments of another type do not decode: the event has the reason.
	var res store.ReadRes
	number := oncrpc.Uint32(7)
	if err := rpc.NewClient(conn, storeV1, cfg).Call(context.Background(), store.ProcRead, &number, &res, nil); err == nil {
		t.Error("no error")
	}
	s := <-served
	var xe *xdr.Error
	if !errors.As(s.Err, &xe) || s.Status == nil || s.Status.Accept != oncrpc.GarbageArgs {
		t.Errorf("served: %+v", s)
	}
	<-called
}

// A call that a procedure drops is reported, too.
func TestDroppedEvent(t *testing.T) {
	served := make(chan error, 1)
	w := newWorld(t, "mem")
	w.serve(rpc.NewHandler(&rpc.HandlerConfig{Events: func(s *rpc.Served) { served <- s.Err }},
		storerpc.NewService(&echo{read: func(*rpc.Request, *store.ReadRes) error { return rpc.ErrDrop }})), nil)
	ctx, cancel := context.WithCancel(context.Background())
	conn := w.dial(nil)
	done := make(chan error, 1)
	go func() {
		_, err := storerpc.NewClient(conn, nil).Read(ctx, &store.ReadArgs{})
		done <- err
	}()
	if err := <-served; err != rpc.ErrDrop {
		t.Error(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// HandlerConfig.Timeout ends the context of a call, and of no call if it is zero.
func TestTimeoutEndsTheContext(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Millisecond} {
		w := newWorld(t, "mem")
		w.serve(rpc.NewHandler(&rpc.HandlerConfig{Timeout: limit}, storerpc.NewService(&echo{read: func(r *rpc.Request, res *store.ReadRes) error {
			_, res.OK.EOF = r.Context().Deadline()
			if res.OK.EOF {
				<-r.Context().Done()
			}
			return nil
		}})), nil)
		res, err := storerpc.NewClient(w.dial(nil), nil).Read(context.Background(), &store.ReadArgs{})
		if err != nil || res.OK.EOF != (limit > 0) {
			t.Errorf("limit %v: %v, %v", limit, res, err)
		}
	}
}
