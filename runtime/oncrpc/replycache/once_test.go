package replycache_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

var quiet = slog.New(slog.DiscardHandler)

// relayed are the carriers over TCP, each with a relay between a client and a server. peer is the
// PeerTimeout of both.
var relayed = map[string]func(t *testing.T, h oncrpc.Handler, peer time.Duration) (oncrpc.Carrier, *relay){
	"tcp": func(t *testing.T, h oncrpc.Handler, peer time.Duration) (oncrpc.Carrier, *relay) {
		cfg := &tcp.Config{PeerTimeout: peer, Logger: quiet}
		s, err := tcp.Listen(t.Context(), "127.0.0.1:0", h, cfg)
		closes(t, s, err)
		r := newRelay(t, s.Addr())
		c, err := tcp.NewClient(r.ln.Addr().String(), &tcp.ClientConfig{Conn: cfg, MinBackoff: -1})
		closes(t, c, err)
		return c, r
	},
	"rdmatcp version 1": func(t *testing.T, h oncrpc.Handler, peer time.Duration) (oncrpc.Carrier, *relay) {
		return relayedRDMA(t, h, 1, func() (verbs.Device, error) { return rdmatcp.Open(&rdmatcp.Config{PeerTimeout: peer}) })
	},
	"rdmatcp version 2": func(t *testing.T, h oncrpc.Handler, peer time.Duration) (oncrpc.Carrier, *relay) {
		return relayedRDMA(t, h, 2, func() (verbs.Device, error) { return rdmatcp.Open(&rdmatcp.Config{PeerTimeout: peer}) })
	},
	"iwarp version 1": func(t *testing.T, h oncrpc.Handler, peer time.Duration) (oncrpc.Carrier, *relay) {
		return relayedRDMA(t, h, 1, func() (verbs.Device, error) { return iwarp.Open(&iwarp.Config{PeerTimeout: peer}) })
	},
}

// closes closes c at the end of a test.
func closes(t *testing.T, c interface{ Close() error }, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close(t, c) })
}

func relayedRDMA(t *testing.T, h oncrpc.Handler, version int, open func() (verbs.Device, error)) (oncrpc.Carrier, *relay) {
	ours, err := open()
	closes(t, ours, err)
	theirs, err := open()
	closes(t, theirs, err)
	cfg := &rdmaio.Config{Versions: []int{version}, Logger: quiet}
	s, err := rdmaio.Listen(t.Context(), theirs, "127.0.0.1:0", h, cfg)
	closes(t, s, err)
	r := newRelay(t, s.Addr())
	c, err := rdmaio.NewClient(ours, r.ln.Addr().String(), &rdmaio.ClientConfig{Conn: cfg, MinBackoff: -1})
	closes(t, c, err)
	return c, r
}

// R288: a Call is executed once over each carrier, whether its reply is lost with the connection
// and the server learns of that later, or the Call itself comes late, after the same Call on the
// next connection. The delays are some of those between the times of the configurations:
// PeerTimeout is short or longer than the delay, and Grace is longer than both.
func TestLateLossesOverEachCarrier(t *testing.T) {
	delays := []time.Duration{0, 100 * time.Millisecond, 1500 * time.Millisecond, 4 * time.Second}
	if testing.Short() {
		delays = delays[:2]
	}
	for name, connect := range relayed {
		for _, toServer := range []bool{false, true} {
			for _, delay := range delays {
				for _, peer := range []time.Duration{time.Second, 30 * time.Second} {
					t.Run(fmt.Sprintf("%s, Call late %v, %v, PeerTimeout %v", name, toServer, delay, peer), func(t *testing.T) {
						t.Parallel()
						executedOnce(t, connect, fault{toServer, delay}, peer)
					})
				}
			}
		}
	}
}

// executedOnce makes Calls at a time around a fault, and counts executions.
func executedOnce(t *testing.T, connect func(*testing.T, oncrpc.Handler, time.Duration) (oncrpc.Carrier, *relay), f fault, peer time.Duration) {
	const calls = 12
	var executed [calls]atomic.Int32
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, n, res *oncrpc.Uint32) error {
		executed[*n].Add(1)
		*res = *n
		return nil
	})
	cache := replycache.New(rpc.NewHandler(nil, svc), &replycache.Config{Grace: 2 * time.Minute})
	carrier, relay := connect(t, cache, peer)
	call := func(n oncrpc.Uint32) {
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		var res oncrpc.Uint32
		if err := rpc.NewClient(carrier, program, nil).Call(ctx, 1, &n, &res, nil); err != nil || res != n {
			t.Errorf("Call %d: %v, %d", n, err, res)
		}
	}
	call(0)
	relay.arm(f)
	call(1)
	var all sync.WaitGroup
	for n := oncrpc.Uint32(2); n < calls; n++ {
		all.Go(func() { call(n) })
	}
	all.Wait()
	for relay.faults() == 0 { // the late Call may come when the others have been answered
		time.Sleep(time.Millisecond)
	}
	if f.toServer {
		time.Sleep(50 * time.Millisecond) // for a server that executes it
		call(0)
	}
	for n := range executed {
		want := int32(1)
		if n == 0 && f.toServer {
			want = 2
		}
		if got := executed[n].Load(); got != want {
			t.Errorf("Call %d was executed %d times, want %d", n, got, want)
		}
	}
	if st := cache.Stats(); !f.toServer && st.Hits+st.Waited == 0 {
		t.Errorf("no Call was sent again: %+v", st)
	}
}
