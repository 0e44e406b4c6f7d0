package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/history"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// quiet drops all log records.
var quiet = slog.New(slog.DiscardHandler)

// limit is the longest time that a Call may take: more than all others before it, with their
// handlers, their losses and all delays.
const limit = time.Second

// bugs are mistakes that a run has on purpose, to show that the oracles find them.
type bugs struct {
	doneTwice         bool // a done function is called again
	doneLost          bool // the last done function of a connection is not called
	notSent           bool // an error says that the Call was not sent
	deafAfterProgress bool // the provider does not resume after Progress
}

// world is one simulation. A seed makes its choices.
type world struct {
	t     *testing.T
	bugs  bugs
	start time.Time
	log   *history.Log

	*source // of choices that belong to no other
	seed    uint64

	mu    sync.Mutex
	made  map[string]uint64      // sources
	used  map[time.Duration]bool // instants with an event
	found []string               // broken rules
	seen  seen

	// The choices of the run.
	version, credits int
	loss, early      float64
	cancels, misuse  float64
	handler          time.Duration // longest time of a handler
	pause            time.Duration // factor of the times between Calls

	client verbs.Device
	pairs  []verbs.QueuePair // of the provider; all that were made
	server *rdmaio.Server
	calls  calls
}

// seen counts events of runs.
type seen struct {
	progressed, early                    int // returns of Progress, and those before the reply
	losses, cancelled, panicked          int
	nested, refused, mayHaveRun, notSent int
}

func (s *seen) add(o seen) {
	s.progressed, s.early = s.progressed+o.progressed, s.early+o.early
	s.losses, s.cancelled, s.panicked = s.losses+o.losses, s.cancelled+o.cancelled, s.panicked+o.panicked
	s.nested, s.refused = s.nested+o.nested, s.refused+o.refused
	s.mayHaveRun, s.notSent = s.mayHaveRun+o.mayHaveRun, s.notSent+o.notSent
}

func newWorld(t *testing.T, seed uint64, b bugs) *world {
	w := &world{
		t: t, bugs: b, start: time.Now(), seed: seed, made: make(map[string]uint64), used: make(map[time.Duration]bool),
	}
	w.source = w.newSource("world")
	w.log = history.New(w.now)
	w.version, w.credits = 1+w.intN(2), 1+w.intN(6)
	rate := func(most float64) float64 { return most * float64(w.intN(3)) / 2 }
	w.loss, w.early, w.cancels, w.misuse = rate(0.02), rate(0.6), rate(0.4), rate(0.02)
	w.handler = []time.Duration{0, time.Millisecond, 30 * time.Millisecond}[w.intN(3)]
	w.pause = []time.Duration{1, 1, 40, 100_000}[w.intN(4)]
	if w.rests() {
		w.loss, w.misuse = 0, 0
	}
	w.calls.w = w
	return w
}

// rests reports whether all callers may rest, so that nothing happens while a Call waits for input.
func (w *world) rests() bool { return w.pause > 40 }

// now returns the virtual time of the run.
func (w *world) now() time.Duration { return time.Since(w.start) }

// after calls do on its own goroutine, at a separate instant. It returns the instant.
func (w *world) after(d time.Duration, do func()) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	at := now + max(d, 1)
	for w.used[at] {
		at++
	}
	w.used[at] = true
	time.AfterFunc(at-now, do)
	return at
}

// source makes random choices. Each part of a run has its own, so that the order of goroutines
// within an instant changes few of them.
type source struct {
	mu  sync.Mutex
	rng *rand.Rand
}

// newSource returns the next source of parts with this name.
func (w *world) newSource(name string) *source {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", w.seed, name, w.made[name]))
	w.made[name]++
	return &source{rng: rand.New(rand.NewPCG(binary.BigEndian.Uint64(h[:]), 0))}
}

// delay returns a random time that something takes.
func (s *source) delay() time.Duration { return time.Duration(s.intN(50_000)) }

func (s *source) intN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(n)
}

func (s *source) chance(p float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p > 0 && s.rng.Float64() < p
}

// fail records a broken rule.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = append(w.found, fmt.Sprintf("%v: ", w.now())+fmt.Sprintf(format, args...))
}

// breakOne breaks the last connection, at either end.
func (w *world) breakOne() {
	w.mu.Lock()
	n := len(w.pairs)
	w.mu.Unlock()
	q := w.pairs[n-1-w.intN(min(n, 2))]
	_ = q.Disconnect() // it may be over
}

// result returns the broken rules and the counts.
func (w *world) result() ([]string, seen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.found, w.seen
}

// count counts one more of what c counts.
func (w *world) count(c *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*c++
}

// run makes Calls, and closes both ends when they are over.
func (w *world) run(calls int) {
	n := mem.New(nil)
	open := func(name string) device {
		d, err := n.Open(name, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		return device{d, w, name}
	}
	client, server := open("client"), open("server")
	w.client = client
	cfg := rdmaio.Config{Versions: []int{w.version}, Credits: w.credits, NonBlocking: true, MaxContinued: 16 << 10, Logger: quiet, NoCancel: w.chance(0.5)}
	theirs := cfg
	var err error
	if w.server, err = rdmaio.Listen(context.Background(), server, "there", &w.calls, &theirs); err != nil {
		w.t.Fatal(err)
	}
	w.calls.run(&cfg, calls)
	if err := w.server.Close(); err != nil {
		w.fail("the server: %v", err)
	}
	time.Sleep(2 * leaves) // nothing may happen to a Call that is over
	w.calls.verdict()
	for _, d := range []verbs.Device{client, server} {
		if err := d.Close(); err != nil {
			w.fail("a device: %v", err)
		}
	}
	for _, f := range w.log.Check(history.Promise{Once: true}) {
		w.fail("%v", f)
	}
}
