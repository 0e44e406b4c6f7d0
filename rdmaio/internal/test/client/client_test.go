package client

import (
	"bytes"
	"context"
	"encoding/binary"
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
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// breaker is a file server that closes the connection of each of the first Calls that it gets,
// whether or not it has executed the Call.
type breaker struct {
	rpctest.File
	ends  int  // of connections, to come
	after bool // when the Call has been executed

	mu   sync.Mutex
	xids []uint32 // of the Calls received
	wg   sync.WaitGroup
}

// ServeRPC implements rdmaio.Handler.
func (b *breaker) ServeRPC(r *rdmaio.Request) {
	b.mu.Lock()
	end := b.ends > 0
	b.ends--
	b.xids = append(b.xids, binary.BigEndian.Uint32(r.Message))
	b.mu.Unlock()
	if !end {
		r.Reply(b.Serve(r), nil)
		return
	}
	b.wg.Add(1)
	go func() { // the connection has to end first, else the Reply gets out
		defer b.wg.Done()
		b.wg.Go(func() { _ = r.Conn().(*rdmaio.Conn).Close() })
		<-r.Context().Done()
		m := rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}
		if b.after {
			m = b.Serve(r)
		}
		r.Reply(m, nil)
	}()
}

// received returns the number of Calls received so far.
func (b *breaker) received() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.xids)
}

// breaks starts a breaker.
func breaks(w *rdmaiotest.World, ends int, after bool) *breaker {
	b := &breaker{File: rpctest.File{T: w.T}, ends: ends, after: after}
	w.T.Cleanup(b.wg.Wait)
	w.Serve(b, nil)
	return b
}

// R272, R284, R286: Calls whose connection is lost, executed or not, are sent again on another one
// with the same XID and fresh keys, and end once, with the right data in the right place.
func TestClientSendsAgain(t *testing.T) {
	for form, do := range rpctest.Forms {
		t.Run(form, func(t *testing.T) { clientSendsAgain(t, do) })
	}
}

func clientSendsAgain(t *testing.T, do rpctest.Form) {
	for _, after := range []bool{false, true} {
		rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
			b := breaks(w, 2, after)
			c := rdmaiotest.NewClient(w, nil)
			mark := len(w.History.Events())
			data := rdmaiotest.Pattern(9001, 1)
			xid := c.XID()
			if _, err := do(c, context.Background(), rpctest.WriteCall(xid, 0, data)); err != nil {
				t.Fatal(err)
			}
			b.wg.Wait() // the Calls of lost connections may run late
			if !bytes.Equal(b.Data, data) {
				t.Error("the server has other data")
			}
			if len(b.xids) != 3 || b.xids[0] != xid || b.xids[1] != xid || b.xids[2] != xid {
				t.Errorf("the server received %#x, want %#x three times", b.xids, xid)
			}
			if s := c.Stats(); s.Connects != 3 || s.Lost != 2 || s.Retransmissions != 2 {
				t.Errorf("%+v", s)
			}
			keys := make(map[uint32]bool)
			for _, e := range w.Since(mark) {
				if e.Device == "client" && (e.Kind == trace.Register || e.Kind == trace.Reregister) && e.RKey != 0 {
					if keys[e.RKey] {
						t.Errorf("key %#x was given out twice", e.RKey)
					}
					keys[e.RKey] = true
				}
			}
			if len(keys) != 3 {
				t.Errorf("%d keys for three messages", len(keys))
			}
		})
	}
}

// DialFailures does not turn off Retransmits, although the loss of a connection without a reply
// begins a pause.
func TestLostCallIsSentAgainWithAnyDialFailures(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		breaks(w, 2, true)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{DialFailures: -1, MinBackoff: time.Millisecond})
		if _, err := c.Call(context.Background(), rpctest.WriteCall(c.XID(), 0, rdmaiotest.Pattern(100, 1))); err != nil {
			t.Error(err)
		}
		if s := c.Stats(); s.Retransmissions != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// A server that closes the connection at each Call does so as often as Retransmits allows; the
