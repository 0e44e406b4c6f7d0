package rdmaio_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// world is a network with a client's and a server's device, both traced, with
// keys that are the same in each run.
type world struct {
	t              testing.TB
	net            *mem.Network // nil over another provider
	at, addr       string       // where to listen; where to dial
	client, server verbs.Device
	serverMem      *mem.Device
	rec            *trace.Recorder
	watch          *watch
	heads          bool   // the history has the first bytes of messages
	rest           func() // waits until both ends have nothing left to do, where that can be known
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, at: "there", addr: "there", rest: func() {}, net: mem.New(&mem.Config{Rand: rand.NewChaCha8([32]byte{1})})}
	w.open(func(name string) (verbs.Device, error) {
		d, err := w.net.Open(name, nil)
		w.serverMem = d
		return d, err
	})
	return w
}

// newTCPWorld is the same over loopback TCP. There the order of events is not the same in each run.
func newTCPWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, at: "127.0.0.1:0", rest: func() {}}
	w.open(func(name string) (verbs.Device, error) { return rdmatcp.Open(&rdmatcp.Config{Name: name}) })
	return w
}

// open makes the devices, with one history of both.
func (w *world) open(dev func(name string) (verbs.Device, error)) {
	w.rec, w.watch = trace.NewRecorder(1<<20), newWatch()
	tr := trace.New(trace.Config{Head: 8192, Sink: func(e trace.Event) {
		w.watch.event(&e)
		if !w.heads {
			e.Head = ""
		}
		w.rec.Add(e)
	}})
	w.t.Cleanup(func() { // the last thing
		if err := w.watch.result(); err != nil {
			w.t.Error(err)
		}
	})
	var all []verbs.Device
	traced := func(name string) verbs.Device {
		d, err := dev(name)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, d)
		w.t.Cleanup(func() { // R285: nothing is left of anything
			if err := d.Close(); err != nil {
				w.t.Error(err)
			}
		})
		return watched{tr.Device(d), w.watch, name}
	}
	stop := w.hurry(func() {
		for _, d := range all {
			if r, ok := d.(interface{ Remove() }); ok {
				r.Remove()
			}
		}
	})
	w.t.Cleanup(stop)
	w.client, w.server = traced("client"), traced("server")
}

// hurry takes the devices away from a test that takes too long: so a Call that hangs fails that test, with
// a word about it, and not the whole run. In a bubble of package synctest what hangs is found by that.
func (w *world) hurry(remove func()) (stop func()) {
	if time.Now().Year() < 2020 { // a bubble's clock begins in 2000
		return func() {}
	}
	patience := time.Minute
	if s := os.Getenv("PATIENCE"); s != "" {
		var err error
		if patience, err = time.ParseDuration(s); err != nil {
			w.t.Fatal(err)
		}
	}
	over := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(over)
		w.t.Errorf("after %v the test still runs: its devices are taken away", patience)
		remove()
	})
	return func() {
		if !timer.Stop() {
			<-over
		}
	}
}

// overEachSteady is overEach for tests that compare histories: over mem the test runs in a bubble of package synctest,
// where rest lets both ends finish before the history is read.
func overEachSteady(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("mem", func(t *testing.T) { steady(t, test) })
	t.Run("rdmatcp", func(t *testing.T) { test(t, newTCPWorld(t)) })
}

// steady runs a test over mem in a bubble.
func steady(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.rest = synctest.Wait
		test(t, w)
	})
}

// overEach runs a test over each provider.
func overEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run("mem", func(t *testing.T) { test(t, newWorld(t)) })
	t.Run("rdmatcp", func(t *testing.T) { test(t, newTCPWorld(t)) })
}

// least makes the thresholds of a Config the least ones unless it names others: most tests
// here have messages of a size made for those. And it allows what has more to go wrong, the end of
// keys by the server, unless that is off.
func least(cfg *rdmaio.Config) *rdmaio.Config {
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

// spoken tells the watch what language it will hear.
func (w *world) spoken(cfg *rdmaio.Config) {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	w.watch.legacy = w.watch.legacy || cfg != nil && cfg.Legacy
}

// serve starts a server, which ends with the test.
func (w *world) serve(h rdmaio.Handler, cfg *rdmaio.Config) *rdmaio.Server {
	w.t.Helper()
	w.spoken(cfg)
	s, err := rdmaio.Listen(context.Background(), w.server, w.at, h, least(cfg))
	if err != nil {
		w.t.Fatal(err)
	}
	w.addr = s.Addr()
	w.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return s
}

// dial connects a client, which ends with the test.
func (w *world) dial(cfg *rdmaio.Config) *rdmaio.Conn {
	w.t.Helper()
	w.spoken(cfg)
	c, err := rdmaio.Dial(context.Background(), w.client, w.addr, least(cfg))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return c
}

// mark returns the place in the history from which since is to return events.
func (w *world) mark() int {
	w.rest()
	return len(w.rec.Events())
}

// since gives the events from the n-th on that tell what moved, without those of
// waiting.
func (w *world) since(n int) (list []trace.Event) {
	w.rest()
	for _, e := range w.rec.Events()[n:] {
		switch e.Kind {
		case trace.PostSend, trace.PostRecv, trace.Complete, trace.Register, trace.Reregister, trace.Redirect, trace.Invalidate, trace.Deregister, trace.Alloc, trace.RefuseSend, trace.RefuseRecv, trace.Lost:
			e.Seq = uint64(len(list) + 1)
			list = append(list, e)
		}
	}
	return list
}

// render writes events a line each.
func render(list []trace.Event) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}

// golden compares a history with one on file, where it is always the same.
func (w *world) golden(t *testing.T, name string, list []trace.Event) {
	t.Helper()
	if w.net != nil {
		golden.CheckString(t, name, render(list))
	}
}

// count is how many events match.
func count(list []trace.Event, match func(e *trace.Event) bool) (n int) {
	for i := range list {
		if match(&list[i]) {
			n++
		}
	}
	return n
}

// sends reports whether e posts a message.
func sends(e *trace.Event) bool {
	return e.Kind == trace.PostSend && (e.Opcode == verbs.Send || e.Opcode == verbs.SendWithInvalidate)
}

func pattern(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
