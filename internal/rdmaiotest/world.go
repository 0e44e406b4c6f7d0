package rdmaiotest

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// World is a network with a client's and a server's device.
type World struct {
	T              testing.TB
	Net            *mem.Network // nil over another provider
	ListenAddr     string       // what Serve listens on
	Addr           string       // what Dial dials; Serve sets it
	Client, Server verbs.Device
	ServerMem      *mem.Device     // Server without the trace; nil over another provider
	History        *trace.Recorder // the events of both devices
	Heads          bool            // keep the first bytes of messages
	Versions       []int           // of each Config without any; nil: version 1
	Continue       int             // of each Config without any

	oracle *oracle
	settle func() // waits until both ends have nothing left to do, where that can be known
}

// Options selects what a World is made of. The zero value is memory, traced.
type Options struct {
	// TCP, if not nil, selects loopback TCP with this configuration.
	TCP *rdmatcp.Config
	// IWARP, if not nil, selects iWARP over loopback TCP with this configuration.
	IWARP *iwarp.Config
	// Open, if not nil, opens the devices "client" and "server" of another provider, whose server
	// listens on Addr.
	Open func(name string) (verbs.Device, error)
	Addr string
	// Strict selects memory with the manners of hardware (mem.Config.Strict), by this seed.
	Strict uint64
	// Wrap, if not nil, wraps the devices "client" and "server" below the trace.
	Wrap func(name string, d verbs.Device) verbs.Device
	// Versions are those of each Config without any. If nil, it is version 1.
	Versions []int
	// Bare leaves out the trace, the oracle and the limit of time.
	Bare bool
}

// New makes a World over memory, with keys that are the same in each run.
func New(t testing.TB) *World {
	t.Helper()
	return NewWith(t, Options{})
}

// NewTCP makes a World over loopback TCP. There the order of events differs from run to run.
func NewTCP(t testing.TB) *World {
	t.Helper()
	return NewWith(t, Options{TCP: &rdmatcp.Config{}})
}

// NewIWARP makes a World over iWARP, with messages of several FPDUs. Either end may send first.
func NewIWARP(t testing.TB) *World {
	t.Helper()
	return NewWith(t, Options{IWARP: overIWARP()})
}

func overIWARP() *iwarp.Config {
	return &iwarp.Config{MULPDU: 2200, PeerToPeer: true, FirstDelay: -1}
}

// NewWith makes a World. Its devices are closed at the end of the test, which fails if anything of
// theirs is still open (R285).
func NewWith(t testing.TB, o Options) *World {
	t.Helper()
	w := &World{T: t, ListenAddr: "there", Addr: "there", Versions: o.Versions, oracle: newOracle(), settle: func() {}}
	open := func(name string) (verbs.Device, error) {
		d, err := w.Net.Open(name, nil)
		if name == "server" {
			w.ServerMem = d
		}
		return d, err
	}
	switch {
	case o.Open != nil:
		w.ListenAddr, w.Addr, open = o.Addr, "", o.Open
	case o.TCP != nil:
		w.ListenAddr, w.Addr = "127.0.0.1:0", ""
		open = func(name string) (verbs.Device, error) {
			cfg := *o.TCP
			cfg.Name = name
			return rdmatcp.Open(&cfg)
		}
	case o.IWARP != nil:
		w.ListenAddr, w.Addr = "127.0.0.1:0", ""
		open = func(name string) (verbs.Device, error) {
			cfg := *o.IWARP
			cfg.Name = name
			return iwarp.Open(&cfg)
		}
	default:
		w.Net = mem.New(&mem.Config{Rand: rand.NewChaCha8([32]byte{1}), Strict: o.Strict != 0, Seed: o.Strict})
	}
	around := func(_ string, d verbs.Device) verbs.Device { return d }
	if !o.Bare {
		around = w.observe()
	}
	var all []verbs.Device
	if !o.Bare {
		t.Cleanup(w.limitTime(func() {
			for _, d := range all {
				if r, ok := d.(interface{ Remove() }); ok {
					r.Remove()
				}
			}
		}))
	}
	device := func(name string) verbs.Device {
		d, err := open(name)
		if err != nil {
			t.Fatal(err)
		}
		if o.Wrap != nil {
			d = o.Wrap(name, d)
		}
		all = append(all, d)
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return around(name, d)
	}
	w.Client, w.Server = device("client"), device("server")
	return w
}

