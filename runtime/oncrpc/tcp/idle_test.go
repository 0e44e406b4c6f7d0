package tcp_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// held answers each Call when its XID, in seconds, is over, and knows the connections.
func held(conns *sync.Map) oncrpc.Handler {
	return oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		conns.Store(r.Conn(), true)
		time.Sleep(time.Duration(xidOf(r)) * time.Second)
		r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
	})
}

// A server closes a connection that is idle for IdleTimeout, but not one that has a Request, that
// is receiving one, or that the server may call on.
func TestServerClosesIdleConnections(t *testing.T) {
	const limit = 100 * time.Second
	for _, tt := range []struct {
		name string
		use  func(t *testing.T, c *tcp.Conn, conns *sync.Map, theirs net.Conn)
		up   bool // after twice the limit
	}{
		{"idle", func(t *testing.T, c *tcp.Conn, _ *sync.Map, _ net.Conn) { call(t, c, 0) }, false},
		{"a slow handler", func(t *testing.T, c *tcp.Conn, _ *sync.Map, _ net.Conn) { go call(t, c, 250) }, true},
		{"answered late", func(t *testing.T, c *tcp.Conn, _ *sync.Map, _ net.Conn) { call(t, c, 250) }, false},
		{"called now and then", func(t *testing.T, c *tcp.Conn, _ *sync.Map, _ net.Conn) {
			go func() {
				for range 2 {
					call(t, c, 0)
					time.Sleep(limit - 7*time.Second)
				}
				call(t, c, 0)
			}()
		}, true},
		{"may be called", func(t *testing.T, c *tcp.Conn, conns *sync.Map, _ net.Conn) {
			call(t, c, 0)
			conns.Range(func(c, _ any) bool {
				c.(oncrpc.Conn).AllowReverse()
				return true
			})
		}, true},
		{"half of a record", func(t *testing.T, c *tcp.Conn, _ *sync.Map, ours net.Conn) {
			call(t, c, 0)
			_, _ = ours.Write(goodCall(2)[:20])
		}, true},
		{"no message", func(*testing.T, *tcp.Conn, *sync.Map, net.Conn) {}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conns := new(sync.Map)
				s, p := servePipes(t, held(conns), &tcp.Config{IdleTimeout: limit, FirstCallTimeout: -1, RecordTimeout: -1, Logger: quiet})
				ours := p.dial()
				c := tcp.NewConn(ours, &tcp.Config{Logger: quiet})
				tt.use(t, c, conns, ours)
				time.Sleep(limit - time.Second)
				if err := c.Err(); err != nil {
					t.Errorf("closed before the limit: %v", err)
				}
				time.Sleep(limit + time.Second)
				if up, st := c.Err() == nil, s.Stats(); up != tt.up || st.IdleCloses > 0 == tt.up {
					t.Errorf("up: %v, want %v; %v, %+v", up, tt.up, c.Err(), st)
				}
				_, _ = c.Close(), s.Close()
			})
		})
	}
}

// call makes a Call that is answered after so many seconds.
func call(t *testing.T, c *tcp.Conn, seconds uint32) {
	if _, err := c.Call(context.Background(), callOf(seconds, 0)); err != nil && !errors.Is(err, oncrpc.ErrClosed) {
		t.Error(err)
	}
}

// With MaxConns connections, a further one takes the place of the one that is idle for longest. It
// is rejected if all are in use, with the name of the limit, over TCP and over another stream.
func TestIdleConnectionMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := servePipes(t, held(new(sync.Map)), &tcp.Config{MaxConns: 4, Logger: quiet})
		quietly := &tcp.Config{Logger: quiet}
		var all []*tcp.Conn
		open := func() *tcp.Conn {
			c := tcp.NewConn(p.dial(), quietly)
			all = append(all, c)
			return c
		}
		for i := range 4 {
			call(t, open(), 0)
			time.Sleep(time.Second)
			if i == 2 {
				call(t, all[0], 0) // now the second one is idle for longest
				time.Sleep(time.Second)
			}
		}
		go call(t, all[2], 60) // in use
		synctest.Wait()
		for i, displaced := range []int{1, 0, 3} {
			go call(t, open(), 60)
			synctest.Wait()
			for k, c := range all[:4] {
				if gone := c.Err() != nil; gone != (k == displaced || i > 0 && k == 1 || i > 1 && k == 0) {
					t.Errorf("new connection %d: connection %d is down: %v", i, k, c.Err())
				}
			}
			if err := all[displaced].Err(); !errors.Is(err, tcp.ErrIdle) {
				t.Errorf("connection %d: %v", displaced, err)
			}
		}
		c := open() // all are in use
		synctest.Wait()
		if err := c.Err(); !errors.Is(err, tcp.ErrFull) || !strings.Contains(err.Error(), "MaxConns") {
			t.Errorf("found %v, want ErrFull with the name of the limit", err)
		}
		if st := s.Stats(); st.Displaced != 3 || st.Rejected != 1 || st.Conns != 4 {
			t.Errorf("%+v", st)
		}
		for _, c := range all {
			_ = c.Close()
		}
		_ = s.Close()
	})
}

