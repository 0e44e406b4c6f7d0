package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// names is a store whose Reads return the name that they ask for. Reads of "never" wait for the end
// of their context.
func names() *rpc.Service {
	svc := rpc.NewService(storeV1)
	rpc.Handle(svc, store.ProcRead, func(r *rpc.Request, args *store.ReadArgs, res *store.ReadRes) error {
		if args.Name.String() == "never" {
			<-r.Context().Done()
			return r.Context().Err()
		}
		res.OK = store.ReadOK{EOF: true, Data: append([]byte(nil), args.Name...)}
		return nil
	})
	return svc
}

// ended waits for the end of a call that was submitted.
func ended(t *testing.T, submit func(done func(error)) error) error {
	t.Helper()
	over := make(chan error, 2)
	if err := submit(func(err error) { over <- err }); err != nil {
		return err
	}
	select {
	case err := <-over:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("a call that was submitted is not over")
		return nil
	}
}

// Calls that are submitted do what others do, over each carrier: many at a time, with events, with
// interceptors, with refusals, and with the ends of their contexts and times.
func TestSubmittedCallsDoAsOthers(t *testing.T) {
	overEach(t, func(t *testing.T, serve func(h oncrpc.Handler, noCancel bool) *server) {
		conn := serve(rpc.NewHandler(nil, names()), false).dial()
		var events, failures, intercepted atomic.Int32
		count := func(e *rpc.Called) {
			events.Add(1)
			if e.Err != nil {
				failures.Add(1)
			}
		}
		around := func(ctx context.Context, call *rpc.Invocation, next func(context.Context) error) error {
			intercepted.Add(1)
			return next(ctx)
		}
		for name, c := range map[string]*rpc.Client{
			"plain":      rpc.NewClient(conn, storeV1, &rpc.ClientConfig{Events: count}),
			"intercepts": rpc.NewClient(conn, storeV1, &rpc.ClientConfig{Events: count, Interceptors: []rpc.ClientInterceptor{around}}),
		} {
			events.Store(0)
			failures.Store(0)
			read := func(ctx context.Context, name string, opt *rpc.Options) (res store.ReadRes, err error) {
				args := &store.ReadArgs{Name: store.Name(name)}
				err = ended(t, func(done func(error)) error {
					return c.Submit(ctx, store.ProcRead, args, &res, opt, done)
				})
				return res, err
			}
			var wg sync.WaitGroup
			const calls = 100
			for k := range calls {
				wg.Add(1)
				args, res := &store.ReadArgs{Name: store.Name(fmt.Sprint(k))}, new(store.ReadRes)
				if err := c.SubmitAtMost(t.Context(), store.ProcRead, args, res, nil, 100, func(err error) {
					if err != nil || string(res.OK.Data) != fmt.Sprint(k) {
						t.Errorf("%s: call %d got %q, %v", name, k, res.OK.Data, err)
					}
					wg.Done()
				}); err != nil {
					t.Fatal(err)
				}
			}
			wg.Wait()
			if n := events.Load(); n != calls || failures.Load() != 0 {
				t.Errorf("%s: %d events and %d failures of %d calls", name, n, failures.Load(), calls)
			}
			_, err := read(t.Context(), "never", &rpc.Options{Deadline: time.Now().Add(20 * time.Millisecond)})
			var failed *rpc.Error
			if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &failed) || failed.Procedure != store.ProcRead {
				t.Errorf("%s: at its deadline a call got %v", name, err)
			}
			// A deadline that stays for the next call would be over.
			time.Sleep(20 * time.Millisecond)
			if res, err := read(t.Context(), "later", nil); err != nil || string(res.OK.Data) != "later" {
				t.Errorf("%s: after that, %q, %v", name, res.OK.Data, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			if _, err := read(ctx, "never", nil); !errors.Is(err, context.Canceled) || !errors.As(err, &failed) {
				t.Errorf("%s: when its context was done a call got %v", name, err)
			}
			err = ended(t, func(done func(error)) error { return c.Submit(t.Context(), 99, nil, nil, nil, done) })
			if !errors.Is(err, oncrpc.ErrProcUnavail) {
				t.Errorf("%s: unknown procedure: %v", name, err)
			}
			err = c.Submit(t.Context(), store.ProcRead, (*store.ReadArgs)(nil), nil, nil, func(error) { t.Error("done of a call that did not begin") })
			if !errors.Is(err, rpc.ErrNilValue) {
				t.Errorf("%s: nil arguments: %v", name, err)
			}
			if err = c.Submit(t.Context(), store.ProcNull, nil, nil, nil, nil); !errors.Is(err, oncrpc.ErrNoDone) || !errors.As(err, &failed) {
				t.Errorf("%s: without a done function: %v", name, err)
			}
			err = c.Submit(ctx, store.ProcNull, nil, nil, nil, func(error) { t.Error("done of a call whose context was done") })
			if !errors.Is(err, context.Canceled) || !errors.As(err, &failed) {
				t.Errorf("%s: with a context that is done: %v", name, err)
			}
		}
		if n := intercepted.Load(); n != 100+4 {
			t.Errorf("the interceptor saw %d calls", n)
		}
	})
}
