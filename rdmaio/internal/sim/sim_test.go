package sim

import (
	"flag"
	"runtime"
	"strings"
	"testing"
)

var (
	seeds = flag.Int("seeds", 0, "how many seeds TestSeeds runs; 0: 1000, or 30 with -short")
	seed  = flag.Uint64("seed", 0, "the first of them, to repeat a failure with -seeds 1")
	rpcs  = flag.Int("rpcs", 200, "RPCs of each seed")
)

// TestSeeds runs simulations. A failure is repeated by the command that it prints.
func TestSeeds(t *testing.T) {
	n := *seeds
	if n == 0 {
		if n = 1000; testing.Short() {
			n = 30
		}
	}
	var fired [Faults]int
	outcomes, links, events, fromCache := make(map[string]int), 0, 0, 0
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
	}
	if fromCache == 0 && n >= 30 {
		t.Error("no Call was answered from a cache of replies")
	}
	t.Logf("%d seeds, %d connections, %d events, %d Calls answered from a cache; RPCs: %v", n, links, events, fromCache, outcomes)
	for f, k := range fired {
		t.Logf("%8d x %v", k, Fault(f))
		if k == 0 && n >= 30 {
			t.Errorf("%v never happened: the run tells nothing of it", Fault(f))
		}
	}
	for _, how := range []string{"ok", "ok by read chunks", "no memory for the reply", "cancelled", "refused"} {
		if outcomes[how] == 0 && n >= 30 {
			t.Errorf("no RPC ended as %q", how)
		}
	}
}

// The same seed gives the same run, and another one another.
func TestSameSeedSameTrace(t *testing.T) {
	seen := make(map[string]bool)
	lent := 0
	for s := range uint64(10) {
		want := Run(Config{Seed: s, RPCs: 100})
		lent += want.Outcomes["ok by read chunks"]
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
	if lent == 0 {
		t.Error("none of the seeds follows the draft")
	}
}

// A provider that completes a request with success behind a flushed one is found out: the engine takes
// the completion for one of a queue that is out of order.
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

// A handler's memory that the engine releases before its reply has gone out is found out: poison leaves.
func TestReleaseEarlyIsSeen(t *testing.T) {
	for s := range uint64(20) {
		for _, f := range Run(Config{Seed: s, RPCs: 60, ReleaseEarly: true}).Failures {
			if strings.Contains(f, "nobody has written") {
				return
			}
		}
	}
	t.Error("all seeds passed")
}

// A network with a bug is found out: the oracles can see.
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
