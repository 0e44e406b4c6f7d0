package server

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A handler that waits holds up no other Call of its connection, without any configuration.
func TestHandlersMayWait(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		second := make(chan struct{})
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			switch rpctest.XID(r.Message) {
			case 2:
				select {
				case <-second:
				case <-time.After(20 * time.Second):
					t.Error("the second handler did not run while the first waited")
				}
			case 3:
				close(second)
			}
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
		}), nil)
		c := w.Dial(nil)
		rpctest.Again(t, c, rpctest.SmallCall(), 1) // the Reply brings the credits
		var wg sync.WaitGroup
		wg.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), 2) })
		wg.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), 3) })
		wg.Wait()
	})
}

// Requests that wait for a handler have no goroutine: however many there are, the goroutines are
// MaxHandlers and one for each connection.
func TestWaitingRequestsHaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conns, calls, handlers = 4, 24, 3
		w := rdmaiotest.New(t)
		release := make(chan struct{})
		var running, served atomic.Int64
		s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			running.Add(1)
			<-release
			running.Add(-1)
			served.Add(1)
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
		}), &rdmaio.Config{MaxHandlers: handlers})
		all := make([]*rdmaio.Conn, conns)
		go func() {
			for range conns {
				release <- struct{}{}
			}
		}()
		for i := range all {
			all[i] = w.Dial(nil)
			rpctest.Again(t, all[i], rpctest.SmallCall(), 0)
		}
		synctest.Wait()
		before := runtime.NumGoroutine()
		var callers sync.WaitGroup
		for _, c := range all {
			for xid := range uint32(calls) {
				callers.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), xid+1) })
			}
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before - conns*calls; n > handlers+conns {
			t.Errorf("%d goroutines for %d Calls, want %d", n, conns*calls, handlers+conns)
		}
		if n := running.Load(); n != handlers+conns {
			t.Errorf("%d handlers run, want %d and one for each of %d connections", n, handlers, conns)
		}
		waiting := 0
		for _, c := range s.Conns() {
			st := c.Stats()
			if waiting += st.WaitingRequests; st.Calls != calls+1 {
				t.Errorf("a connection received %d Calls, want all %d", st.Calls, calls+1)
			}
		}
		if want := conns*calls - handlers - conns; waiting != want {
			t.Errorf("Stats count %d Requests that wait, want %d", waiting, want)
		}
		close(release)
		callers.Wait()
		if n := served.Load(); n != conns*(calls+1) {
			t.Errorf("%d Calls were served, want %d", n, conns*(calls+1))
		}
	})
}

// Requests that wait for a handler when their connection is closed never reach one, and delay
// nothing: the server closes when the running handlers have answered, and another connection gets
// the shared places.
func TestWaitingRequestsEndWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		var served atomic.Int64
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if served.Add(1); rpctest.XID(r.Message) > 0 {
				<-r.Context().Done()
				time.Sleep(time.Second)
			}
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
		}), &rdmaio.Config{MaxHandlers: 2})
		c := w.Dial(nil)
		rpctest.Again(t, c, rpctest.SmallCall(), 0)
		var callers sync.WaitGroup
		for xid := range uint32(20) {
			callers.Go(func() {
				if _, err := c.Call(context.Background(), rpctest.NullCall(xid+1, 40)); !errors.Is(err, rdmaio.ErrClosed) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		callers.Wait()
		time.Sleep(time.Minute)
		if n := served.Load(); n != 1+3 {
			t.Errorf("%d Calls reached a handler, want the first one and those for which there were places, 3", n)
		}
		other := w.Dial(nil)
		rpctest.Again(t, other, rpctest.SmallCall(), 0)
	})
}

// A used place becomes free again: with one place, and the connection's own, two handlers run
// concurrently each time.
func TestPlacesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		meet := make(chan struct{})
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if rpctest.XID(r.Message) > 0 {
				select {
				case meet <- struct{}{}:
				case <-meet:
				case <-time.After(time.Minute):
					t.Errorf("Call %d is alone", rpctest.XID(r.Message))
				}
			}
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
		}), &rdmaio.Config{MaxHandlers: 1})
		c := w.Dial(nil)
		rpctest.Again(t, c, rpctest.SmallCall(), 0)
		for round := range uint32(3) {
			var callers sync.WaitGroup
			for i := range uint32(2) {
				callers.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), 1+2*round+i) })
			}
			callers.Wait()
			synctest.Wait()
		}
	})
}
