package tcp_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Calls that find others in progress spread over ClientConfig.Connections connections. When all
// have Config.MaxCalls Calls, further ones wait for the first that returns, on any of them.
func TestClientSpreadsCallsOverConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		calls := make(map[oncrpc.Conn]int)
		release := make(chan struct{})
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			mu.Lock()
			calls[r.Conn()]++
			mu.Unlock()
			<-release
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), &tcp.Config{MaxReply: 4096})
		c, err := tcp.NewClient("", &tcp.ClientConfig{Connections: 3, Dial: ln.connect, Conn: &tcp.Config{MaxCalls: 2}})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { double(t, c) })
			synctest.Wait()
		}
		mu.Lock()
		if len(calls) != 3 {
			t.Errorf("%d connections have Calls, want 3", len(calls))
		}
		for _, n := range calls {
			if n != 2 {
				t.Errorf("the connections have %v Calls, want Config.MaxCalls on each", calls)
				break
			}
		}
		mu.Unlock()
		for range 10 {
			release <- struct{}{}
		}
		wg.Wait()
		if st := c.Stats(); st != (tcp.ClientStats{Connects: 3, DelayedCalls: 4}) {
			t.Errorf("%+v", st)
		}
		_, _ = c.Close(), s.Close()
	})
}

// With one connection, the default, all Calls share it, and wait there.
func TestClientHasOneConnectionByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			time.Sleep(time.Second)
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), nil)
		c, err := tcp.NewClient("", &tcp.ClientConfig{Dial: ln.connect, Conn: &tcp.Config{MaxCalls: 2}})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() { double(t, c) })
		}
		wg.Wait()
		if st := c.Stats(); st != (tcp.ClientStats{Connects: 1}) {
			t.Errorf("%+v", st)
		}
		_, _ = c.Close(), s.Close()
	})
}

// A connection on which a cancelled Call has no reply, and nothing else arrives, is replaced after
// StuckTimeout: by default after a minute, and never if it is negative. Replies to other Calls,
// Calls of the server, and parts of a long reply show that the server is alive.
func TestStuckConnectionIsReplaced(t *testing.T) {
	for _, tt := range []struct {
		name     string
		limit    time.Duration
		alive    string
		replaced time.Duration // not before, and not later than half as much again; 0: never
	}{
		{name: "default", replaced: time.Minute},
		{name: "4 s", limit: 4 * time.Second, replaced: 4 * time.Second},
		{name: "off", limit: -1},
		{name: "replies arrive", limit: 4 * time.Second, alive: "reply"},
		{name: "Calls arrive", limit: 4 * time.Second, alive: "call"},
		{name: "a long reply arrives", limit: 4 * time.Second, alive: "part"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var dials int
			c, err := tcp.NewClient("", &tcp.ClientConfig{
				StuckTimeout: tt.limit, IdleTimeout: -1,
				Dial: func(_ context.Context, _ string, cfg *tcp.Config) (*tcp.Conn, error) {
					dials++
					ours, theirs := net.Pipe()
					go hungServer(theirs, tt.alive)
					return tcp.NewConn(ours, &tcp.Config{RecordTimeout: -1, MaxRecord: 64 << 20}), nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			start := time.Now()
			_, err = c.Call(ctx, callOf(7, 0))
			wantError(t, err, context.DeadlineExceeded, true)
			for c.Stats().Stuck == 0 && time.Since(start) < 5*time.Minute {
				time.Sleep(time.Second / 2)
			}
			took := time.Since(start)
			if tt.replaced == 0 && c.Stats().Stuck != 0 {
				t.Errorf("%s: replaced after %v", tt.name, took)
			} else if tt.replaced != 0 && (took < tt.replaced || took > tt.replaced*3/2+time.Second) {
				t.Errorf("%s: replaced after %v, want %v to 1.5 times as much: %+v", tt.name, took, tt.replaced, c.Stats())
			}
			ctx, stop = context.WithTimeout(t.Context(), time.Second)
			defer stop()
			_, _ = c.Call(ctx, callOf(8, 0))
			if want := 1 + int(c.Stats().Stuck); dials != want {
				t.Errorf("%s: %d connections, want %d", tt.name, dials, want)
			}
			_ = c.Close()
		})
	}
}

// hungServer reads Calls and answers none. Each second it sends a sign of life.
func hungServer(nc net.Conn, alive string) {
	defer nc.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for b := make([]byte, 1<<10); ; {
			if _, err := nc.Read(b); err != nil {
				return
			}
		}
	}()
	part := make([]byte, 64<<10)
	sign := map[string][]byte{"reply": goodReply(99), "call": goodCall(99), "part": part}[alive]
	if alive == "part" {
		_, _ = nc.Write([]byte{0x83, 0xc0, 0, 0}) // a reply of 60 MiB
	}
	for {
		select {
		case <-gone:
			return
		case <-time.After(time.Second):
		}
		if len(sign) > 0 {
			if _, err := nc.Write(sign); err != nil {
				return
			}
		}
	}
}
