package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// slow answers a Call after as many seconds as its XID says, and passes on the connections.
type slow struct{ conns chan oncrpc.Conn }

func (s slow) ServeRPC(r *rdmaio.Request) {
	s.conns <- r.Conn()
	time.Sleep(time.Duration(rpctest.XID(r.Message)) * time.Second)
	rpctest.Answer(r)
}

// A server closes a connection that is idle for IdleTimeout, in both versions, but not one that has
// a Call in progress, or on which it may call.
func TestServerClosesIdleConnections(t *testing.T) {
	const limit = 100 * time.Second
	for _, version := range []int{1, 2} {
		for _, tt := range []struct {
			name string
			use  func(call func(seconds uint32), conn <-chan oncrpc.Conn)
			up   bool // after twice the limit
		}{
			{"unused", func(func(uint32), <-chan oncrpc.Conn) {}, false},
			{"idle", func(call func(uint32), _ <-chan oncrpc.Conn) { call(0) }, false},
			{"in progress", func(call func(uint32), _ <-chan oncrpc.Conn) { go call(250) }, true},
			{"answered late", func(call func(uint32), _ <-chan oncrpc.Conn) { call(250) }, false},
			{"called now and then", func(call func(uint32), _ <-chan oncrpc.Conn) {
				go func() {
					for range 2 {
						call(0)
						time.Sleep(limit - 7*time.Second)
					}
					call(0)
				}()
			}, true},
			{"may be called", func(call func(uint32), conn <-chan oncrpc.Conn) {
				call(0)
				(<-conn).AllowReverse()
			}, true},
		} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, h := rdmaiotest.New(t), slow{make(chan oncrpc.Conn, 10)}
					s := w.Serve(h, &rdmaio.Config{IdleTimeout: limit, Versions: []int{version}})
					c := w.Dial(&rdmaio.Config{Versions: []int{version}})
					xid := uint32(0)
					tt.use(func(seconds uint32) {
						_, err := c.Call(context.Background(), rpctest.NullCall(seconds, 40))
						if err != nil && !errors.Is(err, rdmaio.ErrClosed) {
							t.Errorf("Call %d: %v", xid, err)
						}
					}, h.conns)
					time.Sleep(limit - time.Second)
					if err := c.Err(); err != nil {
						t.Errorf("closed before the limit: %v", err)
					}
					time.Sleep(limit + time.Second)
					if up, st := c.Err() == nil, s.Stats(); up != tt.up || st.IdleCloses > 0 == tt.up || st.Conns > 0 != tt.up {
						t.Errorf("up: %v, want %v; %v, %+v", up, tt.up, c.Err(), st)
					}
					if err := c.Err(); err != nil && (!strings.Contains(err.Error(), "unused for 1m40s") || !strings.Contains(err.Error(), "Config.IdleTimeout") || !errors.Is(err, verbs.ErrPeerDisconnected)) {
						t.Errorf("the client reads %v, want the likely limit", err)
					}
					_ = c.Close()
					time.Sleep(time.Hour) // handlers
				})
			})
		}
	}
}