// error reports that the Call may have run.
func TestClientGivesUpAfterRetransmits(t *testing.T) {
	for _, tt := range []struct {
		retransmits, received int
		do                    rpctest.Form
	}{{0, 5, oncrpc.Carrier.Call}, {2, 3, rpctest.Submitted}, {-1, 1, rpctest.Submitted}} {
		w := rdmaiotest.New(t)
		b := breaks(w, 100, false)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Retransmits: tt.retransmits})
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := tt.do(c, ctx, rpctest.NullCall(c.XID(), 40))
		var ce *rdmaio.CallError
		if !errors.As(err, &ce) || !ce.MayHaveRun || !errors.Is(err, verbs.ErrPeerDisconnected) {
			t.Errorf("Retransmits %d: %v", tt.retransmits, err)
		}
		if n := b.received(); n != tt.received {
			t.Errorf("Retransmits %d: the server received %d Calls, want %d", tt.retransmits, n, tt.received)
		}
	}
}

// An error that the other end reports about a Call is not a reason to make another connection.
func TestErrorOfThePeerEndsTheCall(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: append(rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf, make([]byte, 8000)...)}, nil)
	}), nil)
	c := rdmaiotest.NewClient(w, nil)
	_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
	var pe *rdmaio.PeerError
	if !errors.As(err, &pe) || pe.Code != rdmaio.PeerErrChunk {
		t.Error(err)
	}
	if _, err = c.Call(context.Background(), &rdmaio.Call{}); !errors.Is(err, rdmaio.ErrMessage) {
		t.Error(err)
	}
	if s := c.Stats(); s.Connects != 1 || s.Retransmissions != 0 {
		t.Errorf("%+v", s)
	}
}

// R292: pauses between tries double up to the maximum; a server that starts late is found; the
// error of a Call gives the reason for the last failure.
func TestPausesDoubleUpToTheMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{WaitForServer: true, MinBackoff: time.Second, MaxBackoff: 8 * time.Second})
		ctx, cancel := context.WithTimeout(context.Background(), 70*time.Second)
		defer cancel()
		start := time.Now()
		_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40))
		var ce *rdmaio.CallError
		if !errors.As(err, &ce) || ce.MayHaveRun || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, verbs.ErrConnectionRefused) || strings.Contains(err.Error(), "\n") {
			t.Error(err)
		}
		if d := time.Since(start); d != 70*time.Second {
			t.Errorf("ended after %v", d)
		}
		// At 0 s, then 1, 2, 4, 8, 8... s apart, less at most half of it.
		if n := c.Stats().DialFailures; n < 11 || n > 23 {
			t.Errorf("%d tries in 70 s", n)
		}
		time.AfterFunc(20*time.Second, func() { w.Serve(&rpctest.File{T: t}, nil) })
		if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d < 90*time.Second || d > 98*time.Second {
			t.Errorf("found the server after %v", d)
		}
	})
}

// Once a server has answered, pauses begin with the shortest again.
func TestPausesBeginAgainAfterAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{WaitForServer: true, MinBackoff: time.Second, MaxBackoff: 8 * time.Second})
		served := make(chan *rdmaio.Server, 1)
		time.AfterFunc(60*time.Second, func() { served <- w.Serve(&rpctest.File{T: t}, nil) })
		if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
			t.Fatal(err)
		}
		if err := (<-served).Close(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		time.AfterFunc(1200*time.Millisecond, func() { w.Serve(&rpctest.File{T: t}, nil) })
		if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
			t.Fatal(err)
		}
		// Tries at 0 s, at 0.5 to 1 s, at 1.5 to 3 s; at 4 s or later with the last pause again.
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("found the server %v after it was lost, 1.2 s after which it was back", d)
		}
	})
}

// A Call may want to know at once.
func TestCallMayFailAtOnce(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		s := w.Serve(&rpctest.File{T: t}, nil) // for an address
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{DialFailures: -1, MinBackoff: time.Hour, MaxBackoff: time.Hour})
		for range 3 {
			_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
			if !errors.Is(err, verbs.ErrConnectionRefused) {
				t.Error(err)
			}
		}
		if n := c.Stats().DialFailures; n != 1 {
			t.Errorf("%d tries while the pause lasts", n)
		}
	})
}

