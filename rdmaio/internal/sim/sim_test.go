package sim

import (
	"flag"
	"runtime"
	"strings"
	"testing"
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
	}
	var fired [Faults]int
	outcomes, links, events, fromCache := make(map[string]int), 0, 0, 0
	var seen versionsSeen
	for s := *seed; s < *seed+uint64(n); s++ {
		r := Run(Config{Seed: s, RPCs: *rpcs})
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
		seen.add(&r)
	}
	seen.report(t, n)
	if fromCache == 0 && n >= 60 {
		t.Error("no Call was answered from a reply cache")
	}
	t.Logf("%d seeds, %d connections, %d events, %d Calls answered from a cache; RPCs: %v", n, links, events, fromCache, outcomes)
	for f, k := range fired {
		t.Logf("%8d x %v", k, Fault(f))
		if k == 0 && n >= 60 {
			t.Errorf("%v never happened: the run proves nothing about it", Fault(f))
		}
	}
	for _, how := range []string{"ok", "ok by read chunks", "no memory for the reply", "cancelled", "refused", "no version"} {
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
		want := Run(Config{Seed: s, RPCs: 100})
		readChunks += want.Outcomes["ok by read chunks"]
		for _, p := range []int{1, 2, 8} {
			old := runtime.GOMAXPROCS(p)
			got := Run(Config{Seed: s, RPCs: 100})
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

// A provider that completes a request with success after a flushed one is found: the engine reports
// that completions are out of order.
func TestUnflushedIsSeen(t *testing.T) {
	for s := range uint64(200) {
		for _, f := range Run(Config{Seed: s, RPCs: 60, Unflushed: true}).Failures {
			if strings.Contains(f, "out of order") {
				return
			}
		}
	}
	t.Error("all seeds passed")
}

// An engine that releases a handler's memory before the reply is sent is found: poison is sent.
func TestReleaseEarlyIsSeen(t *testing.T) {
	for s := range uint64(20) {
		for _, f := range Run(Config{Seed: s, RPCs: 60, ReleaseEarly: true}).Failures {
			if strings.Contains(f, "never written") {
				return
			}
		}
	}
	t.Error("all seeds passed")
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
				r := Run(Config{Seed: s, RPCs: 60, Sabotage: func(m *Message) {
					if n++; n >= 20 {
						do(m)
					}
				}})
				if len(r.Failures) > 0 {
					return
				}
			}
			t.Error("all seeds passed")
		})
	}
}
