package reconnect_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/reconnect"
	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var (
	errClosed = errors.New("closed")
	errLost   = errors.New("lost")
)

// conn is a connection to nothing.
type conn struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	room    atomic.Int64
	replied atomic.Bool
	release chan struct{} // Close waits for it, if not nil
	failure error         // of Close
}

func newConn() *conn {
	c := new(conn)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.room.Store(1)
	return c
}

func (c *conn) Err() error            { return context.Cause(c.ctx) }
func (c *conn) Done() <-chan struct{} { return c.ctx.Done() }
func (c *conn) Close() error {
	c.cancel(errClosed)
	if c.release != nil {
		<-c.release
	}
	return c.failure
}

// newPool returns a Pool whose attempts make connections, and the connections made.
func newPool(t *testing.T, change func(cfg *reconnect.Config[*conn])) (*reconnect.Pool[*conn], chan *conn) {
	t.Helper()
	made := make(chan *conn, 100)
	cfg := reconnect.Config[*conn]{
		Rules: machine.Rules[*conn]{
			Connections: 1, MinBackoff: time.Second, MaxBackoff: time.Minute, DialFailures: -1,
			Room: func(c *conn) int { return int(c.room.Load()) }, Full: "room",
			Vitals:  func(c *conn) machine.Vitals { return machine.Vitals{Replied: c.replied.Load()} },
			Lasting: func(error) bool { return false }, Closed: errClosed,
		},
		Carrier: "test", Log: slog.New(slog.DiscardHandler), Ended: func(*conn) bool { return false },
	}
	cfg.Dial = func(context.Context) (*conn, error) {
		c := newConn()
		made <- c
		return c, nil
	}
	if change != nil {
		change(&cfg)
	}
	return reconnect.New(cfg), made
}

// A Call gets a connection, which serves the next Call, too. It is closed with the Pool.
func TestCallsShareAConnection(t *testing.T) {
	p, made := newPool(t, nil)
	c, err := p.Acquire(t.Context(), false)
	again, err2 := p.Acquire(t.Context(), false)
	if err != nil || err2 != nil || c != again || c != <-made {
		t.Fatalf("%v and %v, %v and %v", c, again, err, err2)
	}
	p.Release(c)
	if err := p.Close(); err != nil || c.Err() != errClosed {
		t.Errorf("%v, the connection has %v", err, c.Err())
	}
	if _, err := p.Acquire(t.Context(), false); err != errClosed {
		t.Errorf("after Close: %v", err)
	}
	if s := p.Stats(); s != (machine.Stats{Connects: 1}) {
		t.Errorf("%+v", s)
	}
}

// A connection that is lost is not kept: a Client that connects again for weeks does not grow.
func TestLostConnectionIsForgotten(t *testing.T) {
	p, made := newPool(t, nil)
	var lost weak.Pointer[conn]
	func() {
		c, err := p.Acquire(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		<-made
		c.replied.Store(true)
		p.Release(c)
		c.cancel(errLost)
		lost = weak.Make(c)
	}()
	for deadline := time.Now().Add(20 * time.Second); lost.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("the connection is kept: %+v", p.Stats())
		}
		time.Sleep(time.Millisecond)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// While an attempt is in progress, a Call waits until its context is done, and the attempt
// continues. Each attempt ends after DialTimeout, Connected included, and with Close.
func TestWaitsEndWithContextTimeoutAndClose(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit time.Duration
		in    string
		call  time.Duration // its context
		close time.Duration
		after time.Duration
		want  error
	}{
		{name: "context", in: "Dial", call: time.Minute, after: time.Minute, want: context.DeadlineExceeded},
		{name: "context is done", in: "Dial", call: -1, want: context.DeadlineExceeded},
		{name: "timeout", limit: 3 * time.Second, in: "Dial", after: 3 * time.Second, want: errLost},
		{name: "timeout of Connected", limit: 3 * time.Second, in: "Connected", after: 3 * time.Second, want: errLost},
		{name: "Close", in: "Dial", close: time.Hour, after: time.Hour, want: errClosed},
		{name: "Close during Connected", in: "Connected", close: time.Hour, after: time.Hour, want: errClosed},
	} {
		synctest.Test(t, func(t *testing.T) {
			made := newConn()
			p, _ := newPool(t, func(cfg *reconnect.Config[*conn]) {
				cfg.DialTimeout = tt.limit
				wait := func(ctx context.Context) error { <-ctx.Done(); return errLost }
				cfg.Dial = func(ctx context.Context) (*conn, error) {
					if tt.in == "Dial" {
						return nil, wait(ctx)
					}
					return made, nil
				}
				cfg.Connected = func(ctx context.Context, _ *conn) error { return wait(ctx) }
			})
			ctx, stop := t.Context(), context.CancelFunc(func() {})
			if tt.call != 0 {
				ctx, stop = context.WithTimeout(ctx, tt.call)
			}
			defer stop()
			if tt.close > 0 {
				time.AfterFunc(tt.close, func() { _ = p.Close() })
			}
			start := time.Now()
			_, err := p.Acquire(ctx, false)
			if took := time.Since(start); !errors.Is(err, tt.want) || took != tt.after {
				t.Errorf("%s: %v after %v, want %v after %v", tt.name, err, took, tt.want, tt.after)
			}
			if tt.limit > 0 && !strings.Contains(err.Error(), "within ClientConfig.DialTimeout (3s)") {
				t.Errorf("%s: %v does not name the limit", tt.name, err)
			}
			if _ = p.Close(); tt.in == "Connected" && made.Err() != errClosed {
				t.Errorf("%s: the connection has %v, want that it is closed", tt.name, made.Err())
			}
		})
	}
}

