package rdmaio_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// world is a network with a client's and a server's device, both traced, with
// keys that are the same in each run.
type world struct {
	t              testing.TB
	net            *mem.Network
	client, server verbs.Device
	serverMem      *mem.Device
	rec            *trace.Recorder
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, net: mem.New(&mem.Config{Rand: rand.NewChaCha8([32]byte{1})}), rec: trace.NewRecorder(1 << 20)}
	tr := trace.New(trace.Config{Sink: w.rec.Add})
	open := func(name string) verbs.Device {
		d, err := w.net.Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // R285: nothing is left of anything
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		w.serverMem = d
		return tr.Device(d)
	}
	w.client, w.server = open("client"), open("server")
	return w
}

// serve starts a server, which ends with the test.
func (w *world) serve(h rdmaio.Handler, cfg *rdmaio.Config) *rdmaio.Server {
	w.t.Helper()
	s, err := rdmaio.Listen(context.Background(), w.server, "there", h, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
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
	c, err := rdmaio.Dial(context.Background(), w.client, "there", cfg)
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

// since gives the events from the n-th on that tell what moved, without those of
// waiting.
func (w *world) since(n int) (list []trace.Event) {
	for _, e := range w.rec.Events()[n:] {
		switch e.Kind {
		case trace.PostSend, trace.PostRecv, trace.Complete, trace.Register, trace.Reregister, trace.Invalidate, trace.Deregister, trace.Alloc, trace.RefuseSend, trace.RefuseRecv, trace.Lost:
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

// count is how many events match.
func count(list []trace.Event, match func(e *trace.Event) bool) (n int) {
	for i := range list {
		if match(&list[i]) {
			n++
		}
	}
	return n
}

func pattern(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