// A dial that can never succeed fails the Call that wants the connection, however patient that is.
func TestHopelessDialFailsTheCall(t *testing.T) {
	w := rdmaiotest.NewTCP(t)
	w.Addr = "an address without a port"
	c := rdmaiotest.NewClient(w, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40)); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("%v, want %v", err, verbs.ErrInvalidValue)
	}
	if n := c.Stats().DialFailures; n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

// An attempt to connect that takes longer than DialTimeout is followed by others, as long as the
// Call waits.
func TestSlowDialIsFollowedByOthers(t *testing.T) {
	w := rdmaiotest.New(t)
	ln, err := w.Server.Listen(context.Background(), w.ListenAddr) // never accepts
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	w.Addr = ln.Addr()
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{WaitForServer: true, DialTimeout: 10 * time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error)
	go func() {
		_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40))
		failed <- err
	}()
	for c.Stats().DialFailures < 3 {
		select {
		case err := <-failed:
			t.Fatalf("the Call failed after %d attempts: %v", c.Stats().DialFailures, err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// A Call that fails on a live connection is not sent again: it would fail each time.
func TestCallThatFailsOnALiveConnectionIsNotSentAgain(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(&rpctest.File{T: t}, nil)
	dev, err := w.Net.Open("small", &verbs.DeviceAttributes{MaxMRSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Client = dev
	c := rdmaiotest.NewClient(w, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	call := rpctest.ReadCall(c.XID(), 0, make([]byte, 2<<20))
	if _, err := c.Call(ctx, call); !errors.Is(err, verbs.ErrTooLarge) {
		t.Errorf("%v, want %v", err, verbs.ErrTooLarge)
	}
	if s := c.Stats(); s.Connects != 1 || s.Retransmissions != 0 {
		t.Errorf("%+v", s)
	}
}

// After a connection that brought no reply the client pauses too: a Call that does not wait fails
// with the reason.
func TestCallFailsDuringThePauseAfterALoss(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(rdmaio.HandlerFunc(func(*rdmaio.Request) { panic("a fault of the handler") }), nil)
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{DialFailures: -1, Retransmits: -1, MinBackoff: time.Hour, MaxBackoff: time.Hour})
	for i := range 3 {
		_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
		var ce *rdmaio.CallError
		if !errors.As(err, &ce) || ce.MayHaveRun != (i == 0) || !errors.Is(err, verbs.ErrPeerDisconnected) {
			t.Errorf("Call %d: %v", i, err)
		}
	}
	if s := c.Stats(); s.Connects != 1 || s.DialFailures != 0 {
		t.Errorf("%+v", s)
	}
}

// R292: an idle connection is closed, and made again on demand; one with a Call in progress is not
// idle.
func TestIdleConnectionIsClosedAndMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		slow := make(chan *rdmaio.Request, 1)
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { slow <- r }), nil)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{IdleTimeout: time.Minute})
		for i := range 3 {
			done := make(chan error)
			go func() {
				_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
				done <- err
			}()
			r := <-slow
			time.Sleep(5 * time.Minute)
			if s := c.Stats(); s.IdleCloses != uint64(i) {
				t.Errorf("closed under a Call: %+v", s)
			}
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
			if err := <-done; err != nil {
				t.Error(err)
			}
			time.Sleep(59 * time.Second)
			if s := c.Stats(); s.IdleCloses != uint64(i) {
				t.Errorf("closed too early: %+v", s)
			}
			time.Sleep(62 * time.Second)
			if s := c.Stats(); s.IdleCloses != uint64(i+1) || s.Lost != 0 {
				t.Errorf("not closed: %+v", s)
			}
		}
	})
}