// With MaxConns connections, a further one takes the place of the one that is idle for longest, and
// is rejected if all are in use.
func TestIdleConnectionMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := rdmaiotest.New(t), slow{make(chan oncrpc.Conn, 20)}
		var reasons []error
		s := w.Serve(h, &rdmaio.Config{MaxConns: 3, Events: func(e rdmaio.Event) {
			if down, ok := e.(*rdmaio.ConnDown); ok {
				reasons = append(reasons, down.Reason)
			}
		}})
		call := func(c *rdmaio.Conn, seconds uint32) {
			if _, err := c.Call(context.Background(), rpctest.NullCall(seconds, 40)); err != nil {
				t.Error(err)
			}
		}
		first, second, third := w.Dial(nil), w.Dial(nil), w.Dial(nil)
		for _, c := range []*rdmaio.Conn{third, first, second, third} {
			call(c, 0)
			time.Sleep(time.Second)
		}
		go call(second, 60) // so third is idle for longest after first
		synctest.Wait()
		for i, c := range []*rdmaio.Conn{first, third} {
			more := w.Dial(nil)
			go call(more, 60)
			synctest.Wait()
			if !errors.Is(c.Err(), verbs.ErrPeerDisconnected) || len(reasons) != i+1 || !errors.Is(reasons[i], rdmaio.ErrIdle) {
				t.Errorf("connection %d: the displaced one has %v, the server %v", i, c.Err(), reasons)
			}
			if i == 0 && third.Err() != nil || second.Err() != nil {
				t.Errorf("connection %d: others are down: %v, %v", i, second.Err(), third.Err())
			}
		}
		if _, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, nil); !errors.Is(err, rdmaio.ErrServerFull) {
			t.Errorf("found %v, want ErrServerFull: all connections are in use", err)
		}
		if st := s.Stats(); st.Displaced != 2 || st.Rejected != 1 || st.Conns != 3 {
			t.Errorf("%+v", st)
		}
		time.Sleep(2 * time.Minute)
	})
}

// A connection that has had a Call makes room for another one only after a second, and so does one
// whose first Call may be on its way. Clients that take turns do not take each other's place.
func TestIdleForAnInstantMakesNoRoom(t *testing.T) {
	for _, called := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			w.Serve(slow{make(chan oncrpc.Conn, 1)}, &rdmaio.Config{MaxConns: 1})
			first := w.Dial(nil)
			if called {
				if _, err := first.Call(context.Background(), rpctest.NullCall(1, 40)); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(900 * time.Millisecond)
			if _, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, nil); !errors.Is(err, rdmaio.ErrServerFull) || first.Err() != nil {
				t.Errorf("called %v: found %v; the first: %v", called, err, first.Err())
			}
			time.Sleep(100 * time.Millisecond)
			w.Dial(nil)
			synctest.Wait()
			if first.Err() == nil {
				t.Errorf("called %v: the first is up", called)
			}
		})
	}
}

// The error of a connection that the server closed while it was in use, or a moment later, does not
// guess that it was idle.
func TestUsedConnectionIsNotTakenForIdle(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w, h := rdmaiotest.New(t), slow{make(chan oncrpc.Conn, 2)}
			s := w.Serve(h, nil)
			c := w.Dial(nil)
			call := func(seconds uint32) { _, _ = c.Call(context.Background(), rpctest.NullCall(seconds, 40)) }
			if call(0); busy {
				go call(100)
				time.Sleep(10 * time.Second)
			}
			go s.Close()
			<-c.Done()
			if err := c.Err(); !errors.Is(err, verbs.ErrPeerDisconnected) || strings.Contains(err.Error(), "unused") {
				t.Errorf("busy %v: %v", busy, err)
			}
			time.Sleep(time.Hour)
		})
	}
}

// R288: a probe of a connection whose client is there does nothing, over each provider and in both
// versions, however often it is made, and with Calls in progress.
func TestProbeLeavesAPeerAlone(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		for _, version := range []int{1, 2} {
			h := slow{make(chan oncrpc.Conn, 100)}
			cfg := &rdmaio.Config{Versions: []int{version}}
			c, s := w.Dial, w.Serve(h, cfg)
			conn := c(cfg)
			for range 40 {
				if _, err := conn.Call(context.Background(), rpctest.NullCall(0, 40)); err != nil {
					t.Fatal(err)
				}
				for range 20 {
					(<-h.conns).(oncrpc.Prober).Probe(time.Second)
					h.conns <- s.Conns()[0]
				}
				<-h.conns
			}
			conn.Probe(time.Second) // the client may, too
			if _, err := conn.Call(context.Background(), rpctest.NullCall(0, 40)); err != nil {
				t.Error(err)
			}
			_, _ = conn.Close(), s.Close()
			conn.Probe(time.Second) // too late
		}
	})
}
