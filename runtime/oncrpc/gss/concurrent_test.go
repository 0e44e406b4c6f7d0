package gss_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	memcarrier "github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

var plainProgram = oncrpc.Program{Number: testProgram, Version: testVersion}

// service returns a service whose procedure 1 runs f, and procedure 2 nothing.
func serviceOf(f func(*rpc.Request) error) *rpc.Service {
	svc := rpc.NewService(plainProgram)
	rpc.Handle(svc, 1, func(r *rpc.Request, _, _ *oncrpc.Void) error { return f(r) })
	rpc.Handle(svc, 2, func(_ *rpc.Request, args, res *oncrpc.Uint32) error { *res = *args; return nil })
	return svc
}

// Many calls at once keep to the window of the server, however small: none of them is dropped. They
// share one context.
func TestConcurrentCallsKeepToTheWindow(t *testing.T) {
	for _, service := range services {
		realm := gsstest.NewRealm(2)
		h := gss.NewHandler(rpc.NewHandler(nil, serviceOf(nil)), realm.Acceptor(), &gss.HandlerConfig{Window: 5})
		c := secure(t, overTCP(t, h, nil), realm.Initiator("alice", "s"), service)
		client := rpc.NewClient(c, plainProgram, nil)
		var wg sync.WaitGroup
		for g := range uint32(20) {
			wg.Go(func() {
				for i := range uint32(50) {
					args, res := oncrpc.Uint32(g<<16|i), oncrpc.Uint32(0)
					if err := client.Call(soon(t), 2, &args, &res, nil); err != nil || res != args {
						t.Errorf("%x: %x, %v", args, res, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if s := h.Stats(); s.Replays != 0 || s.Contexts != 1 {
			t.Errorf("%v: %+v", service, s)
		}
	}
}

// A call that the server takes long to answer holds no other call for long, even if many more are
// made than the window has.
func TestSlowCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm := gsstest.NewRealm(2)
		h := gss.NewHandler(rpc.NewHandler(nil, serviceOf(func(*rpc.Request) error { time.Sleep(time.Hour); return nil })), realm.Acceptor(), &gss.HandlerConfig{Window: 4})
		conn := memcarrier.New(h, nil)
		defer conn.Close()
		c, err := gss.NewCarrier(conn, realm.Initiator("alice", "s"), nil)
		if err != nil {
			t.Fatal(err)
		}
		client := rpc.NewClient(c, plainProgram, nil)
		slow := make(chan error)
		go func() { slow <- client.Call(context.Background(), 1, nil, nil, nil) }()
		synctest.Wait()
		start := time.Now()
		for i := range 100 {
			var args, res oncrpc.Uint32
			if err := client.Call(context.Background(), 2, &args, &res, nil); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("100 calls beside a slow one took %v", took)
		}
		if err := <-slow; err != nil {
			t.Errorf("the slow call: %v", err)
		}
		if s := h.Stats(); s.Replays != 0 {
			t.Errorf("%+v", s)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// When the sequence numbers are used up, a new context takes over (RFC 2203 §5.3.1, §5.3.3.3).
// Close destroys all of them (§5.4).
func TestLastSequenceNumber(t *testing.T) {
	realm := gsstest.NewRealm(2)
	h := gss.NewHandler(rpc.NewHandler(nil, serviceOf(nil)), realm.Acceptor(), nil)
	c := secure(t, overTCP(t, h, nil), realm.Initiator("alice", "s"), gss.Integrity)
	client := rpc.NewClient(c, plainProgram, nil)
	for i := range 10 {
		var args, res oncrpc.Uint32
		if err := client.Call(soon(t), 2, &args, &res, nil); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		if i%3 == 0 {
			c.SetNext(gss.MaxSeq - 3)
		}
	}
	if s := h.Stats(); s.Contexts != 4 || s.Replays != 0 || realm.Live() != 8 {
		t.Errorf("%+v, %d contexts", s, realm.Live())
	}
	if err := c.Close(soon(t)); err != nil {
		t.Error(err)
	}
	if s := h.Stats(); s.Contexts != 0 || realm.Live() != 0 {
		t.Errorf("after Close: %+v, %d contexts", s, realm.Live())
	}
}

// slowInitiator waits until it is released or its context is done.
type slowInitiator struct {
	gss.Initiator
	began   atomic.Int32
	release chan error
}

func (s *slowInitiator) InitSecContext(ctx context.Context, c gss.Context, token []byte) (gss.Step, error) {
	if c == nil {
		s.began.Add(1)
		select {
		case err := <-s.release:
			if err != nil {
				return gss.Step{}, err
			}
		case <-ctx.Done():
			return gss.Step{}, ctx.Err()
		}
	}
	return s.Initiator.InitSecContext(ctx, c, token)
}

// Calls that wait for a context share its maker's failure. If only the maker is cancelled, another
// waiting call makes the context.
func TestContextIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm := gsstest.NewRealm(2)
		h := gss.NewHandler(rpc.NewHandler(nil, serviceOf(nil)), realm.Acceptor(), nil)
		conn := memcarrier.New(h, nil)
		defer conn.Close()
		mech := &slowInitiator{Initiator: realm.Initiator("alice", "s"), release: make(chan error)}
		c, err := gss.NewCarrier(conn, mech, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := rpc.NewClient(c, plainProgram, nil)
		results := make(chan error, 3)
		call := func(ctx context.Context) {
			var args, res oncrpc.Uint32
			results <- client.Call(ctx, 2, &args, &res, nil)
		}
		for range 3 {
			go call(context.Background())
		}
		synctest.Wait()
		mech.release <- errors.New("no ticket")
		for range 3 {
			var failed *rpc.Error
			if err := <-results; !errors.As(err, &failed) || failed.MayHaveRun || !strings.Contains(err.Error(), "no ticket") {
				t.Errorf("%v", err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		go call(ctx)
		synctest.Wait()
		waiting, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		go call(waiting)
		go call(context.Background())
		time.Sleep(2 * time.Second)
		if err := <-results; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that waits: %v", err)
		}
		cancel()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("the maker: %v", err)
		}
		synctest.Wait()
		mech.release <- nil
		if err := <-results; err != nil {
			t.Errorf("the call that made the context: %v", err)
		}
		if n := mech.began.Load(); n != 3 {
			t.Errorf("%d contexts were begun, want 3", n)
		}
		if err := c.Close(context.Background()); err != nil || realm.Live() != 0 {
			t.Errorf("%v, %d contexts are left", err, realm.Live())
		}
	})
}

// A call whose time ends while it makes the context leaves that to those that wait, and to the
// calls after them.
func TestMakerRunsOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm := gsstest.NewRealm(2)
		conn := memcarrier.New(gss.NewHandler(rpc.NewHandler(nil, serviceOf(nil)), realm.Acceptor(), nil), nil)
		defer conn.Close()
		mech := &slowInitiator{Initiator: realm.Initiator("alice", "s"), release: make(chan error)}
		c, err := gss.NewCarrier(conn, mech, nil)
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan error, 2)
		call := func(ctx context.Context) {
			var args, res oncrpc.Uint32
			results <- rpc.NewClient(c, plainProgram, nil).Call(ctx, 2, &args, &res, nil)
		}
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		go call(ctx)
		synctest.Wait()
		go call(context.Background())
		if err := <-results; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the maker: %v", err)
		}
		synctest.Wait()
		if n := mech.began.Load(); n != 2 || len(results) != 0 {
			t.Fatalf("%d contexts were begun, and %d calls have ended: %v", n, len(results), <-results)
		}
		mech.release <- nil
		if err := <-results; err != nil {
			t.Errorf("the call that waited: %v", err)
		}
		call(context.Background())
		if err := <-results; err != nil || mech.began.Load() != 2 {
			t.Errorf("the next call: %v, and %d contexts were begun", err, mech.began.Load())
		}
		if err := c.Close(context.Background()); err != nil || realm.Live() != 0 {
			t.Errorf("%v, %d contexts are left", err, realm.Live())
		}
	})
}
