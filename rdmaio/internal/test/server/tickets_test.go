package server

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// bounded is a Handler whose replies have a bound.
type bounded struct {
	rdmaio.HandlerFunc
	n int
}

func (b bounded) ReplyBound(_, _, _ uint32) int { return b.n }

// answer answers a Request with a header only.
func answer(r *rdmaio.Request) {
	r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, nil)
}

// Of handlers without a bound so many run at a time as could all have the largest reply in a third
// of MaxMemory. The others run later. All handlers with a bound run, as long as there is memory for
// their bounds.
func TestHandlersWithoutABoundWaitForMemory(t *testing.T) {
	const conns, part = 8, 16<<20 + 64<<10
	for _, tt := range []struct {
		name        string
		nonBlocking bool
		bound, runs int
	}{
		{"none", false, -1, 2},
		{"none, NonBlocking", true, -1, 2},
		{"small", false, 1000, conns},
		{"two have room", false, 5 << 20, 2 + 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := rdmaiotest.New(t)
				var mu sync.Mutex
				var held []*rdmaio.Request
				s := w.Serve(bounded{func(r *rdmaio.Request) {
					mu.Lock()
					defer mu.Unlock()
					held = append(held, r)
				}, tt.bound}, &rdmaio.Config{MaxMemory: 6 * part, NonBlocking: tt.nonBlocking})
				var callers sync.WaitGroup
				for range conns {
					c := w.Dial(nil)
					callers.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), 1) })
					synctest.Wait()
				}
				if len(held) != tt.runs {
					t.Errorf("%d handlers run, want %d", len(held), tt.runs)
				}
				for n := 0; n < conns; {
					synctest.Wait()
					mu.Lock()
					all := held
					held = nil
					mu.Unlock()
					for _, r := range all {
						answer(r)
						n++
					}
				}
				callers.Wait()
				synctest.Wait()
				if n := s.Stats().Memory; n != 0 {
					t.Errorf("%d bytes are taken in the end", n)
				}
			})
		})
	}
}

// A Request that waits for memory is dropped if its connection is closed.
func TestEndWhileARequestWaitsForMemory(t *testing.T) {
	for _, nonBlocking := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			var served atomic.Int64
			var held *rdmaio.Request
			s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				served.Add(1)
				held = r
			}), &rdmaio.Config{MaxMemory: 3 << 20, NonBlocking: nonBlocking}) // one at a time
			one, other := w.Dial(nil), w.Dial(nil)
			var callers sync.WaitGroup
			callers.Go(func() { rpctest.Again(t, one, rpctest.SmallCall(), 1) })
			synctest.Wait()
			callers.Go(func() { _, _ = other.Call(context.Background(), rpctest.SmallCall()) })
			synctest.Wait()
			_ = other.Close()
			time.Sleep(time.Second / 2)
			if n := len(s.Conns()); n != 1 || served.Load() != 1 {
				t.Errorf("%d connections are up, %d Requests were served, want one each", n, served.Load())
			}
			answer(held)
			callers.Wait()
		})
	}
}

// Handlers that wait for something else do not keep out other handlers for good.
func TestHandlersThatHangLetOthersRun(t *testing.T) {
	for _, nonBlocking := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			var hung *rdmaio.Request
			s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				if rpctest.XID(r.Message) == 1 {
					hung = r
					return
				}
				answer(r)
			}), &rdmaio.Config{MaxMemory: 3 << 20, NonBlocking: nonBlocking})
			hangs, honest := w.Dial(nil), w.Dial(nil)
			var callers sync.WaitGroup
			callers.Go(func() { rpctest.Again(t, hangs, rpctest.SmallCall(), 1) })
			synctest.Wait()
			for xid := range uint32(3) {
				start := time.Now()
				if rpctest.Again(t, honest, rpctest.SmallCall(), 2+xid); time.Since(start) > 1250*time.Millisecond {
					t.Errorf("Call %d is served after %v", xid, time.Since(start))
				}
			}
			answer(hung)
			callers.Wait()
			synctest.Wait()
			if n := s.Stats().Memory; n != 0 {
				t.Errorf("%d bytes are taken in the end", n)
			}
		})
	}
}
