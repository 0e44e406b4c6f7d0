package credits

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// 64 callers share a grant of 4. It is never exceeded, it is used up, and the first Call is sent
// alone (R127, R128). The server has a Receive for each Call that it granted (R132, R133).
func TestCallersKeepToTheGrant(t *testing.T) {
	for _, mode := range []string{"inline", "blocking", "later"} {
		t.Run(mode, func(t *testing.T) {
			const grant, callers, each = 4, 64, 20
			w := rdmaiotest.New(t)
			w.Heads = true
			cfg := &rdmaio.Config{Credits: grant, NonBlocking: mode != "blocking"}
			f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(70000, 1)}
			var h rdmaio.Handler = f
			switch mode {
			case "later":
				l := &rpctest.Later{Handler: f}
				t.Cleanup(l.Running.Wait)
				h = l
			case "blocking":
				h = rdmaio.HandlerFunc(func(r *rdmaio.Request) {
					time.Sleep(50 * time.Microsecond)
					f.ServeRPC(r)
				})
			}
			s := w.Serve(h, cfg)
			c := w.Dial(&rdmaio.Config{Credits: callers})
			var xid atomic.Uint32
			var wg sync.WaitGroup
			for i := range callers {
				wg.Add(1)
				go func() {
					defer wg.Done()
					buf := make([]byte, 3000)
					for k := range each {
						off := (i*each + k) * 7
						reply, err := c.Call(context.Background(), rpctest.ReadCall(xid.Add(1), uint64(off), buf))
						if err != nil {
							t.Error(err)
							return
						}
						if data, err := rpctest.ReadReply(reply); err != nil || string(data) != string(f.Data[off:off+3000]) {
							t.Errorf("other data at %d: %v", off, err)
							return
						}
					}
				}()
			}
			wg.Wait()
			list := w.Since(0)
			l, err := rdmaiotest.Audit(list, "client")
			if err != nil {
				t.Error(err)
			}
			if l.MostOutstanding > grant || mode != "inline" && l.MostOutstanding < grant {
				t.Errorf("at most %d Calls in flight, want %d, the grant", l.MostOutstanding, grant)
			}
			if len(l.Outstanding) != 0 {
				t.Errorf("%d Calls still in flight at the end", len(l.Outstanding))
			}
			if _, err := rdmaiotest.Audit(list, "server"); err != nil {
				t.Error(err)
			}
			rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool {
				return st.Calls == callers*each && st.Replies == callers*each && st.InFlight == 0 && st.Waiting == 0 && st.Granted == grant
			})
			for _, sc := range s.Conns() {
				rdmaiotest.AwaitStats(t, sc, func(st *rdmaio.Stats) bool {
					return st.InFlight == 0 && st.Waiting == 0 && st.PostedRecvs == grant && st.FaultyMessages == 0
				})
			}
		})
	}
}

// A cancelled Call returns at once, with its memory free and its keys invalidated. Its credit is
// free when the late reply has arrived, which does no harm (R135, R289, R291; T14, T64).
func TestCancelledCallReturnsAtOnce(t *testing.T) {
	w := rdmaiotest.New(t)
	h := rpctest.Silent{Got: make(chan *rdmaio.Request, 64)}
	// No remote invalidation: the late reply would name the dead key.
	w.Serve(h, &rdmaio.Config{Credits: 4, RemoteInvalidate: -1})
	c := w.Dial(nil)
	ok := func(r *rdmaio.Request) { (&rpctest.File{T: t, Data: rdmaiotest.Pattern(500, 1)}).ServeRPC(r) }

	// The first Call alone; then one that is cancelled while the server has it.
	done := make(chan error, 64)
	call := func(ctx context.Context, xid uint32) {
		_, err := c.Call(ctx, rpctest.NullCall(xid, 128))
		done <- err
	}
	go call(context.Background(), 1)
	ok(<-h.Got)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	mark := len(w.History.Events())
	ctx, cancel := context.WithCancel(context.Background())
	buf := make([]byte, 4096)
	go func() {
		_, err := c.Call(ctx, rpctest.ReadCall(2, 0, buf))
		done <- err
	}()
	late := <-h.Got
	cancel()
	err := <-done
	var ce *rdmaio.CallError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &ce) || !ce.MayHaveRun || ce.XID != 2 {
		t.Fatalf("cancelled Call: %v", err)
	}
	rdmaiotest.KeysEnded(t, w.Since(mark), 1)
	// The credit of a cancelled Call does not come back by itself.
	rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 1 })
	// R287: its XID cannot be used before the reply came, so that no Call has two credits.
	if _, err := c.Call(context.Background(), rpctest.NullCall(2, 128)); !errors.Is(err, rdmaio.ErrXIDInUse) {
		t.Errorf("XID 2 again: %v", err)
	}
	// Late, but without data for the dead key: the connection stays up.
	late.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(2).Buf}, nil)
	go call(context.Background(), 3)
	ok(<-h.Got)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 })

	// A Call that never got a credit was not sent, and the error says so.
	for xid := uint32(10); xid < 14; xid++ {
		go call(context.Background(), xid)
	}
	var held []*rdmaio.Request
	for range 4 {
		held = append(held, <-h.Got)
	}
	ctx, cancel = context.WithCancel(context.Background())
	go call(ctx, 20)
	for c.Stats().Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || !errors.As(err, &ce) || ce.MayHaveRun {
		t.Errorf("cancelled before it was sent: %v", err)
	}
	for _, r := range held {
		ok(r)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
