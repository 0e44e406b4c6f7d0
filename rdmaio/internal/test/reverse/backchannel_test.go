package reverse

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// session is a server whose clients report with their first Call on each connection that they can
// be called.
type session struct {
	back *rdmaio.Backchannel
}

// ServeRPC implements rdmaio.Handler.
func (s *session) ServeRPC(r *rdmaio.Request) {
	s.back.Bind(r.Conn().(*rdmaio.Conn))
	r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
}

// T120, R272, R278, R279: a reverse Call whose connection is lost waits for the client, which
// connects again by itself, and is sent again there with the same XID, all within one Call of the
// server.
func TestBackchannelSendsAgain(t *testing.T) {
	rdmaiotest.EachVersion(t, func(t *testing.T, w *rdmaiotest.World) {
		back := rdmaio.NewBackchannel(nil)
		server := w.Serve(&session{back}, &rdmaio.Config{ReverseCredits: 4})
		var mu sync.Mutex
		var xids []uint32
		var wg sync.WaitGroup
		t.Cleanup(wg.Wait)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
			Conn: &rdmaio.Config{ReverseHandler: rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				mu.Lock()
				xids = append(xids, binary.BigEndian.Uint32(r.Message))
				lose := len(xids) < 3
				mu.Unlock()
				if lose {
					for _, conn := range server.Conns() {
						wg.Add(1)
						go func() { defer wg.Done(); _ = conn.Close() }()
					}
					r.Drop(nil)
					return
				}
				r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
			})},
			Connected: func(ctx context.Context, conn *rdmaio.Conn) error {
				_, err := conn.Call(ctx, rpctest.NullCall(1, 40))
				return err
			},
		})
		// makes the first connection
		if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
			t.Fatal(err)
		}
		xid := back.XID()
		if _, err := back.Call(context.Background(), rpctest.NullCall(xid, 40)); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(xids) != 3 || xids[0] != xid || xids[1] != xid || xids[2] != xid {
			t.Errorf("the client received %#x, want %#x three times", xids, xid)
		}
		// The Call may return before its connection is counted. If it comes while Connected runs,
		// the handler closes a connection that then counts as failed.
		s := c.Stats()
		for range 1000 {
			if s = c.Stats(); s.Connects+s.DialFailures == 3 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if s.Connects+s.DialFailures != 3 || s.Lost+s.DialFailures != 2 || back.Retransmissions() != 2 {
			t.Errorf("%+v, %d sent again", s, back.Retransmissions())
		}
	})
}

// R278: handlers of a lost connection may run late and Bind it after the one that is up: Calls use
// the one that is up.
func TestBackchannelMayBindLate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		binds []int // connections, in order
		lost  int   // the one that ends, before or after all Binds
		first bool
	}{
		{"ended", []int{0, 1, 0}, 0, true},
		{"ends then", []int{0, 1, 0}, 0, false},
		{"the newer ends", []int{0, 1}, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := rdmaiotest.New(t)
			bound := make(chan *rdmaio.Conn, 1)
			w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				bound <- r.Conn().(*rdmaio.Conn)
				r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
			}), &rdmaio.Config{ReverseCredits: 4})
			back := rdmaio.NewBackchannel(&rdmaio.BackchannelConfig{Wait: 3 * time.Second})
			var conns [2]*rdmaio.Conn
			for i := range conns {
				c := w.Dial(&rdmaio.Config{ReverseHandler: rdmaio.HandlerFunc(func(r *rdmaio.Request) {
					r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
				})})
				if _, err := c.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
					t.Fatal(err)
				}
				conns[i] = <-bound
			}
			if tt.first {
				_ = conns[tt.lost].Close()
			}
			for _, i := range tt.binds {
				back.Bind(conns[i])
			}
			_ = conns[tt.lost].Close()
			if _, err := back.Call(context.Background(), rpctest.NullCall(back.XID(), 40)); err != nil {
				t.Error(err)
			}
		})
	}
}

// R278: the wait for a client is bounded by Wait, by the Call's context, and by Close.
func TestWaitOfABackchannelIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			wait, limit, closed time.Duration
			took                time.Duration
			want                error
		}{
			{0, 0, 0, 90 * time.Second, rdmaio.ErrNoClient},
			{time.Second, 0, 0, time.Second, rdmaio.ErrNoClient},
			{time.Minute, 5 * time.Second, 0, 5 * time.Second, context.DeadlineExceeded},
			{-1, time.Hour, 0, time.Hour, context.DeadlineExceeded},
			{-1, 0, 3 * time.Second, 3 * time.Second, rdmaio.ErrClosed},
		} {
			back := rdmaio.NewBackchannel(&rdmaio.BackchannelConfig{Wait: tt.wait})
			ctx, cancel := context.WithCancel(context.Background())
			if tt.limit > 0 {
				ctx, cancel = context.WithTimeout(ctx, tt.limit)
			}
			if tt.closed > 0 {
				time.AfterFunc(tt.closed, back.Close)
			}
			start := time.Now()
			_, err := back.Call(ctx, rpctest.NullCall(back.XID(), 40))
			var ce *rdmaio.CallError
			if !errors.As(err, &ce) || !errors.Is(err, tt.want) || ce.MayHaveRun || time.Since(start) != tt.took {
				t.Errorf("%+v: %v after %v", tt, err, time.Since(start))
			}
			cancel()
		}
	})
}

// R279, R292: with a reverse handler a connection is kept although there are no Calls.
func TestReverseHandlerKeepsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		server := w.Serve(&rpctest.File{T: t}, &rdmaio.Config{IdleTimeout: -1})
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
			Conn:        &rdmaio.Config{ReverseHandler: &rpctest.File{T: t}},
			IdleTimeout: time.Minute,
		})
		time.Sleep(time.Hour)
		if s := c.Stats(); s.Connects != 0 {
			t.Errorf("connected before the first Call: %+v", s)
		}
		if _, err := c.Call(context.Background(), rpctest.NullCall(c.XID(), 40)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if s := c.Stats(); s.Connects != 1 || s.IdleCloses != 0 {
			t.Errorf("%+v", s)
		}
		for _, conn := range server.Conns() {
			_ = conn.Close()
		}
		time.Sleep(time.Minute)
		if s := c.Stats(); s.Connects != 2 || s.Lost != 1 {
			t.Errorf("not replaced: %+v", s)
		}
	})
}

// R279: a server that answers the Call of ClientConfig.Connected and then closes each connection
// does not make a Client with a reverse handler connect without a pause.
func TestUselessConnectionIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		server := w.Serve(&rpctest.File{T: t}, nil)
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
			Conn: &rdmaio.Config{ReverseHandler: &rpctest.File{T: t}}, MinBackoff: time.Second, MaxBackoff: 8 * time.Second,
			Connected: func(ctx context.Context, c *rdmaio.Conn) error {
				_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40))
				go func() {
					for _, conn := range server.Conns() {
						_ = conn.Close()
					}
				}()
				return err
			},
		})
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		_, _ = c.Call(ctx, rpctest.NullCall(c.XID(), 40))
		before := c.Stats().Connects
		time.Sleep(time.Minute)
		if n := c.Stats().Connects - before; n < 5 || n > 30 {
			t.Errorf("%d connections in a minute without a Call", n)
		}
	})
}
