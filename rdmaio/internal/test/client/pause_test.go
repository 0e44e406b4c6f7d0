package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A server rejects further connections, and the only one is lost after it was useful. The Client
// connects again at once, as with Connections 1.
func TestLostConnectionIsReplacedDespiteRejections(t *testing.T) {
	for _, tt := range []struct{ conns, failures int }{{1, 0}, {1, -1}, {4, -1}, {4, 0}} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			var c *rdmaio.Client
			rejected := 0
			server := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				go func() { time.Sleep(time.Millisecond); rpctest.Answer(r) }()
			}), &rdmaio.Config{MaxConns: 1, Events: func(e rdmaio.Event) {
				if hit, ok := e.(*rdmaio.LimitHit); !ok || hit.Limit != rdmaio.LimitMaxConns {
					return
				}
				// Without pauses no time would pass, and the test would not end.
				if rejected++; rejected == 1000 {
					go c.Close()
				}
			}})
			c = rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
				Connections: tt.conns, DialFailures: tt.failures,
				MinBackoff: 100 * time.Millisecond, MaxBackoff: 30 * time.Second, IdleTimeout: -1,
			})
			for range 600 { // some minutes of Calls, two at a time
				a, b := callIn(context.Background(), c), callIn(context.Background(), c)
				if err := <-a; err != nil {
					t.Fatal(err)
				}
				if err := <-b; err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second / 4)
			}
			_ = server.Conns()[0].Close()
			synctest.Wait()
			start := time.Now()
			err := <-callIn(context.Background(), c)
			if took := time.Since(start); err != nil || took > time.Second {
				t.Errorf("Connections %d, DialFailures %d: the Call took %v, %v", tt.conns, tt.failures, took, err)
			}
		})
	}
}

// A server restart: connections that never had a reply must not make Calls wait, or fail, when
// others were useful.
func TestUnusedConnectionsCauseNoPause(t *testing.T) {
	for _, tt := range []struct{ conns, failures int }{{1, -1}, {2, -1}} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			server := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
				go func() { time.Sleep(time.Millisecond); rpctest.Answer(r) }()
			}), nil)
			c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{
				Connections: tt.conns, DialFailures: tt.failures,
				MinBackoff: 100 * time.Millisecond, MaxBackoff: 30 * time.Second, IdleTimeout: -1,
				Connected: func(context.Context, *rdmaio.Conn) error { time.Sleep(10 * time.Millisecond); return nil },
			})
			a, b := callIn(context.Background(), c), callIn(context.Background(), c)
			if err := <-a; err != nil {
				t.Fatal(err)
			}
			if err := <-b; err != nil {
				t.Fatal(err)
			}
			for range 50 { // one at a time
				if err := <-callIn(context.Background(), c); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
			for _, conn := range server.Conns() {
				go conn.Close()
			}
			synctest.Wait()
			start := time.Now()
			err := <-callIn(context.Background(), c)
			if err != nil {
				t.Errorf("Connections %d: the Call took %v, %v", tt.conns, time.Since(start), err)
			}
		})
	}
}