// A connection that has had a Call makes room for another one only after a second, and so does one
// whose first Call may be on its way. Clients that take turns do not take each other's place.
func TestIdleForAnInstantMakesNoRoom(t *testing.T) {
	for _, called := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, p := servePipes(t, held(new(sync.Map)), &tcp.Config{MaxConns: 1, Logger: quiet})
			quietly := &tcp.Config{Logger: quiet}
			first := tcp.NewConn(p.dial(), quietly)
			if called {
				call(t, first, 1)
			}
			time.Sleep(900 * time.Millisecond)
			second := tcp.NewConn(p.dial(), quietly)
			synctest.Wait()
			if first.Err() != nil || !errors.Is(second.Err(), tcp.ErrFull) {
				t.Errorf("called %v: the first: %v, the second: %v", called, first.Err(), second.Err())
			}
			time.Sleep(100 * time.Millisecond)
			third := tcp.NewConn(p.dial(), quietly)
			synctest.Wait()
			if first.Err() == nil || third.Err() != nil {
				t.Errorf("called %v: after a second: the first: %v, the third: %v", called, first.Err(), third.Err())
			}
			_, _, _, _ = first.Close(), second.Close(), third.Close(), s.Close()
		})
	}
}

// A server without a place for a source says so, and displaces no other source's connection.
func TestRefusedClientReadsWhichLimit(t *testing.T) {
	for _, tt := range []struct {
		cfg   tcp.Config
		limit string
	}{{tcp.Config{MaxPerSource: 1, MaxConns: 1, Logger: quiet}, "MaxPerSource"}, {tcp.Config{MaxConns: 1, Logger: quiet}, "MaxConns"}} {
		release := make(chan struct{})
		s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			<-release
			r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
		}), &tt.cfg)
		first := dial(t, s.Addr(), &tcp.Config{Logger: quiet})
		answered := make(chan error, 1)
		go func() {
			_, err := first.Call(t.Context(), callOf(1, 0))
			answered <- err
		}()
		for s.Stats().Conns == 0 || s.Stats().Memory == 0 {
			time.Sleep(time.Millisecond)
		}
		second := dial(t, s.Addr(), &tcp.Config{Logger: quiet})
		_, err := second.Call(t.Context(), callOf(2, 0))
		wantError(t, err, tcp.ErrFull, false)
		if !strings.Contains(err.Error(), "Config."+tt.limit) {
			t.Errorf("found %v, want the name of the limit, %s", err, tt.limit)
		}
		close(release)
		select {
		case err := <-answered:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(leak.Patience()):
			t.Fatal("no answer")
		}
	}
}

// The client of an idle connection learns that its Calls were not executed, unless a handler has
// dropped one, which may have been.
func TestGoodbyeAfterADroppedRequest(t *testing.T) {
	for _, drop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, p := servePipes(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				if drop && xidOf(r) == 2 {
					r.Drop(nil)
					return
				}
				r.Reply(oncrpc.Message{Inline: goodReply(xidOf(r))[4:]}, nil)
			}), &tcp.Config{IdleTimeout: time.Minute, Logger: quiet})
			c := tcp.NewConn(p.dial(), &tcp.Config{Logger: quiet})
			call(t, c, 1)
			if drop {
				go func() {
					_, err := c.Call(context.Background(), callOf(2, 0))
					wantError(t, err, tcp.ErrPeerClosed, true)
				}()
			}
			time.Sleep(2 * time.Minute)
			if err := c.Err(); errors.Is(err, tcp.ErrIdle) == drop || err == nil {
				t.Errorf("a dropped Request: %v, found %v", drop, err)
			}
			_, _ = c.Close(), s.Close()
		})
	}
}
