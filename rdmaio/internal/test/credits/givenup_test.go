package credits

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// untilGivenUp answers Calls of 40 bytes at once, and longer ones when their context is done.
type untilGivenUp struct{ begun, ended chan error }

func newUntilGivenUp() untilGivenUp {
	return untilGivenUp{make(chan error, 1000), make(chan error, 1000)}
}

func (h untilGivenUp) ServeRPC(r *rdmaio.Request) {
	if len(r.Message) > 40 {
		h.begun <- nil
		<-r.Context().Done()
		h.ended <- context.Cause(r.Context())
	}
	rpctest.Answer(r)
}

// receive returns n values of a channel, or fails the test.
func receive(t *testing.T, what string, from <-chan error, n int) (all []error) {
	t.Helper()
	for i := range n {
		select {
		case err := <-from:
			all = append(all, err)
		case <-time.After(leak.Patience()):
			t.Fatalf("%s: %d of %d", what, i, n)
		}
	}
	return all
}

// giveUp makes n Calls, as many as there are credits for Calls, and more that wait. Then all are
// given up. The contexts of their handlers must be done, although no other Call is answered. Calls
// that wait and are not given up are served after that.
func giveUp(t *testing.T, c oncrpc.Carrier, h untilGivenUp, n, more int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var calls sync.WaitGroup
	for range n + more {
		calls.Go(func() {
			call := rpctest.NullCall(c.XID(), 44)
			if _, err := c.Call(ctx, call); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	receive(t, "handlers that have begun", h.begun, n)
	var others sync.WaitGroup
	for range more {
		others.Go(func() {
			if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(5 * time.Millisecond) // they wait
	cancel()
	calls.Wait()
	for _, err := range receive(t, "handlers whose contexts are done", h.ended, n) {
		if !errors.Is(err, oncrpc.ErrCanceled) {
			t.Error(err)
		}
	}
	others.Wait()
}

// Calls that were given up and hold all credits but one are cancelled, in both versions and over
// each provider: the last one is kept for that, also while further Calls wait for it. So is the
// last one of the reverse Calls. After that the connection serves Calls as before.
func TestCallsWithAllCreditsAreCancelled(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		for _, version := range []int{1, 2} {
			for _, credits := range []int{8, 32} {
				h, reverse := newUntilGivenUp(), newUntilGivenUp()
				s := w.Serve(h, &rdmaio.Config{Credits: credits, ReverseCredits: credits, Versions: []int{version}})
				c := w.Dial(&rdmaio.Config{Credits: credits, ReverseCredits: credits, ReverseHandler: reverse, Versions: []int{version}})
				warm := func(c oncrpc.Carrier) {
					t.Helper()
					if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
						t.Fatal(err)
					}
				}
				warm(c)
				theirs := rdmaiotest.ServerConn(t, s)
				theirs.AllowReverse()
				warm(theirs)
				for range 3 {
					giveUp(t, c, h, credits-1, 5)
					giveUp(t, theirs, reverse, credits-1, 5)
					warm(c)
					warm(theirs)
				}
				if c.Err() != nil {
					t.Errorf("version %d, %d credits: %v", version, credits, c.Err())
				}
				_, _ = c.Close(), s.Close()
			}
		}
	})
}

// A server that does not have package cancel gets one such Call. After that all credits are for
// Calls.
func TestStrangerGetsAllCredits(t *testing.T) {
	for _, version := range []int{1, 2} {
		w := rdmaiotest.New(t)
		begun, answer := make(chan error, 100), make(chan struct{})
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if len(r.Message) > 44 { // of package cancel
				r.Reply(rdmaio.Message{Inline: unavailable(rpctest.XID(r.Message))}, nil)
				return
			}
			if len(r.Message) > 40 {
				begun <- nil
				<-answer
			}
			rpctest.Answer(r)
		}), &rdmaio.Config{Credits: 8, NoCancel: true, Versions: []int{version}})
		c := w.Dial(&rdmaio.Config{Credits: 8, Versions: []int{version}})
		if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		first := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 44))
			first <- err
		}()
		receive(t, "the first handler", begun, 1)
		cancel()
		receive(t, "the first caller", first, 1)
		var calls sync.WaitGroup
		for range 7 { // the first one holds its credit
			calls.Go(func() {
				if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 44)); err != nil {
					t.Error(err)
				}
			})
		}
		receive(t, "handlers that have begun", begun, 7)
		close(answer)
		calls.Wait()
	}
}

// unavailable returns a reply with PROG_UNAVAIL.
func unavailable(xid uint32) []byte {
	b, _ := oncrpc.NewReply(xid, oncrpc.ProgUnavail).AppendBinary(nil)
	return b
}

// A Call that waits for memory and is given up gives back its credit, and its handler does not run.
// As many are given up as Config.MaxErrors would not allow. The Call that has the memory is served.
func TestCallWithoutMemoryIsCancelled(t *testing.T) {
	const credits, rounds = 8, 6
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		begun, answer := make(chan error, 100), make(chan struct{})
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if len(r.Message) > 1000 {
				begun <- nil
				<-answer
			}
			rpctest.Answer(r)
		}), &rdmaio.Config{Credits: credits, MaxConnMemory: 1, MaxErrors: credits, MaxHandlers: 100})
		c := w.Dial(&rdmaio.Config{Credits: credits})
		if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
			t.Fatal(err)
		}
		first := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), rpctest.BigCall(c.XID(), 100_000))
			first <- err
		}()
		receive(t, "the first handler", begun, 1)
		for range rounds {
			ctx, cancel := context.WithCancel(context.Background())
			var calls sync.WaitGroup
			for range credits - 2 {
				calls.Go(func() {
					if _, err := c.Call(ctx, rpctest.BigCall(c.XID(), 100_000)); !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				})
			}
			rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == credits-1 })
			cancel()
			calls.Wait()
			rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 1 })
		}
		close(answer)
		if err := receive(t, "the first Call", first, 1)[0]; err != nil || len(begun) != 0 {
			t.Errorf("%v, and %d others were served", err, len(begun))
		}
		if _, err := c.Call(context.Background(), rpctest.BigCall(c.XID(), 100_000)); err != nil {
			t.Error(err)
		}
		if c.Err() != nil {
			t.Error(c.Err())
		}
	})
}