// observe starts the history and the oracle, and returns what puts a device under both.
func (w *World) observe() func(name string, d verbs.Device) verbs.Device {
	w.History = trace.NewRecorder(1 << 20)
	tr := trace.New(trace.Config{Head: 8192, Sink: func(e trace.Event) {
		w.oracle.event(&e)
		if !w.Heads {
			e.Head = ""
		}
		w.History.Add(e)
	}})
	w.T.Cleanup(func() { // runs last
		if err := w.oracle.result(); err != nil {
			w.T.Error(err)
		}
	})
	return func(name string, d verbs.Device) verbs.Device { return device{tr.Device(d), w.oracle, name} }
}

// limitTime removes the devices of a test that runs for more than a minute, or than the environment
// variable PATIENCE allows. So a Call that hangs fails that test and does not stop the whole run. A
// test that waits for something else, for as long again, panics with its name and all stacks. In a
// bubble of package synctest there is no limit: the runtime finds deadlocks.
func (w *World) limitTime(remove func()) (stop func()) {
	if time.Now().Year() < 2020 { // a bubble's clock begins in 2000
		return func() {}
	}
	patience := time.Minute
	if s := os.Getenv("PATIENCE"); s != "" {
		var err error
		if patience, err = time.ParseDuration(s); err != nil {
			w.T.Fatal(err)
		}
	}
	removed := make(chan *time.Timer, 1)
	timer := time.AfterFunc(patience, func() {
		w.T.Errorf("the test still runs after %v: its devices are removed", patience)
		remove()
		removed <- time.AfterFunc(patience, func() {
			debug.SetTraceback("all")
			panic(fmt.Sprintf("%s still runs %v after its devices were removed", w.T.Name(), patience))
		})
	})
	return func() {
		if !timer.Stop() {
			(<-removed).Stop()
		}
	}
}

// Each runs a test over each provider, with a World for each. Over memory it runs in a bubble of
// package synctest, where waiting takes no time and subtests are not allowed: EachInRealTime is for
// tests that have some. Short tests run over one of the two streams, which the test's name picks:
// what differs between them is in the tests of their packages.
func Each(t *testing.T, test func(t *testing.T, w *World)) {
	t.Run("mem", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, New(t)) })
	})
	overStreams(t, test)
}

// EachInRealTime is Each without a bubble: for tests with subtests, and those that measure time.
func EachInRealTime(t *testing.T, test func(t *testing.T, w *World)) {
	t.Run("mem", func(t *testing.T) { test(t, New(t)) })
	overStreams(t, test)
}

// overStreams runs a test over TCP and over iWARP, a short one over either.
func overStreams(t *testing.T, test func(t *testing.T, w *World)) {
	if Stream(t) != "iwarp" {
		t.Run("rdmatcp", func(t *testing.T) { test(t, NewTCP(t)) })
	}
	if Stream(t) != "rdmatcp" {
		t.Run("iwarp", func(t *testing.T) { test(t, NewIWARP(t)) })
	}
}

// Stream returns the stream provider of a short test, "rdmatcp" or "iwarp", which depends on the
// test's name alone. It returns "" for other tests, which run over both.
func Stream(t *testing.T) string {
	if !testing.Short() {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(t.Name()))
	return []string{"rdmatcp", "iwarp"}[h.Sum32()>>16&1]
}

// EachVersion runs a test over each provider, with version 1 and with version 2.
func EachVersion(t *testing.T, test func(t *testing.T, w *World)) {
	Each(t, test)
	Each2(t, test)
}

// Each2 runs a test over each provider, with version 2. Messages have chunks as in version 1: they
// go in several Sends only where a test has Config.Continue.
func Each2(t *testing.T, test func(t *testing.T, w *World)) {
	run := func(t *testing.T, o Options) {
		w := NewWith(t, o)
		w.Versions, w.Continue = []int{2}, -1
		test(t, w)
	}
	t.Run("mem, version 2", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { run(t, Options{}) })
	})
	if Stream(t) != "iwarp" {
		t.Run("rdmatcp, version 2", func(t *testing.T) { run(t, Options{TCP: &rdmatcp.Config{}}) })
	}
	if Stream(t) != "rdmatcp" {
		t.Run("iwarp, version 2", func(t *testing.T) { run(t, Options{IWARP: overIWARP()}) })
	}
}

