package tcp_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// pipeListener is a net.Listener whose connections are pipes, for testing/synctest.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error { l.once.Do(func() { close(l.closed) }); return nil }

func (l *pipeListener) Addr() net.Addr { c, _ := net.Pipe(); return c.LocalAddr() }

// dial returns the client's end of a connection that was accepted.
func (l *pipeListener) dial() net.Conn {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return ours
}

// connect is a ClientConfig.Dial.
func (l *pipeListener) connect(_ context.Context, _ string, cfg *tcp.Config) (*tcp.Conn, error) {
	return tcp.NewConn(l.dial(), cfg), nil
}

// servePipes starts a server for the connections of a pipeListener.
func servePipes(t *testing.T, h oncrpc.Handler, cfg *tcp.Config) (*tcp.Server, *pipeListener) {
	t.Helper()
	ln := newPipeListener()
	s, err := tcp.Serve(ln, h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, ln
}

// Handlers that wait use MaxHandlers places over all connections, and one for each connection.
// Further Requests wait without a goroutine, and are served later.
func TestMaxHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conns, calls, handlers = 4, 24, 3
		release := make(chan struct{})
		var running, served atomic.Int64
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			running.Add(1)
			<-release
			running.Add(-1)
			served.Add(1)
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), &tcp.Config{MaxHandlers: handlers, MaxReply: 4096})
		var callers sync.WaitGroup
		all := make([]*tcp.Conn, conns)
		for i := range all {
			all[i] = tcp.NewConn(ln.dial(), nil)
			for range calls {
				callers.Go(func() {
					if _, err := all[i].Call(context.Background(), callOf(all[i].XID(), 0)); err != nil {
						t.Error(err)
					}
				})
			}
		}
		synctest.Wait()
		if n := running.Load(); n != handlers+conns {
			t.Errorf("%d handlers run, want %d and one for each of %d connections", n, handlers, conns)
		}
		waiting := 0
		for _, c := range s.Conns() {
			st := c.Stats()
			if waiting += st.WaitingRequests; st.Requests != calls {
				t.Errorf("Stats count %d Requests of a connection, want %d", st.Requests, calls)
			}
		}
		if want := conns*calls - handlers - conns; waiting != want {
			t.Errorf("Stats count %d Requests that wait, want %d", waiting, want)
		}
		close(release)
		callers.Wait()
		if n := served.Load(); n != conns*calls {
			t.Errorf("%d Calls were served, want %d", n, conns*calls)
		}
		for _, c := range all {
			_ = c.Close()
		}
		_ = s.Close()
	})
}

// Calls of one client that wait for it hold all places, and no other client waits. When that client
// goes, those that have no place never reach the handler, and the places are free.
func TestHandlersOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var greedy, honest atomic.Int64
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			if xidOf(r) >= 100 {
				greedy.Add(1)
				<-r.Context().Done()
				time.Sleep(time.Second)
				r.Drop(nil)
				return
			}
			honest.Add(1)
			time.Sleep(time.Second)
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), &tcp.Config{MaxHandlers: 2, MaxReply: 4096})
		first := tcp.NewConn(ln.dial(), nil)
		second := tcp.NewConn(ln.dial(), nil)
		var callers sync.WaitGroup
		for xid := range uint32(20) {
			callers.Go(func() { _, _ = first.Call(context.Background(), callOf(100+xid, 0)) })
		}
		synctest.Wait()
		for xid := range uint32(3) {
			if _, err := second.Call(context.Background(), callOf(xid, 0)); err != nil {
				t.Error(err)
			}
		}
		if a, b := greedy.Load(), honest.Load(); a != 3 || b != 3 {
			t.Errorf("%d Calls of the greedy client run and %d of the other, want 3 and 3", a, b)
		}
		_ = first.Close()
		callers.Wait()
		time.Sleep(time.Minute)
		if n := greedy.Load(); n != 3 {
			t.Errorf("%d Calls of the client that has gone reached the handler, want 3", n)
		}
		start := time.Now()
		for xid := range uint32(3) { // at a time: two places, and its own
			callers.Go(func() { _, _ = second.Call(context.Background(), callOf(10+xid, 0)) })
		}
		callers.Wait()
		if d := time.Since(start); d != time.Second {
			t.Errorf("three Calls took %v: places were lost", d)
		}
		_, _ = second.Close(), s.Close()
	})
}

// A server accepts no more connections in a second than AcceptRate, after a burst of as many. The
// others wait.
func TestAcceptRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 10
		s, ln := servePipes(t, newService(), &tcp.Config{AcceptRate: rate, Logger: quiet})
		start := time.Now()
		for i := range 3 * rate {
			c := ln.dial()
			wait := time.Duration(max(0, i+1-rate)) * time.Second / rate
			if d := time.Since(start); d != wait {
				t.Errorf("connection %d was accepted after %v, want %v", i, d, wait)
			}
			_ = c.Close()
		}
		waiting := make(chan error, 1)
		go func() { _, err := ln.Accept(); waiting <- err }() // as a client in the queue
		_ = s.Close()
		if err := <-waiting; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// An honest client has at least 80 % of its calls in the time while others flood the server with
// Calls, lose their connections and connect again. Periods with and without the flood alternate.
// The result does not count on a machine where those without it differ by as much.
func TestFloodLeavesOthersTheirCalls(t *testing.T) {
	if testing.Short() || xdrtest.Race {
		t.Skip("compares speeds")
	}
	const slices, slice = 8, 50 * time.Millisecond
	// The honest Calls take time but hardly any processor time, unlike each flood.
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		if xidOf(r) == flooded {
			<-r.Context().Done()
			r.Drop(nil)
			return
		}
		time.Sleep(2 * time.Millisecond)
		r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
	}), &tcp.Config{MaxHandlers: 8, MaxReply: 4096, MaxRequests: 16, AcceptRate: 200, Logger: quiet})
	honest := dial(t, s.Addr(), nil)
	xid := uint32(0)
	calls := func() (n float64) {
		for start := time.Now(); time.Since(start) < slice; n++ {
			xid++
			if _, err := honest.Call(context.Background(), callOf(xid, 0)); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	var flood []byte
	for range 1000 {
		flood = append(flood, goodCall(flooded)...)
	}
	var floods atomic.Int64
	flooding := func() (stop func()) {
		var done atomic.Bool
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for !done.Load() {
					c, err := net.Dial("tcp", s.Addr())
					if err != nil {
						continue
					}
					_ = c.SetDeadline(time.Now().Add(slice / 5))
					if n, _ := c.Write(flood); n > 0 {
						floods.Add(1)
					}
					_, _ = io.Copy(io.Discard, c) // nothing, until the deadline
					_ = c.Close()
				}
			})
		}
		return func() { done.Store(true); wg.Wait() }
	}
	for try := 1; ; try++ {
		least, most, quiet, loud := math.MaxFloat64, 0.0, 0.0, 0.0
		for range slices {
			n := calls()
			least, most, quiet = min(least, n), max(most, n), quiet+n
			stop := flooding()
			loud += calls()
			stop()
		}
		t.Logf("%.2f of the calls beside %d floods; without them slices have %.0f to %.0f calls", loud/quiet, floods.Load(), least, most)
		switch {
		case floods.Load() == 0:
			t.Fatal("no flood")
		case loud >= quiet*8/10:
			return
		case try < 5:
		case least < most*8/10:
			t.Skip("the machine is too busy to compare speeds")
		default:
			t.Fatalf("the neighbour has %.2f of its calls, want at least 0.80", loud/quiet)
		}
	}
}

// flooded is the XID of a flood's Calls.
const flooded = 0xf100d