// A failure is logged with its reason and the pause. Calls wait through it, and the next attempt
// begins after the pause.
func TestAttemptFollowsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		attempts := 0
		p, _ := newPool(t, func(cfg *reconnect.Config[*conn]) {
			cfg.WaitForServer, cfg.Log = true, slog.New(slog.NewTextHandler(&out, nil))
			cfg.Dial = func(context.Context) (*conn, error) {
				if attempts++; attempts < 3 {
					return nil, errLost
				}
				return newConn(), nil
			}
		})
		start := time.Now()
		if _, err := p.Acquire(t.Context(), false); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); attempts != 3 || took < 1500*time.Millisecond || took > 3*time.Second {
			t.Errorf("%d attempts in %v, want 3 with pauses of 1 s and 2 s, each shortened by up to half", attempts, took)
		}
		_ = p.Close()
		for _, want := range []string{`msg="test: an attempt to connect failed" failures=1 reason=lost pause=`, "failures=2 "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, out.String())
			}
		}
	})
}

// Pauses differ, so that the clients of a lost server do not all come back at once.
func TestPausesDifferByChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(map[time.Duration]bool)
		for range 30 {
			p, _ := newPool(t, func(cfg *reconnect.Config[*conn]) {
				failed := false
				cfg.WaitForServer, cfg.Dial = true, func(context.Context) (*conn, error) {
					if failed = !failed; failed {
						return nil, errLost
					}
					return newConn(), nil
				}
			})
			start := time.Now()
			_, _ = p.Acquire(t.Context(), false)
			took := time.Since(start)
			if seen[took] = true; took < time.Second/2 || took > time.Second {
				t.Errorf("a pause of %v, want half a second to a second", took)
			}
			_ = p.Close()
		}
		if len(seen) < 25 {
			t.Errorf("30 pauses have %d lengths", len(seen))
		}
	})
}

// A lost connection is closed, and replaced for the next Call. Close waits for the end of a
// connection's handlers and returns the errors of all connections, each time.
func TestConnectionsAreClosedWhenTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := newPool(t, nil)
		c, _ := p.Acquire(t.Context(), false)
		c.failure, c.release = errors.New("the first"), make(chan struct{})
		c.replied.Store(true)
		c.cancel(errLost)
		next, err := p.Acquire(t.Context(), false)
		if err != nil || next == c || len(made) != 2 {
			t.Fatalf("%v, %d connections", err, len(made))
		}
		next.failure = errors.New("the second")
		if s := p.Stats(); s.Lost != 1 {
			t.Errorf("%+v", s)
		}
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		synctest.Wait()
		if len(closed) != 0 {
			t.Error("Close has returned while a handler runs")
		}
		close(c.release)
		for _, err := range []error{<-closed, p.Close()} {
			if !errors.Is(err, c.failure) || !errors.Is(err, next.failure) {
				t.Errorf("Close returned %v, want both errors", err)
			}
		}
	})
}

// The timer closes a connection that is idle, and each end of a connection is reported once, before
// the connection is closed by the Pool.
func TestIdleConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []error
		p, _ := newPool(t, func(cfg *reconnect.Config[*conn]) {
			cfg.IdleTimeout = time.Minute
			cfg.Ended = func(c *conn) bool { ended = append(ended, c.Err()); return false }
		})
		for n := range 2 {
			c, err := p.Acquire(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(90 * time.Second)
			p.Release(c)
			time.Sleep(59 * time.Second)
			if c.Err() != nil {
				t.Fatal("closed before IdleTimeout")
			}
			time.Sleep(2 * time.Second)
			if synctest.Wait(); c.Err() != errClosed || len(ended) != n+1 || ended[n] != nil {
				t.Errorf("after IdleTimeout the connection has %v, ends %v", c.Err(), ended)
			}
		}
		if s := p.Stats(); s != (machine.Stats{Connects: 2, IdleCloses: 2}) {
			t.Errorf("%+v", s)
		}
		_ = p.Close()
	})
}

