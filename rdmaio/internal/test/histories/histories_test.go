package histories

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/history"
	"github.com/rpcrdma/rpcrdma/internal/netfault"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	rdmamem "github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// quiet drops all log records.
var quiet = slog.New(slog.DiscardHandler)

// world is a client and a server with a faulty network between them.
type world struct {
	client oncrpc.Carrier
	close  []io.Closer // the client, then the server
	fired  func() int  // faults
}

// open makes a world over a carrier.
type open func(t *testing.T, h oncrpc.Handler, seed uint64) world

// life is the number of bytes after which a connection is cut, about: a few dozen Calls.
const life = 4 << 10

// carriers are all carriers with sockets, or with goroutines in their place.
var carriers = map[string]open{
	"tcp":                overTCP,
	"udp":                overUDP,
	"rdmatcp, version 1": overStream(func() (verbs.Device, error) { return rdmatcp.Open(nil) }, 1),
	"rdmatcp, version 2": overStream(func() (verbs.Device, error) { return rdmatcp.Open(nil) }, 2),
	"iwarp":              overStream(func() (verbs.Device, error) { return iwarp.Open(nil) }, 1),
	"mem, version 1":     overMemory(1),
	"mem, version 2":     overMemory(2),
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func overTCP(t *testing.T, h oncrpc.Handler, seed uint64) world {
	s := must[*tcp.Server](t)(tcp.Listen(context.Background(), "127.0.0.1:0", h, &tcp.Config{Logger: quiet}))
	p := netfault.Stream(t, s.Addr(), seed, life)
	c := must[*tcp.Client](t)(tcp.NewClient(p.Addr, &tcp.ClientConfig{
		Conn: &tcp.Config{Logger: quiet}, MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond, Connections: 2,
	}))
	return world{c, []io.Closer{c, s}, p.Fired}
}

func overUDP(t *testing.T, h oncrpc.Handler, seed uint64) world {
	s := must[*udp.Server](t)(udp.Listen(context.Background(), "127.0.0.1:0", h, &udp.Config{Logger: quiet}))
	p := netfault.Datagrams(t, s.Addr(), seed, 0.3)
	c := must[*udp.Conn](t)(udp.Dial(context.Background(), p.Addr, &udp.Config{
		MinRetransmit: 5 * time.Millisecond, MaxRetransmit: 50 * time.Millisecond, Logger: quiet,
	}))
	return world{c, []io.Closer{c, s}, p.Fired}
}

// clientConfig returns the configuration of clients over RDMA.
func clientConfig(version int) *rdmaio.ClientConfig {
	return &rdmaio.ClientConfig{
		Conn:       &rdmaio.Config{Versions: []int{version}, Logger: quiet},
		MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond, Connections: 2,
	}
}

// overStream returns the open of a provider over TCP.
func overStream(device func() (verbs.Device, error), version int) open {
	return func(t *testing.T, h oncrpc.Handler, seed uint64) world {
		ours, theirs := must[verbs.Device](t)(device()), must[verbs.Device](t)(device())
		s := must[*rdmaio.Server](t)(rdmaio.Listen(context.Background(), theirs, "127.0.0.1:0", h, &rdmaio.Config{Versions: []int{version}, Logger: quiet}))
		p := netfault.Stream(t, s.Addr(), seed, 4*life) // the first messages are longer
		c := must[*rdmaio.Client](t)(rdmaio.NewClient(ours, p.Addr, clientConfig(version)))
		return world{c, []io.Closer{c, s, ours, theirs}, p.Fired}
	}
}

// overMemory returns the open of provider mem, whose server closes its connections again and again.
func overMemory(version int) open {
	return func(t *testing.T, h oncrpc.Handler, seed uint64) world {
		net := rdmamem.New(nil)
		ours, theirs := must[*rdmamem.Device](t)(net.Open("client", nil)), must[*rdmamem.Device](t)(net.Open("server", nil))
		closer := newCloser(h, seed)
		s := must[*rdmaio.Server](t)(rdmaio.Listen(context.Background(), theirs, "histories", closer, &rdmaio.Config{Versions: []int{version}, Logger: quiet}))
		closer.server.Store(s)
		c := must[*rdmaio.Client](t)(rdmaio.NewClient(ours, s.Addr(), clientConfig(version)))
		return world{c, []io.Closer{c, s, closer, ours, theirs}, closer.fired}
	}
}

// Over every carrier with faults, no Call is executed twice with a reply cache, an answered Call
// has the result of its execution, and one whose error says so was not executed (R284, R286, R288).
func TestHistoriesKeepThePromises(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for name, open := range carriers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				h := newHistories()
				cache := replycache.New(h, nil)
				run(t, h, open(t, cache, seed), seed)
				h.check(t, history.Promise{Once: true})
				if st := cache.Stats(); st.Hits+st.Waited == 0 {
					t.Error("no Call came twice: the run proves nothing about the reply cache")
				}
			}
		})
	}
}

// Without a reply cache, Calls are executed twice: the faults are those that matter.
func TestWithoutAReplyCacheCallsAreRepeated(t *testing.T) {
	for name, open := range carriers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, repeated := newHistories(), 0
			run(t, h, open(t, h, 7), 7)
			if repeated = h.check(t, history.Promise{}); repeated == 0 {
				t.Error("no Call was executed twice")
			}
			t.Logf("%d Calls were executed more than once", repeated)
		})
	}
}

// run makes the Calls of a history, and closes the world.
func run(t *testing.T, h *histories, w world, seed uint64) {
	t.Helper()
	h.run(t, w.client, seed, 8, 60, 20*time.Second)
	for _, c := range w.close {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if w.fired() == 0 {
		t.Error("no fault")
	}
}

// The same holds over package mem on a virtual clock, where a server learns of a lost connection
// minutes later than its client.
func TestHistoriesKeepThePromisesWithLongDelays(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	hits, delayed := uint64(0), uint64(0)
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			h := newHistories()
			cache := replycache.New(h, nil)
			n := must[*mem.Network](t)(mem.NewNetwork(cache, &mem.NetworkConfig{
				Server: &tcp.Config{FirstCallTimeout: -1, Logger: quiet}, Fault: late(mem.Random(seed, 0.1)),
			}))
			c := must[*tcp.Client](t)(n.NewClient(&tcp.ClientConfig{Conn: &tcp.Config{Logger: quiet}, Connections: 2}))
			h.run(t, c, seed, 6, 20, 10*time.Minute)
			for _, c := range []io.Closer{c, n} {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			h.check(t, history.Promise{Once: true})
			st := cache.Stats()
			hits, delayed = hits+st.Hits+st.Waited, delayed+st.Delayed
		})
	}
	if hits == 0 || delayed == 0 {
		t.Errorf("%d Calls were answered from the cache, %d were held back", hits, delayed)
	}
}

// late makes the delays of faults a hundred times as long, up to a minute: longer than every
// time-out of client and server.
func late(fault func(mem.Record) mem.Fault) func(mem.Record) mem.Fault {
	return func(r mem.Record) mem.Fault {
		f := fault(r)
		if f.Kind == mem.Lose || f.Kind == mem.LoseAfter || f.Kind == mem.Cut {
			f.Delay *= 100
		}
		return f
	}
}