// A Call that is never answered holds its credit, the only one of a new connection. The client
// replaces the connection in bounded time, and further Calls are served.
func TestStuckConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		n := 0
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if n++; n == 1 {
				r.Drop(nil)
				return
			}
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
		}), nil)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{StuckTimeout: 4 * time.Second})
		call := func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40))
			return err
		}
		start := time.Now()
		for call() != nil {
			if time.Since(start) > 10*time.Second {
				t.Fatalf("still stuck: %+v", c.Stats())
			}
		}
		if s := c.Stats(); s.Stuck != 1 || s.Connects != 2 || s.Lost != 0 || time.Since(start) < 4*time.Second {
			t.Errorf("%+v after %v", s, time.Since(start))
		}
		// One that is answered late, but is, keeps its connection.
		for range 50 {
			if err := call(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		if s := c.Stats(); s.Connects != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// A silent server's connection is closed after StuckTimeout, with most credits still free. The
// connection of a server that answers other Calls is not.
func TestSilentConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		var silence, drop atomic.Bool
		var silenced atomic.Pointer[rdmaio.Conn] // the next connection is answered
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if drop.Swap(false) || silence.Load() && (silenced.CompareAndSwap(nil, r.Conn().(*rdmaio.Conn)) || silenced.Load() == r.Conn().(*rdmaio.Conn)) {
				r.Drop(nil)
				return
			}
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
		}), nil)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{StuckTimeout: 4 * time.Second, Conn: &rdmaio.Config{Credits: 1000, NoCancel: true}})
		call := func() error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40))
			return err
		}
		for i := range 30 { // one Call of all is never answered
			drop.Store(i == 1)
			if err := call(); (err != nil) != (i == 1) {
				t.Errorf("Call %d: %v", i, err)
			}
			time.Sleep(time.Second)
		}
		if s := c.Stats(); s.Stuck != 0 || s.Connects != 1 {
			t.Errorf("a server that answers: %+v", s)
		}
		silence.Store(true)
		forever := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
			forever <- err
		}()
		start := time.Now()
		for c.Stats().Stuck == 0 && time.Since(start) < time.Minute {
			if err := call(); !errors.Is(err, context.DeadlineExceeded) && c.Stats().Stuck == 0 {
				t.Error(err)
			}
		}
		if s := c.Stats(); s.Stuck != 1 || s.Lost != 0 || time.Since(start) < 4*time.Second || time.Since(start) > 8*time.Second {
			t.Errorf("a silent server: %+v after %v", s, time.Since(start))
		}
		if err := call(); err != nil {
			t.Error(err)
		}
		if err := <-forever; err != nil {
			t.Errorf("the Call without a deadline: %v", err)
		}
	})
}

// An error of Connected counts as a failure to connect; no Call is sent before Connected returns.
func TestConnectedComesBeforeEachCall(t *testing.T) {
	w := rdmaiotest.New(t)
	b := breaks(w, 0, false)
	tries := 0
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{WaitForServer: true, Connected: func(ctx context.Context, conn *rdmaio.Conn) error {
		if tries++; tries < 3 {
			return errors.New("not today")
		}
		_, err := conn.Call(ctx, rpctest.NullCall(0xfeed, 40))
		return err
	}})
	if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
		t.Fatal(err)
	}
	if len(b.xids) != 2 || b.xids[0] != 0xfeed {
		t.Errorf("the server received %#x", b.xids)
	}
	if s := c.Stats(); s.DialFailures != 2 || s.Connects != 1 {
		t.Errorf("%+v", s)
	}
}

// Close makes Calls fail in every state: in progress, waiting for a connection, between two tries.
func TestCloseEndsCallsInEachState(t *testing.T) {
	for _, serving := range []bool{true, false} {
		w := rdmaiotest.New(t)
		var held []*rdmaio.Request
		var mu sync.Mutex
		if serving {
			w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				mu.Lock()
				defer mu.Unlock()
				held = append(held, r)
			}), nil)
		}
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{WaitForServer: true, MinBackoff: time.Hour, MaxBackoff: time.Hour})
		errs := make(chan error, 4)
		for range cap(errs) {
			go func() {
				_, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40))
				errs <- err
			}()
		}
		time.Sleep(5 * time.Millisecond) // any state is right
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for range cap(errs) {
			if err := <-errs; !errors.Is(err, rdmaio.ErrClosed) {
				t.Error(err)
			}
		}
		if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); !errors.Is(err, rdmaio.ErrClosed) {
			t.Error(err)
		}
		mu.Lock()
		for _, r := range held {
			r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
		}
		mu.Unlock()
	}
}