// A refused connection is a failure, and a turn of the carrier makes the next attempt begin at
// once.
func TestEndsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused, turns := true, 1
		p, _ := newPool(t, func(cfg *reconnect.Config[*conn]) {
			cfg.WaitForServer, cfg.Random = true, func(time.Duration) time.Duration { return 0 }
			cfg.Ended = func(*conn) bool { return refused }
			cfg.Turned = func() bool { turns--; return turns == 0 }
		})
		start := time.Now()
		for _, want := range []time.Duration{0, 0, time.Second} {
			c, err := p.Acquire(t.Context(), false)
			if took := time.Since(start); err != nil || took != want {
				t.Errorf("a connection after %v, %v, want it after %v", took, err, want)
			}
			c.cancel(errLost)
			synctest.Wait()
		}
		if s := p.Stats(); s.DialFailures != 2 || s.Lost != 3 {
			t.Errorf("%+v, want that the first end has turned, and two are failures", s)
		}
		_ = p.Close()
	})
}

// With several connections, Calls spread, wait for room with a report that may call the Pool, and
// are served when there is some.
func TestCallsSpreadAndWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *reconnect.Pool[*conn]
		delayed := uint64(0)
		p, made := newPool(t, func(cfg *reconnect.Config[*conn]) {
			cfg.Connections, cfg.Delayed = 2, func() { delayed = p.Stats().Delayed }
		})
		first, _ := p.Acquire(t.Context(), false)
		second, _ := p.Acquire(t.Context(), false)
		if first == second || len(made) != 2 || delayed != 1 {
			t.Fatalf("%d connections for two Calls, %d delayed", len(made), delayed)
		}
		got := make(chan *conn, 1)
		go func() { c, _ := p.Acquire(t.Context(), false); got <- c }()
		synctest.Wait()
		second.room.Store(2)
		p.Room()
		if c := <-got; c != second || delayed != 2 {
			t.Errorf("another connection than that with room, %d delayed", delayed)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := p.Acquire(ctx, false); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "room") {
			t.Errorf("a Call without room: %v", err)
		}
		_ = p.Close()
	})
}

// Connections that match are taken from the Calls. When they are down, they are closed and
// replaced.
func TestDiscardedConnectionsAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, made := newPool(t, nil)
		c, _ := p.Acquire(t.Context(), false)
		c.replied.Store(true)
		if list := p.Discard(func(*conn) bool { return false }); len(list) != 0 {
			t.Errorf("%d discarded, want none", len(list))
		}
		list := p.Discard(func(found *conn) bool { return found == c })
		if len(list) != 1 || c.Err() != nil {
			t.Errorf("%d discarded, the connection has %v", len(list), c.Err())
		}
		time.AfterFunc(time.Minute, func() { c.cancel(errLost) })
		start := time.Now()
		if next, err := p.Acquire(t.Context(), false); err != nil || next == c || time.Since(start) != time.Minute || len(made) != 2 {
			t.Errorf("%v after %v, %d connections", err, time.Since(start), len(made))
		}
		_ = p.Close()
		if s := p.Stats(); s != (machine.Stats{Connects: 2}) {
			t.Errorf("%+v", s)
		}
	})
}

// Many Calls on connections that come and go: each gets a connection or an error, and nothing is
// left.
func TestManyCallsOnFailingConnections(t *testing.T) {
	p, made := newPool(t, func(cfg *reconnect.Config[*conn]) {
		cfg.Connections, cfg.MinBackoff, cfg.MaxBackoff, cfg.WaitForServer = 3, 1, 1, true
		cfg.IdleTimeout, cfg.StuckTimeout = time.Millisecond, time.Millisecond
		dial := cfg.Dial
		var n atomic.Int64
		cfg.Dial = func(ctx context.Context) (*conn, error) {
			if n.Add(1)%3 == 0 {
				return nil, errLost
			}
			c, err := dial(ctx)
			c.room.Store(2)
			return c, err
		}
	})
	go func() {
		for range made { // so that Dial does not block
		}
	}()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range 200 {
				ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
				c, err := p.Acquire(ctx, false)
				if stop(); err != nil {
					t.Error(err)
					return
				}
				if n%5 == 0 {
					c.cancel(errLost)
				}
				p.Release(c)
			}
		})
	}
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	close(made)
}
