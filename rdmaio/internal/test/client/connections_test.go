package client

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// requests is a server that keeps its Requests.
type requests chan *rdmaio.Request

// ServeRPC implements rdmaio.Handler.
func (h requests) ServeRPC(r *rdmaio.Request) { h <- r }

// callIn makes a Call on a new goroutine and returns the channel for its error.
func callIn(ctx context.Context, c *rdmaio.Client) <-chan error {
	failed := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40))
		failed <- err
	}()
	return failed
}

// Calls one after the other use one connection. Calls at the same time spread over as many as the
// Client may have, which are closed when they are idle.
func TestConnectionsAreMadeOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		held := make(requests, 8)
		server := w.Serve(held, nil)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 3, IdleTimeout: time.Minute})
		for range 5 {
			failed := callIn(context.Background(), c)
			rpctest.Answer(<-held)
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		}
		if s := c.Stats(); s.Connects != 1 || s.DelayedCalls != 0 {
			t.Errorf("Calls one after the other: %+v", s)
		}
		var calls []<-chan error
		for range 7 { // on the first connection, and as soon as there are others, on those
			calls = append(calls, callIn(context.Background(), c))
			synctest.Wait()
		}
		on := make(map[any]int)
		var all []*rdmaio.Request
		for range calls {
			r := <-held
			on[r.Conn()]++
			all = append(all, r)
			if len(all) == 3 { // the others wait for credits of the two new connections
				for _, r := range all {
					rpctest.Answer(r)
				}
			}
		}
		for _, r := range all[3:] {
			rpctest.Answer(r)
		}
		for _, failed := range calls {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		if s := c.Stats(); s.Connects != 3 || len(on) != 3 || len(server.Conns()) != 3 {
			t.Errorf("7 Calls at a time used %d connections, the server has %d: %+v", len(on), len(server.Conns()), s)
		}
		time.Sleep(3 * time.Minute)
		if s := c.Stats(); s.IdleCloses != 3 || s.Lost != 0 || len(server.Conns()) != 0 {
			t.Errorf("after 3 minutes the server has %d connections: %+v", len(server.Conns()), s)
		}
	})
}

// Calls wait in one queue for the credits of all connections, in their order: a long Call delays no
// other one while another connection has a credit.
func TestConnectionsShareOneQueue(t *testing.T) {
	for _, version := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			held := make(requests, 8)
			one := &rdmaio.Config{Credits: 1, Versions: []int{version}}
			w.Serve(held, one)
			hits := new(atomic.Int32)
			cfg := *one
			cfg.Events = func(e rdmaio.Event) {
				if hit, ok := e.(*rdmaio.LimitHit); ok && hit.Limit == rdmaio.LimitCredits && hit.Conn == nil {
					hits.Add(1)
				}
			}
			c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 2, Conn: &cfg})
			first := callIn(context.Background(), c)
			slow := <-held
			var calls []<-chan error
			for range 6 {
				calls = append(calls, callIn(context.Background(), c))
				synctest.Wait()
			}
			last := uint32(0)
			for range calls {
				r := <-held
				if r.Conn() == slow.Conn() {
					t.Fatal("a second Call came on the connection with one credit")
				}
				if xid := rpctest.Answer(r); last != 0 && xid != last+1 {
					t.Errorf("XID %#x came after %#x", xid, last)
				} else {
					last = xid
				}
			}
			for _, failed := range calls {
				if err := <-failed; err != nil {
					t.Error(err)
				}
			}
			rpctest.Answer(slow)
			if err := <-first; err != nil {
				t.Error(err)
			}
			if s := c.Stats(); s.Connects != 2 || s.DelayedCalls != 6 || hits.Load() != 6 {
				t.Errorf("version %d: %d events LimitHit, %+v, want 6 and 6 Calls delayed", version, hits.Load(), s)
			}
		})
	}
}

// A Call whose context is done while it is queued leaves the queue, and its error says what it
// waited for. Close makes the others fail.
func TestCallLeavesTheQueueWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		held := make(requests, 8)
		w.Serve(held, &rdmaio.Config{Credits: 1})
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 2, StuckTimeout: -1})
		var served []<-chan error
		for range 2 {
			served = append(served, callIn(context.Background(), c))
			synctest.Wait()
		}
		a, b := <-held, <-held
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		late := callIn(ctx, c)
		synctest.Wait()
		next, closed := callIn(context.Background(), c), callIn(context.Background(), c)
		var ce *rdmaio.CallError
		if err := <-late; !errors.As(err, &ce) || ce.MayHaveRun || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "credit") {
			t.Errorf("%v, want that the Call waited for a credit", err)
		}
		rpctest.Answer(a)
		synctest.Wait()
		rpctest.Answer(<-held)
		synctest.Wait()
		last := <-held
		rpctest.Answer(b)
		go rpctest.Answer(last)
		for _, failed := range append(served, next, closed) {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			served = append(served, callIn(context.Background(), c))
		}
		waits := callIn(context.Background(), c)
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for range 2 {
			(<-held).Drop(nil)
		}
		if err := <-waits; !errors.Is(err, rdmaio.ErrClosed) {
			t.Errorf("%v, want %v", err, rdmaio.ErrClosed)
		}
	})
}

