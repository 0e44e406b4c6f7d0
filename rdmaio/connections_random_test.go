package rdmaio_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// Clients with several connections, random limits, versions, cancellations, lost connections and
// servers that answer late, never, or to one connection alone: each Call returns, and in the end no
// Call uses a connection or waits for one.
func TestRandomLoadOverConnectionsEnds(t *testing.T) {
	for n := range rdmaiotest.Rounds() {
		seed := uint64(time.Now().UnixNano()) + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomConnections(t, seed) })
	}
}

// randomConnections is a round of TestRandomLoadOverConnectionsEnds.
func randomConnections(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	o := rdmaiotest.Options{Bare: true}
	if rnd.IntN(2) == 0 {
		o.TCP = &rdmatcp.Config{}
	}
	if rnd.IntN(3) == 0 { // RDMA devices
		inj := fault.New(fault.Config{Seed: seed, Manners: fault.SomeManners(seed), RegisterDelay: time.Microsecond})
		o.Wrap = func(_ string, d verbs.Device) verbs.Device { return inj.Device(d) }
	}
	w := rdmaiotest.NewWith(t, o)
	versions := [][]int{{1}, {2}, {1, 2}, {2, 1}}[rnd.IntN(4)]
	serverVersions := versions
	if len(versions) == 2 {
		serverVersions = [][]int{{1}, {2}, {1, 2}}[rnd.IntN(3)]
	}
	drops := rnd.IntN(3) == 0
	server := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		switch k := rand.N(10); {
		case drops && rand.N(50) == 0:
			r.Drop(nil)
		case k < 5:
			rpctest.Answer(r)
		default:
			go func() { time.Sleep(time.Duration(rand.N(2000)) * time.Microsecond); rpctest.Answer(r) }()
		}
	}), &rdmaio.Config{Credits: 1 + rnd.IntN(4), Versions: serverVersions, MaxConns: []int{0, 0, 1, 2}[rnd.IntN(4)]})
	cfg := &rdmaio.ClientConfig{
		Connections: 2 + rnd.IntN(4), MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond,
		StuckTimeout: 60 * time.Millisecond, Retransmits: 1000, VersionMemory: 0,
		IdleTimeout: []time.Duration{-1, time.Millisecond, 100 * time.Microsecond}[rnd.IntN(3)],
		Conn:        &rdmaio.Config{Credits: 1 + rnd.IntN(4), Versions: versions},
	}
	if rnd.IntN(3) == 0 {
		cfg.WaitForServer = true // the first attempt may fail, too
		cfg.Connected = func(ctx context.Context, c *rdmaio.Conn) error {
			if rand.N(4) == 0 {
				return errors.New("not today")
			}
			return nil
		}
	}
	if rnd.IntN(4) == 0 {
		cfg.Conn.ReverseHandler = rdmaio.HandlerFunc(func(r *rdmaio.Request) { rpctest.Answer(r) })
	}
	c := rdmaiotest.NewClient(w, cfg)
	var answered, ended atomic.Int64
	var over atomic.Bool // the round has failed
	stop, flips := func() {}, false
	if rnd.IntN(2) == 0 {
		stop = rdmaiotest.LoseConns(server, 20*time.Millisecond, &answered)
		// A connection that is lost before an answer leads to the other version. If that happens
		// twice during a Call, the Call fails when that version is refused (R186).
		flips = len(serverVersions) < len(versions)
	}
	var wg sync.WaitGroup
	workers := 1 + rnd.IntN(30)
	var inflight sync.Map
	for i := range workers {
		wg.Go(func() {
			for k := 0; k < 60 && !over.Load(); k++ {
				ctx, cancel := context.WithCancel(context.Background())
				cancels := rand.N(4) == 0 || drops
				if cancels {
					cancel()
					ctx, cancel = context.WithTimeout(context.Background(), time.Duration(rand.N(5000))*time.Microsecond)
				}
				inflight.Store(i, fmt.Sprintf("call %d, cancels %v, since %v", k, cancels, time.Now()))
				_, err := c.Call(ctx, rpctest.NullCall(c.XID(), 40))
				cancel()
				if ended.Add(1); err == nil {
					answered.Add(1)
				}
				if over.Load() {
					return
				}
				pe, _ := errors.AsType[*rdmaio.PeerError](err)
				if err != nil && !cancels && !(flips && pe != nil && pe.Code == rdmaio.PeerErrVers) {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			inflight.Delete(i)
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for before := int64(-1); ; {
		select {
		case <-done:
		case <-time.After(time.Minute):
			if now := ended.Load(); now != before {
				before = now
				continue // the machine is slow
			}
			over.Store(true)
			buf := make([]byte, 1<<20)
			t.Errorf("seed %d: no Call ended in a minute: %+v %+v conns %d", seed, c.Stats(), cfg, len(server.Conns()))
			inflight.Range(func(k, v any) bool { t.Log(k, v); return true })
			t.Fatalf("%s", buf[:runtime.Stack(buf, true)])
		}
		break
	}
	stop()
	if users := rdmaio.Unrest(c); users != "" {
		t.Errorf("seed %d: %s", seed, users)
	}
	if err := c.Close(); err != nil {
		t.Errorf("seed %d: close: %v", seed, err)
	}
}
