package rdmaio_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// overdrawn is an oracle that knows nothing of the engine: from the client's
// history of Sends and Receives it counts Calls in flight, and compares with what a
// server with a constant grant allows (R127, R128). It returns the highest number too.
func overdrawn(list []trace.Event, grant int) (most int, err error) {
	inFlight, allowed := 0, 1 // before the first Reply: one
	for _, e := range list {
		switch {
		case e.Device != "client":
		case rdmaiotest.IsSend(&e):
			if inFlight++; inFlight > allowed {
				return most, fmt.Errorf("event %d: %d Calls in flight, %d allowed", e.Seq, inFlight, allowed)
			}
			most = max(most, inFlight)
		case e.Kind == trace.Complete && e.Status == verbs.StatusSuccess && e.WCOpcode == verbs.WCRecv:
			inFlight--
			allowed = grant
		}
	}
	if inFlight != 0 {
		return most, fmt.Errorf("%d Calls still in flight at the end", inFlight)
	}
	return most, nil
}

// starved is the other side's: a responder must never have fewer Receives
// posted than it has promised and not yet seen used (R132, R133).
func starved(list []trace.Event, device string, grant int) error {
	posted, busy := 0, 0
	for _, e := range list {
		switch {
		case e.Device != device:
		case e.Kind == trace.PostRecv:
			posted++
		case e.Kind == trace.Complete && e.WCOpcode == verbs.WCRecv && e.Status == verbs.StatusSuccess:
			posted--
			busy++
		case rdmaiotest.IsSend(&e):
			busy--
			if posted+busy < grant {
				return fmt.Errorf("event %d: %d Receives posted and %d Calls in work for a grant of %d", e.Seq, posted, busy, grant)
			}
		}
	}
	return nil
}

// later answers from goroutines of its own, after a while.
type later struct {
	h  rdmaio.Handler
	wg sync.WaitGroup
}

func (l *later) ServeRPC(r *rdmaio.Request) {
	l.wg.Add(1)
	go func() {
		defer l.wg.Done()
		time.Sleep(50 * time.Microsecond)
		l.h.ServeRPC(r)
	}()
}

// 64 callers share a grant of 4: it is never exceeded, always used, and the
// first Call goes alone.
func TestCreditsHold(t *testing.T) {
	for _, mode := range []string{"inline", "blocking", "later"} {
		t.Run(mode, func(t *testing.T) {
			const grant, callers, each = 4, 64, 20
			w := rdmaiotest.New(t)
			cfg := &rdmaio.Config{Credits: grant, NonBlocking: mode != "blocking"}
			f := &file{t: t, data: rdmaiotest.Pattern(70000, 1)}
			var h rdmaio.Handler = f
			switch mode {
			case "later":
				l := &later{h: f}
				t.Cleanup(l.wg.Wait)
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
						reply, err := c.Call(context.Background(), readCall(xid.Add(1), uint64(off), buf))
						if err != nil {
							t.Error(err)
							return
						}
						if data, err := readReply(reply); err != nil || string(data) != string(f.data[off:off+3000]) {
							t.Errorf("other data at %d: %v", off, err)
							return
						}
					}
				}()
			}
			wg.Wait()
			list := w.Since(0)
			most, err := overdrawn(list, grant)
			if err != nil {
				t.Error(err)
			}
			if mode != "inline" && most != grant {
				t.Errorf("%d Calls in flight at most: the grant of %d was never used up", most, grant)
			}
			if err := starved(list, "server", grant); err != nil {
				t.Error(err)
			}
			counts(t, c, func(st *rdmaio.Stats) bool {
				return st.Calls == callers*each && st.Replies == callers*each && st.InFlight == 0 && st.Waiting == 0 && st.Granted == grant
			})
			for _, sc := range s.Conns() {
				counts(t, sc, func(st *rdmaio.Stats) bool {
					return st.InFlight == 0 && st.Waiting == 0 && st.PostedRecvs == grant && st.FaultyMessages == 0
				})
			}
		})
	}
}

// The oracle's canary: it must see a Call too many.
func TestOracleSees(t *testing.T) {
	send := trace.Event{Device: "client", Kind: trace.PostSend, Opcode: verbs.Send}
	if _, err := overdrawn([]trace.Event{send, send}, 4); err == nil {
		t.Error("two Calls before the first Reply were not seen")
	}
	if err := starved([]trace.Event{{Device: "server", Kind: trace.PostRecv}, {Device: "server", Kind: trace.PostSend}}, "server", 4); err == nil {
		t.Error("a grant of 4 on one Receive was not seen")
	}
}

// silent never answers until it is told to.
type silent struct{ got chan *rdmaio.Request }

func (s silent) ServeRPC(r *rdmaio.Request) { s.got <- r }

// A cancelled Call returns at once with its memory back and its keys dead; its
// credit returns with the late reply, which harms nobody (R135, R289, R291; T14, T64).
func TestCancel(t *testing.T) {
	w := rdmaiotest.New(t)
	h := silent{make(chan *rdmaio.Request, 64)}
	w.Serve(h, &rdmaio.Config{Credits: 4, RemoteInvalidate: -1}) // or the late reply would name the dead key
	c := w.Dial(nil)
	ok := func(r *rdmaio.Request) { (&file{t: t, data: rdmaiotest.Pattern(500, 1)}).ServeRPC(r) }

	// The first Call alone; then one that is cancelled while the server has it.
	done := make(chan error, 64)
	call := func(ctx context.Context, xid uint32) {
		_, err := c.Call(ctx, nullCall(xid, 128))
		done <- err
	}
	go call(context.Background(), 1)
	ok(<-h.got)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	mark := len(w.History.Events())
	ctx, cancel := context.WithCancel(context.Background())
	buf := make([]byte, 4096)
	go func() {
		_, err := c.Call(ctx, readCall(2, 0, buf))
		done <- err
	}()
	late := <-h.got
	cancel()
	err := <-done
	var ce *rdmaio.CallError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &ce) || !ce.MayHaveRun || ce.XID != 2 {
		t.Fatalf("cancelled Call: %v", err)
	}
	keysEnded(t, w.Since(mark), 1)
	// The credit of a cancelled Call does not come back by itself.
	counts(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 1 })
	// R287: its XID cannot be used before the reply came, so that no Call has two credits.
	if _, err := c.Call(context.Background(), nullCall(2, 128)); !errors.Is(err, rdmaio.ErrXIDInUse) {
		t.Errorf("XID 2 again: %v", err)
	}
	// Late, but without data for the dead key: the connection goes on.
	late.Reply(rdmaio.Message{Inline: replyHeader(2).buf}, nil)
	go call(context.Background(), 3)
	ok(<-h.got)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	counts(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 })

	// A Call that never got a credit was not sent, and the error says so.
	for xid := uint32(10); xid < 14; xid++ {
		go call(context.Background(), xid)
	}
	var held []*rdmaio.Request
	for range 4 {
		held = append(held, <-h.got)
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
