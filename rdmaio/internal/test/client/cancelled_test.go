package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A cancelled Call without an answer is the only Call that the server lets be in flight on one
// connection. In version 2 a credit may be left there, for other messages: the next Calls go to the
// other connection.
func TestCancelledCallHoldsItsPlace(t *testing.T) {
	for _, version := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			w := rdmaiotest.New(t)
			held := make(requests, 8)
			w.Serve(held, &rdmaio.Config{Credits: 1, Versions: []int{version}})
			c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 2, StuckTimeout: -1, Conn: &rdmaio.Config{Versions: []int{version}}})
			ctx, cancel := context.WithCancel(context.Background())
			cancelled := callIn(ctx, c)
			(<-held).Drop(nil) // it is never answered
			cancel()
			if err := <-cancelled; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			for range 3 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				next := callIn(ctx, c)
				select {
				case r := <-held:
					rpctest.Answer(r)
				case <-ctx.Done():
				}
				if err := <-next; err != nil {
					t.Errorf("version %d: %v", version, err)
				}
				cancel()
			}
		})
	}
}

// The credit that a connection keeps for cancelled Calls is not counted for the next Call. That
// does not wait there, but goes to the other connection when a credit comes back.
func TestKeptCreditIsNotForTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rdmaiotest.New(t)
		held := make(requests, 20)
		w.Serve(held, &rdmaio.Config{Credits: 8})
		c := rdmaiotest.NewClient(w, &rdmaio.ClientConfig{Connections: 2, Conn: &rdmaio.Config{Credits: 8}})
		all := []<-chan error{callIn(context.Background(), c)}
		first := <-held
		conn := first.Conn()
		rpctest.Answer(first)
		for range 9 { // seven on the first connection, one on the second, and one waits
			all = append(all, callIn(context.Background(), c))
			synctest.Wait()
		}
		if n := len(held); n != 8 {
			t.Fatalf("%d Calls are at the server, want 8 of 9", n)
		}
		for range 8 {
			if r := <-held; r.Conn() == conn {
				held <- r
			} else {
				rpctest.Answer(r)
			}
		}
		if synctest.Wait(); len(held) != 8 {
			t.Errorf("%d Calls are at the server, want 8: the one that waited, too", len(held))
		}
		for range 8 {
			rpctest.Answer(<-held)
		}
		for _, call := range all {
			if err := <-call; err != nil {
				t.Error(err)
			}
		}
	})
}