// Wrong configurations are refused at once, with the field.
func TestClientConfigIsRefusedByItsField(t *testing.T) {
	w := rdmaiotest.New(t)
	for want, cfg := range map[string]*rdmaio.ClientConfig{
		"MaxBackoff": {MinBackoff: time.Minute},
		"Credits":    {Conn: &rdmaio.Config{Credits: -1}},
	} {
		if _, err := rdmaio.NewClient(w.Client, "x", cfg); !errors.Is(err, verbs.ErrInvalidValue) || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}

// A server closes its connections repeatedly: each of many callers gets its result, and a Call is
// executed at least once and at most as often as it was sent.
func TestCallsSurviveAConnectionThatCloses(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) { clientStorm(t, w, 1) })
}

// The same with several connections, which are closed together.
func TestCallsSurviveConnectionsThatCloseTogether(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) { clientStorm(t, w, 3) })
}

// clientStorm is TestCallsSurviveAConnectionThatCloses with a number of connections.
func clientStorm(t *testing.T, w *rdmaiotest.World, connections int) {
	var (
		mu       sync.Mutex
		executed = make(map[uint32]int)
	)
	rdmaiotest.ServeCut(w, 37, nil, rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		xid := binary.BigEndian.Uint32(r.Message)
		mu.Lock()
		executed[xid]++
		mu.Unlock()
		e := rpctest.ReplyHeader(xid)
		e.Words(xid) // the result
		r.Reply(e.Message(), nil)
	}))
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Retransmits: 1000, Connections: connections})
	var callers sync.WaitGroup
	for caller := range 8 {
		do := rpctest.Form(oncrpc.Carrier.Call)
		if caller%2 > 0 {
			do = rpctest.Submitted
		}
		callers.Go(func() {
			for i := range 100 {
				xid := c.XID()
				call := rpctest.NullCall(xid, 40)
				if i%3 == 0 {
					call = rpctest.WriteCall(xid, 0, rdmaiotest.Pattern(3000, uint64(xid)))
				}
				reply, err := do(c, context.Background(), call)
				if err != nil {
					t.Error(err)
					return
				}
				if got := binary.BigEndian.Uint32(reply.Message[24:]); got != xid {
					t.Errorf("the result of %#x came to %#x", got, xid)
				}
			}
		})
	}
	callers.Wait()
	s := c.Stats()
	mu.Lock() // Calls whose replies are lost may be executed still
	defer mu.Unlock()
	if len(executed) != 800 || s.Lost == 0 || s.Retransmissions == 0 {
		t.Errorf("%d Calls executed, want 800; %+v", len(executed), s)
	}
	total := 0
	for _, times := range executed {
		total += times
	}
	if uint64(total) > 800+s.Retransmissions {
		t.Errorf("%d executions of 800 Calls, %d of them sent again", total, s.Retransmissions)
	}
}

// A Call that only waited for a credit when the connection was lost was not sent, and is not
// counted as sent again.
func TestRetransmissionsAreOfCallsSent(t *testing.T) {
	w := rdmaiotest.New(t)
	got := make(chan *rdmaio.Request, 8)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { got <- r }), nil)
	conns := make(chan *rdmaio.Conn, 2)
	c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connected: func(_ context.Context, c *rdmaio.Conn) error { conns <- c; return nil }})
	var callers sync.WaitGroup
	for _, do := range []rpctest.Form{oncrpc.Carrier.Call, rpctest.Submitted, rpctest.Submitted, rpctest.Submitted} {
		callers.Go(func() {
			if _, err := do(c, context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
				t.Error(err)
			}
		})
	}
	first, conn := <-got, <-conns // a connection begins with one credit: three wait
	rdmaiotest.AwaitStats(t, conn, func(st *rdmaio.Stats) bool { return st.Waiting == 3 })
	callers.Go(func() { _ = first.Conn().(*rdmaio.Conn).Close() })
	<-first.Context().Done()
	first.Drop(nil)
	for range 4 {
		r := <-got
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
	}
	callers.Wait()
	if n := c.Stats().Retransmissions; n != 1 {
		t.Errorf("%d were sent again, want 1", n)
	}
}