// EachWithHeads is Each with the first bytes of each message in the history.
func EachWithHeads(t *testing.T, test func(t *testing.T, w *World)) {
	Each(t, func(t *testing.T, w *World) {
		w.Heads = true
		test(t, w)
	})
}

// EachSteady is Each for tests that compare histories: over memory the test runs as Steady does.
func EachSteady(t *testing.T, test func(t *testing.T, w *World)) {
	t.Run("mem", func(t *testing.T) { Steady(t, test) })
	overStreams(t, test)
}

// Steady runs a test over memory in a bubble of package synctest. Mark and Since then wait until
// both ends have nothing left to do.
func Steady(t *testing.T, test func(t *testing.T, w *World)) {
	synctest.Test(t, func(t *testing.T) {
		w := New(t)
		w.settle = synctest.Wait
		test(t, w)
	})
}

// Smallest returns a copy of a Config in which thresholds that are not set are the smallest that
// version 1 allows: most tests have messages of a size made for those. Remote invalidation, which
// has more to go wrong, is on unless it is set.
func Smallest(cfg *rdmaio.Config) *rdmaio.Config {
	var c rdmaio.Config
	if cfg != nil {
		c = *cfg
	}
	if c.InlineSend == 0 && c.InlineRecv == 0 {
		c.InlineSend, c.InlineRecv = 1024, 1024
	}
	if c.RemoteInvalidate == 0 {
		c.RemoteInvalidate = 1
	}
	return &c
}

// Config returns Smallest(cfg) with the versions of the World, unless cfg has any.
func (w *World) Config(cfg *rdmaio.Config) *rdmaio.Config {
	c := Smallest(cfg)
	if c.Versions == nil {
		c.Versions = w.Versions
	}
	if c.Continue == 0 {
		c.Continue = w.Continue
	}
	return c
}

// Expect prepares the oracle for a Config that is used without Serve or Dial.
func (w *World) Expect(cfg *rdmaio.Config) {
	w.oracle.mu.Lock()
	defer w.oracle.mu.Unlock()
	w.oracle.legacy = w.oracle.legacy || cfg != nil && cfg.Legacy
}

// Serve starts a server with Config(cfg). It is closed at the end of the test.
func (w *World) Serve(h rdmaio.Handler, cfg *rdmaio.Config) *rdmaio.Server {
	w.T.Helper()
	w.Expect(cfg)
	s, err := rdmaio.Listen(context.Background(), w.Server, w.ListenAddr, h, w.Config(cfg))
	if err != nil {
		w.T.Fatal(err)
	}
	w.Addr = s.Addr()
	w.T.Cleanup(func() { leak.Close(w.T, s) })
	return s
}

// Dial connects to the server with Config(cfg). The connection is closed at the end of the test.
func (w *World) Dial(cfg *rdmaio.Config) *rdmaio.Conn {
	w.T.Helper()
	w.Expect(cfg)
	c, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, w.Config(cfg))
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { leak.Close(w.T, c) })
	return c
}

// DialRaw connects a raw peer to the server, without private data.
func (w *World) DialRaw(t *testing.T) *peertest.Peer {
	t.Helper()
	p := peertest.New(t, w.Client)
	p.Dial(w.Client, w.Addr, nil)
	return p
}

// Progressed returns the number of Calls whose caller has waited for the reply in Progress
// (verbs.Progresser), and has got it there.
func (w *World) Progressed() int { return int(w.oracle.progressed.Load()) }

// LiveKeys returns how many keys of a device peers can use, and how many of these reach the memory
// of a Call. The others stand for memory of the pool, since their Call was cancelled.
func (w *World) LiveKeys(device string) (n, reaching int) { return w.oracle.live(device) }

// AnyAccess is all rights that a peer can have.
const AnyAccess = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite | verbs.AccessRemoteInvalidate

// Pattern returns n bytes that depend on the seed only.
func Pattern(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
