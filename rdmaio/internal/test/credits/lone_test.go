package credits

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// Procedures of the server that gets lone Calls.
const (
	loneEcho = iota
	loneSlow // answers when it is released
	loneBack // calls back, and answers then
)

// loneWorld has a client whose Calls are mostly alone on their connection.
type loneWorld struct {
	*rpctest.Both
	t       *testing.T
	w       *rdmaiotest.World
	release chan struct{}
	started chan struct{} // a slow Call has arrived
}

func newLone(t *testing.T, w *rdmaiotest.World) *loneWorld {
	l := &loneWorld{t: t, w: w, release: make(chan struct{}), started: make(chan struct{}, 8)}
	echo := func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: append(rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf, r.Message[20:24]...)}, nil)
	}
	l.Both = rpctest.NewBoth(w, rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		switch binary.BigEndian.Uint32(r.Message[20:]) {
		case loneSlow:
			l.started <- struct{}{}
			<-l.release
		case loneBack:
			if err := loneCall(context.Background(), r.Conn().(*rdmaio.Conn), loneEcho); err != nil {
				t.Error(err)
			}
		}
		echo(r)
	}), rdmaio.HandlerFunc(echo), rdmaio.Config{}, rdmaio.Config{})
	return l
}

func loneCall(ctx context.Context, c *rdmaio.Conn, proc uint32) error {
	reply, err := c.Call(ctx, &rdmaio.Call{Message: rpctest.CallHeader(c.XID(), proc).Message()})
	if err != nil {
		return err
	}
	if got := binary.BigEndian.Uint32(reply.Message[24:]); got != proc {
		return fmt.Errorf("the answer is to procedure %d, want %d", got, proc)
	}
	return nil
}

// calls makes lone Calls, until callers handle replies by themselves.
func (l *loneWorld) calls() {
	l.t.Helper()
	for range 30 {
		if err := loneCall(context.Background(), l.Client, loneEcho); err != nil {
			l.t.Fatal(err)
		}
	}
}

// slow makes a Call that the server answers when it is released, and returns when it has arrived.
func (l *loneWorld) slow(ctx context.Context) <-chan error {
	failed := make(chan error, 1)
	go func() { failed <- loneCall(ctx, l.Client, loneSlow) }()
	<-l.started
	return failed
}

func eachLone(t *testing.T, test func(l *loneWorld)) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) { test(newLone(t, w)) })
}

// The caller of a Call that is alone on its connection handles the reply itself, over providers
// with a stream.
func TestLoneCallerHandlesItsReply(t *testing.T) {
	eachLone(t, func(l *loneWorld) {
		for range 20 {
			l.calls()
		}
		if n := l.w.Progressed(); n == 0 && l.w.Net == nil {
			t.Error("no caller has handled its reply")
		}
		l.Quiet(l.t)
	})
}

// A second Call does not wait for the first, whether that is fast or slow.
func TestSecondCallDoesNotWaitForALoneOne(t *testing.T) {
	eachLone(t, func(l *loneWorld) {
		for range 8 {
			l.calls()
			first := l.slow(context.Background())
			for range 3 {
				if err := loneCall(context.Background(), l.Client, loneEcho); err != nil {
					l.t.Error(err)
				}
			}
			l.release <- struct{}{}
			if err := <-first; err != nil {
				l.t.Error(err)
			}
			// After the reply to the first, the slow second Call is still in progress.
			l.calls()
			second := l.slow(context.Background())
			if err := loneCall(context.Background(), l.Client, loneEcho); err != nil {
				l.t.Error(err)
			}
			l.release <- struct{}{}
			if err := <-second; err != nil {
				l.t.Error(err)
			}
		}
		l.Quiet(l.t)
	})
}

// If the context is done while the caller waits in a read, the Call returns soon, and no byte of
// the stream is lost.
func TestContextEndsALoneCall(t *testing.T) {
	eachLone(t, func(l *loneWorld) {
		for i := range 8 {
			l.calls()
			ctx, cancel := context.WithCancel(context.Background())
			failed := l.slow(ctx)
			time.Sleep(time.Duration(i) * 300 * time.Microsecond)
			cancel()
			if err := <-failed; !errors.Is(err, context.Canceled) {
				l.t.Errorf("a cancelled Call: %v", err)
			}
			l.release <- struct{}{}
		}
		l.calls()
		l.Quiet(l.t)
	})
}

// A handler of a reverse Call runs while the caller of a lone Call waits in a read, and that Call
// has its answer only afterwards.
func TestReverseCallRunsDuringALoneCall(t *testing.T) {
	eachLone(t, func(l *loneWorld) {
		for range 20 {
			l.calls()
			for range 3 {
				if err := loneCall(context.Background(), l.Client, loneBack); err != nil {
					l.t.Error(err)
				}
			}
			// The server calls while no caller of the client reads.
			if err := loneCall(context.Background(), l.Server, loneEcho); err != nil {
				l.t.Error(err)
			}
		}
		l.Quiet(l.t)
	})
}

// Close at either side makes a lone Call fail.
func TestCloseEndsALoneCall(t *testing.T) {
	for _, byServer := range []bool{false, true} {
		eachLone(t, func(l *loneWorld) {
			l.calls()
			failed := l.slow(context.Background())
			conn := l.Client
			if byServer {
				conn = l.Server
			}
			closed := make(chan error)
			go func() { closed <- conn.Close() }()
			if err := <-failed; err == nil || byServer == errors.Is(err, rdmaio.ErrClosed) {
				l.t.Errorf("closed by the server: %v: %v", byServer, err)
			}
			close(l.release)
			if err := <-closed; err != nil {
				l.t.Error(err)
			}
		})
	}
}

// Lone Calls and others, with pauses, chunks, reverse Calls and contexts that are cancelled, all
// return.
func TestLoneAndOtherCallsEnd(t *testing.T) {
	eachLone(t, func(l *loneWorld) {
		rounds := 400
		if testing.Short() {
			rounds = 100
		}
		var wg sync.WaitGroup
		for g := range 2 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 0))
				buf := make([]byte, 20<<10)
				for range rounds {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					var err error
					switch n := rng.IntN(100); {
					case n < 80:
						err = loneCall(ctx, l.Client, loneEcho)
					case n < 84:
						err = loneCall(ctx, l.Client, loneBack)
					case n < 88:
						err = loneCall(ctx, l.Server, loneEcho)
					case n < 92:
						call := &rdmaio.Call{Message: rpctest.CallHeader(l.Client.XID(), loneEcho).Message(), ReplyBuf: buf, MaxReply: len(buf)}
						_, err = l.Client.Call(ctx, call)
					case n < 96:
						time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
					default:
						short, stop := context.WithTimeout(ctx, time.Duration(rng.IntN(100))*time.Microsecond)
						if err = loneCall(short, l.Client, loneEcho); errors.Is(err, context.DeadlineExceeded) {
							err = nil
						}
						stop()
					}
					cancel()
					if err != nil {
						l.t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		l.Quiet(l.t)
	})
}
