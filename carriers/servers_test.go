package carriers_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/carriers"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var (
	program  = oncrpc.Program{Number: 400000, Version: 1}
	anyTimes = &rpc.ClientConfig{Idempotent: func(uint32) bool { return true }}
)

// soon returns a context for a test that must not hang.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), leak.Patience())
	t.Cleanup(cancel)
	return ctx
}

// squares returns a handler whose procedure 1 returns squares, and whose procedure 2 runs busy.
func squares(busy func(ctx context.Context)) oncrpc.Handler {
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = *args * *args
		return nil
	})
	rpc.Handle(svc, 2, func(r *rpc.Request, _, _ *oncrpc.Void) error {
		busy(r.Context())
		return nil
	})
	return rpc.NewHandler(nil, svc)
}

// square asks a server for the square of 12.
func square(t testing.TB, c oncrpc.Carrier) error {
	t.Helper()
	args, res := oncrpc.Uint32(12), oncrpc.Uint32(0)
	err := rpc.NewClient(c, program, anyTimes).Call(soon(t), 1, &args, &res, nil)
	if err == nil && res != 144 {
		t.Errorf("the square of 12 is %d", res)
	}
	return err
}

// must fails the test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// every returns a Listener of each carrier, and what connects to the server of each.
func every(t *testing.T) ([]carriers.Listener, []func(addr string) (carriers.Carrier, error)) {
	t.Helper()
	overTCP, err := rdmatcp.Open(nil)
	must(t, err)
	overIWARP, err := iwarp.Open(nil)
	must(t, err)
	t.Cleanup(func() {
		if err := errors.Join(overTCP.Close(), overIWARP.Close()); err != nil {
			t.Error(err)
		}
	})
	file, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	must(t, err)
	const here = "127.0.0.1:0"
	overTCPRecords := func(addr string) (carriers.Carrier, error) { return tcp.NewClient(addr, nil) }
	rdma := func(dev verbs.Device) func(string) (carriers.Carrier, error) {
		return func(addr string) (carriers.Carrier, error) { return rdmaio.NewClient(dev, addr, nil) }
	}
	return []carriers.Listener{
			carriers.TCP(here, nil), carriers.UDP(here, nil), carriers.RDMA(overTCP, here, nil), carriers.RDMA(overIWARP, here, nil), carriers.Stream(file, nil),
		}, []func(string) (carriers.Carrier, error){
			overTCPRecords,
			func(addr string) (carriers.Carrier, error) { return udp.Dial(t.Context(), addr, nil) },
			rdma(overTCP), rdma(overIWARP),
			overTCPRecords,
		}
}

// One handler serves every carrier. Shutdown lets the handlers of all answer, and Calls that they
// have are not lost.
func TestShutdownDrainsEveryCarrier(t *testing.T) {
	listeners, dials := every(t)
	began, release := make(chan struct{}, len(listeners)), make(chan struct{})
	var cancelled atomic.Int32
	s, err := carriers.Start(t.Context(), squares(func(ctx context.Context) {
		began <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
			cancelled.Add(1)
		}
	}), listeners...)
	must(t, err)
	defer s.Close()
	var names []string
	calls := make(chan error, len(listeners))
	for i, served := range s.List() {
		names = append(names, served.Carrier)
		c, err := dials[i](served.Addr)
		must(t, err)
		defer c.Close()
		if err := square(t, c); err != nil {
			t.Errorf("over %s: %v", served.Carrier, err)
		}
		go func() { calls <- rpc.NewClient(c, program, nil).Call(soon(t), 2, nil, nil, nil) }()
	}
	if want := []string{"tcp", "udp", "rdma", "rdma", "unix"}; !slices.Equal(names, want) || !strings.HasPrefix(s.String(), "tcp 127.0.0.1:") {
		t.Errorf("%v: found %v, expected %v", s, names, want)
	}
	for range listeners {
		<-began
	}
	hasty, cancel := context.WithCancelCause(soon(t))
	why := errors.New("no patience")
	cancel(why)
	if err := s.Shutdown(hasty); !errors.Is(err, why) || strings.Count(err.Error(), "127.0.0.1:") != 4 {
		t.Errorf("found %v, expected that it names all servers", err)
	}
	<-s.Done()
	if s.Err() != oncrpc.ErrClosed {
		t.Errorf("found %v, expected %v", s.Err(), oncrpc.ErrClosed)
	}
	close(release)
	if err := s.Shutdown(soon(t)); err != nil {
		t.Error(err)
	}
	for range listeners {
		if err := <-calls; err != nil {
			t.Errorf("a Call that a handler had: %v", err)
		}
	}
	if n := cancelled.Load(); n != 0 {
		t.Errorf("%d contexts of handlers were cancelled", n)
	}
}

