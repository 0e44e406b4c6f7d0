package rdmaiotest

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// NewClient makes a client with little patience, which ends with the test.
func NewClient(w *World, cfg *rdmaio.ClientConfig) *rdmaio.Client {
	w.T.Helper()
	var c rdmaio.ClientConfig
	if cfg != nil {
		c = *cfg
	}
	c.Conn = w.Config(c.Conn)
	if c.MinBackoff == 0 {
		c.MinBackoff = time.Millisecond
	}
	cl, err := rdmaio.NewClient(w.Client, w.Addr, &c)
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { leak.Close(w.T, cl) })
	return cl
}

// ServeCut starts a server that closes its connection at every nth Call, before the handler gets
// this Call, so that its reply is always lost. outer, if not nil, sees each Call first.
func ServeCut(w *World, nth int64, outer func(rdmaio.Handler) rdmaio.Handler, h rdmaio.Handler) {
	w.T.Helper()
	var (
		server *rdmaio.Server
		n      atomic.Int64
		cuts   sync.WaitGroup
	)
	var cut rdmaio.Handler = rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if n.Add(1)%nth != 0 {
			h.ServeRPC(r)
			return
		}
		for _, c := range server.Conns() {
			cuts.Go(func() { _ = c.Close() }) // which waits for the handler
		}
		cuts.Go(func() {
			<-r.Context().Done()
			h.ServeRPC(r)
		})
	})
	if outer != nil {
		cut = outer(cut)
	}
	server = w.Serve(cut, nil)
	w.T.Cleanup(cuts.Wait)
}

// Rounds returns how many rounds a random test has.
func Rounds() int {
	if testing.Short() {
		return 3
	}
	return 12
}

// LoseConns closes a connection of the server, any one, after each pause of at most pause, if
// answered was increased since the last time: for each Call that was answered, at most one
// connection is lost, so that Calls are also answered on a slow machine. The first connection is
// not lost before the client has it: without ClientConfig.WaitForServer that would fail the Calls.
// stop waits until all are closed.
func LoseConns(server *rdmaio.Server, pause time.Duration, answered *atomic.Int64) (stop func()) {
	stopped := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for last := int64(0); ; {
			select {
			case <-stopped:
				return
			case <-time.After(rand.N(pause)):
			}
			now := answered.Load()
			if now == last {
				continue
			}
			last = now
			if all := server.Conns(); len(all) > 0 {
				conn := all[rand.N(len(all))]
				wg.Go(func() { _ = conn.Close() })
			}
		}
	})
	return func() {
		close(stopped)
		wg.Wait()
	}
}
