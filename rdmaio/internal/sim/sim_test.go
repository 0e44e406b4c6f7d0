package sim

import (
	"flag"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/reconnect/machine"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

var (
	seeds = flag.Int("seeds", 0, "number of seeds that TestSeeds runs; 0: 1000, or 60 with -short")
	seed  = flag.Uint64("seed", 0, "the first seed, to repeat a failure with -seeds 1")
	rpcs  = flag.Int("rpcs", 200, "RPCs of each seed")
)

// TestSeeds runs simulations. A failure prints the command that repeats it.
func TestSeeds(t *testing.T) {
	n := *seeds
	if n == 0 {
		if n = 1000; testing.Short() {
			n = 60
		}
		if xdrtest.Race {
			n = 20
		}
	}
	var fired [Faults]int
	outcomes, links, events, fromCache, again, waited, others, probes, most := make(map[string]int), 0, 0, 0, 0, 0, 0, 0, 0
	var server served
	var clients machine.Stats
	var seen versionsSeen
	for s := *seed; s < *seed+uint64(n); s++ {
		r := Run(t, Config{Seed: s, RPCs: *rpcs})
		if len(r.Failures) > 0 {
			t.Errorf("go test ./rdmaio/internal/sim -run TestSeeds -args -seeds 1 -seed %d -rpcs %d\n\t%s", s, *rpcs, strings.Join(r.Failures, "\n\t"))
		}
		for f, k := range r.Fired {
			fired[f] += k
		}
		for how, k := range r.Outcomes {
			outcomes[how] += k
		}
		links += r.Links
		events += r.Events
		fromCache += r.FromCache
		again += r.Again
		others += r.Others
		waited += r.Waited
		probes += r.Probes
		server.cancelled += r.Server.cancelled
		server.displaced += r.Server.displaced
		server.queued += r.Server.queued
		server.rejected += r.Server.rejected
		most = max(most, r.Most)
		clients.Connects += r.Client.Connects
		clients.DialFailures += r.Client.DialFailures
		clients.Lost += r.Client.Lost
		clients.Stuck += r.Client.Stuck
		clients.IdleCloses += r.Client.IdleCloses
		clients.Delayed += r.Client.Delayed
		seen.add(&r)
	}
	seen.report(t, n)
	for what, k := range map[string]int{
		"Calls answered from a reply cache": fromCache, "Calls that a reply cache held back": again, "connections that it probed": probes, "messages of the extension": others, "Calls that waited for the server's memory": waited,
		"Calls cancelled at the server": server.cancelled, "connections closed to make room": server.displaced, "connections rejected": server.rejected, "Requests that waited for a handler's place": server.queued,
		"connections dropped because they were stuck": int(clients.Stuck), "connections dropped because they were idle": int(clients.IdleCloses),
		"Calls that waited for a connection with room": int(clients.Delayed), "runs with several connections at a time": most - 1,
	} {
		if k == 0 && n >= 60 {
			t.Errorf("no %s", what)
		}
	}
	t.Logf("%d seeds, %d connections, %d events, %d connections at a time; %d Calls answered from a cache, %d held back; %+v; RPCs: %v", n, links, events, most, fromCache, again, clients, outcomes)
	for f, k := range fired {
		t.Logf("%8d x %v", k, Fault(f))
		if k == 0 && n >= 60 {
			t.Errorf("%v never happened: the run proves nothing about it", Fault(f))
		}
	}
	for _, how := range []string{"ok", "ok by read chunks", "no memory for the reply", "no memory for the Call", "cancelled", "refused", "no version"} {
		if outcomes[how] == 0 && n >= 60 {
			t.Errorf("no RPC ended as %q", how)
		}
	}
}

// The same seed gives the same run, and another seed another run.
func TestSameSeedSameTrace(t *testing.T) {
	seen := make(map[string]bool)
	readChunks := 0
	for s := range uint64(10) {
		want := Run(t, Config{Seed: s, RPCs: 100})
		readChunks += want.Outcomes["ok by read chunks"]
		for _, p := range []int{1, 2, 8} {
			old := runtime.GOMAXPROCS(p)
			got := Run(t, Config{Seed: s, RPCs: 100})
			runtime.GOMAXPROCS(old)
			if got.Trace != want.Trace || got.Events != want.Events {
				t.Errorf("seed %d with GOMAXPROCS %d: another run", s, p)
			}
		}
		if seen[want.Trace] {
			t.Errorf("seed %d: the run of another seed", s)
		}
		seen[want.Trace] = true
	}
	if readChunks == 0 {
		t.Error("no seed follows the draft")
	}
}

// A network that changes messages is found: the oracles report it.
func TestSabotageIsSeen(t *testing.T) {
	for name, do := range map[string]func(*Message){
		"a bit of the message": func(m *Message) { m.Bytes[len(m.Bytes)-1] ^= 1 },
		"the XID":              func(m *Message) { m.Bytes[3] ^= 0x40 },
		"the version":          func(m *Message) { m.Bytes[7] = 2 },
		"a word that is stale": func(m *Message) { copy(m.Bytes[len(m.Bytes)-8:], stale) },
		"too many credits":     func(m *Message) { m.Bytes[8] = 1 },
		"delivered twice":      func(m *Message) { m.Copy = true },
		"RDMA_DONE of another XID": func(m *Message) {
			if m.Bytes[15] == 3 {
				m.Bytes[3] ^= 0x40
			}
		},
		"RDMA_DONE twice": func(m *Message) { m.Copy = m.Bytes[15] == 3 },
	} {
		t.Run(name, func(t *testing.T) {
			for s := range uint64(20) {
				n := 0
				r := Run(t, Config{Seed: s, RPCs: 60, Bugs: Bugs{Sabotage: func(m *Message) {
					if n++; n >= 20 {
						do(m)
					}
				}}})
				if len(r.Failures) > 0 {
					return
				}
			}
			t.Error("all seeds passed")
		})
	}
}