// Close cancels the contexts of handlers that Shutdown would wait for.
func TestCloseCancelsHandlers(t *testing.T) {
	listeners, dials := every(t)
	began := make(chan struct{}, len(listeners))
	s, err := carriers.Start(t.Context(), squares(func(ctx context.Context) {
		began <- struct{}{}
		<-ctx.Done()
	}), listeners...)
	must(t, err)
	ended := make(chan struct{})
	for i, served := range s.List() {
		c, err := dials[i](served.Addr)
		must(t, err)
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); <-ended }()
		go func() {
			_ = rpc.NewClient(c, program, nil).Call(ctx, 2, nil, nil, nil)
			ended <- struct{}{}
		}()
	}
	for range listeners {
		<-began
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// fake is a server that a test controls.
type fake struct {
	once      sync.Once
	done      chan struct{}
	why       error
	shutdowns atomic.Int32
	closes    atomic.Int32
	failure   error // of Close
}

func newFake() *fake { return &fake{done: make(chan struct{})} }

func (f *fake) end(why error) {
	f.once.Do(func() {
		f.why = why
		close(f.done)
	})
}
func (f *fake) Addr() string          { return "there" }
func (f *fake) Done() <-chan struct{} { return f.done }
func (f *fake) Err() error {
	select {
	case <-f.done:
		return f.why
	default:
		return nil
	}
}

func (f *fake) Shutdown(context.Context) error {
	f.shutdowns.Add(1)
	f.end(oncrpc.ErrClosed)
	return nil
}

func (f *fake) Close() error {
	f.closes.Add(1)
	f.end(oncrpc.ErrClosed)
	return f.failure
}

func (f *fake) listener(name string) carriers.Listener {
	return carriers.Listener{Carrier: name, Addr: "here", Start: func(context.Context, oncrpc.Handler) (carriers.Server, error) { return f, nil }}
}

// If a server fails, the others drain, and the error names it.
func TestTheOthersDrainWhenAServerFails(t *testing.T) {
	broken, other, why := newFake(), newFake(), errors.New("the device is gone")
	result := make(chan error, 1)
	go func() {
		result <- carriers.Serve(t.Context(), squares(nil), other.listener("first"), broken.listener("second"))
	}()
	broken.end(why)
	err := <-result
	failed, ok := errors.AsType[*carriers.ServerError](err)
	if !ok || *failed != (carriers.ServerError{Carrier: "second", Addr: "there", Err: why}) || err.Error() != "carriers: second at there: the device is gone" {
		t.Errorf("found %v, expected the name and the reason", err)
	}
	if other.shutdowns.Load() != 1 || other.closes.Load() != 1 || broken.closes.Load() != 1 {
		t.Errorf("the other server was shut down %d times and closed %d times, the broken one closed %d times",
			other.shutdowns.Load(), other.closes.Load(), broken.closes.Load())
	}
}

// Serve returns nil when its context is done and all handlers have answered, or the errors of the
// servers' Close.
func TestServeEndsWithItsContext(t *testing.T) {
	for _, failure := range []error{nil, errors.New("a region is left")} {
		one, other := newFake(), newFake()
		other.failure = failure
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- carriers.Serve(ctx, squares(nil), one.listener("a"), other.listener("b")) }()
		cancel()
		if err := <-result; !errors.Is(err, failure) || err != nil && err.Error() != "carriers: b at there: a region is left" {
			t.Errorf("found %v, expected %v", err, failure)
		}
		if one.shutdowns.Load() != 1 || one.closes.Load() != 1 {
			t.Error("a server was not drained and closed")
		}
	}
}

// If a server does not start, those before it are closed, and those after it do not start.
func TestStartClosesWhatItHasStarted(t *testing.T) {
	before, after, discarded := newFake(), newFake(), 0
	last := after.listener("last")
	last.Start = func(context.Context, oncrpc.Handler) (carriers.Server, error) {
		t.Error("the last server was started")
		return after, nil
	}
	last.Discard = func() error { discarded++; return nil }
	_, err := carriers.Start(t.Context(), squares(nil), before.listener("first"), carriers.TCP("127.0.0.1:none", nil), last)
	failed, ok := errors.AsType[*carriers.ServerError](err)
	if !ok || failed.Carrier != "tcp" || failed.Addr != "127.0.0.1:none" || before.closes.Load() != 1 || discarded != 1 {
		t.Errorf("%v: the first was closed %d times, the last discarded %d times", err, before.closes.Load(), discarded)
	}
	for want, start := range map[string]func() (*carriers.Servers, error){
		"has no Listener": func() (*carriers.Servers, error) { return carriers.Start(t.Context(), squares(nil)) },
		"has no Handler":  func() (*carriers.Servers, error) { return carriers.Start(t.Context(), nil, before.listener("a")) },
		"has no Start": func() (*carriers.Servers, error) {
			return carriers.Start(t.Context(), squares(nil), carriers.Listener{})
		},
	} {
		if _, err := start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
}