// Cancelled Calls hold the credits of all connections. The Calls in the queue continue when late
// replies free them, though no Call returns then.
func TestLateRepliesServeTheQueue(t *testing.T) {
	for _, version := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			held := make(requests, 8)
			one := &rdmaio.Config{Credits: 1, Versions: []int{version}}
			w.Serve(held, one)
			c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 2, StuckTimeout: -1, Conn: one})
			ctx, cancel := context.WithCancel(context.Background())
			var cancelled []<-chan error
			for range 2 {
				cancelled = append(cancelled, callIn(ctx, c))
				synctest.Wait()
			}
			a, b := <-held, <-held
			cancel()
			for _, failed := range cancelled {
				if err := <-failed; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			next := callIn(context.Background(), c)
			synctest.Wait()
			select {
			case r := <-held:
				t.Errorf("a Call came on %v without a credit", r.Conn().RemoteAddr())
			default:
			}
			rpctest.Answer(b)
			r := <-held
			if r.Conn() != b.Conn() {
				t.Error("the Call came on the connection without a credit")
			}
			rpctest.Answer(r)
			if err := <-next; err != nil {
				t.Error(err)
			}
			rpctest.Answer(a)
		})
	}
}

// The Calls of a lost connection are sent again on another one, and the Client makes a further
// connection when there are more Calls.
func TestCallsOfALostConnectionGoToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		held := make(requests, 8)
		w.Serve(held, nil)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 2})
		var calls []<-chan error
		for range 2 {
			calls = append(calls, callIn(context.Background(), c))
			synctest.Wait()
		}
		a, b := <-held, <-held
		if a.Conn() == b.Conn() {
			t.Fatal("two Calls at a time are on one connection")
		}
		var closing sync.WaitGroup
		closing.Go(func() { _ = a.Conn().(*rdmaio.Conn).Close() })
		<-a.Context().Done()
		a.Drop(nil)
		closing.Wait()
		rpctest.Answer(b)
		rpctest.Answer(<-held)
		for _, failed := range calls {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait() // for the watcher of the connection
		if s := c.Stats(); s.Lost != 1 || s.Retransmissions != 1 {
			t.Errorf("%+v, want one connection lost and one Call sent again", s)
		}
	})
}

// A server that takes one connection only serves all Calls on it. That it rejects others fails no
// Call, even if the Calls wait for no connection.
func TestRejectedConnectionsFailNoCall(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		time.Sleep(100 * time.Microsecond)
		rpctest.Answer(r)
	}), &rdmaio.Config{MaxConns: 1})
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 4, DialFailures: -1, MinBackoff: time.Millisecond})
	var callers sync.WaitGroup
	for range 40 {
		callers.Go(func() {
			for range 20 {
				if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	// Between two Calls the connection is idle at times, and then makes room for another one.
	if s := c.Stats(); s.DialFailures == 0 {
		t.Errorf("%+v, want failures to make other connections", s)
	}
}

// A failure to make the first connection fails Calls as with one connection.
func TestFailureOfTheFirstConnectionFailsCalls(t *testing.T) {
	w := rdmaiotest.New(t)
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 4, DialFailures: -1, MinBackoff: time.Hour, MaxBackoff: time.Hour})
	for range 3 {
		if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); !errors.Is(err, verbs.ErrConnectionRefused) {
			t.Errorf("%v, want %v", err, verbs.ErrConnectionRefused)
		}
	}
	if s := c.Stats(); s.DialFailures != 1 {
		t.Errorf("%d attempts, want 1", s.DialFailures)
	}
}

// A stuck connection is replaced, while others serve Calls.
func TestStuckConnectionIsReplacedBesideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		var silent atomic.Pointer[rdmaio.Conn]
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if silent.CompareAndSwap(nil, r.Conn().(*rdmaio.Conn)) || silent.Load() == r.Conn() {
				r.Drop(nil)
				return
			}
			rpctest.Answer(r)
		}), nil)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 2, StuckTimeout: 4 * time.Second})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := <-callIn(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		for range 40 { // they need no second's wait: the first connection has no credit for them
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			if err := <-callIn(ctx, c); err != nil {
				t.Error(err)
			}
			cancel()
			time.Sleep(time.Second / 4)
		}
		if s := c.Stats(); s.Stuck != 1 || s.Lost != 0 {
			t.Errorf("%+v, want one connection given up", s)
		}
	})
}

// A server of version 2 alone refuses all connections of version 1, and the Client makes
// others. Each Call is sent once more.
func TestAllConnectionsTurnToAnotherVersion(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { rpctest.Answer(r) }), &rdmaio.Config{Versions: []int{2}})
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 3, Conn: &rdmaio.Config{Versions: []int{1, 2}}})
	var callers sync.WaitGroup
	for range 12 {
		callers.Go(func() {
			for range 10 {
				if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	if s := c.Stats(); s.VersionChanges != 1 {
		t.Errorf("%+v, want one change of the version", s)
	}
}
