package transport

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	bench "github.com/rpcrdma/rpcrdma/bench/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestLoad(t *testing.T) {
	busy := make([]bool, 4)
	l := newLoad(len(busy), func(slot int) error {
		if busy[slot] {
			t.Error("two calls in a slot")
		}
		busy[slot] = true
		time.Sleep(10 * time.Microsecond)
		busy[slot] = false
		return nil
	})
	if _, err := l.run(100); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, took := range l.took {
		n += len(took)
	}
	if p50, p99 := l.Percentiles(); n != 100 || p50 < 10e3 || p99 < p50 {
		t.Errorf("%d calls, p50 %v, p99 %v", n, p50, p99)
	}
	boom := errors.New("boom")
	l = newLoad(2, func(int) error { return boom })
	if _, err := l.run(10); !errors.Is(err, boom) {
		t.Errorf("error %v, want %v", err, boom)
	}
}

func TestPercentiles(t *testing.T) {
	l := newLoad(2, nil)
	for i := range 50 {
		l.took[0] = append(l.took[0], time.Duration(100-i)) // 100 to 51
		l.took[1] = append(l.took[1], time.Duration(1+i))   // 1 to 50
	}
	if p50, p99 := l.Percentiles(); p50 != 51 || p99 != 100 {
		t.Errorf("p50 %v, p99 %v, want 51 and 100", p50, p99)
	}
}

// Each client detects wrong answers of the server.
func TestClientsCheck(t *testing.T) {
	n := mem.New(nil)
	there, err := n.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	here, err := n.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	good := newHandler()
	other := newHandler()
	for i := range other.data {
		other.data[i]++
	}
	ctx := context.Background()
	for name, h := range map[string]rdmaio.Handler{"good": good, "other": other} {
		s, err := rdmaio.Listen(ctx, there, name, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
	shape := bench.Shape{Size: 64 << 10, Depth: 2}
	for _, op := range []string{bench.Write, bench.Read} {
		c, err := dialRDMA(ctx, here, "good", op, shape, config(shape.Depth), false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newLoad(shape.Depth, c.call).run(20); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := dialRDMA(ctx, here, "other", bench.Read, shape, config(shape.Depth), false); err == nil {
		t.Error("other data than the right one passes")
	}
	c, err := dialStubs(ctx, here, "good", single)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.call(0); err != nil {
		t.Error(err)
	}
	c.body = make([]byte, 2<<20) // more than procSink takes
	if err := c.call(0); err == nil {
		t.Error("a call that cannot be encoded passes")
	}
}

// The clients over TCP detect wrong answers, too.
func TestTCPClients(t *testing.T) {
	other := newHandler()
	for i := range other.data {
		other.data[i]++
	}
	ctx := context.Background()
	addrs := map[string]string{}
	for name, h := range map[string]rdmaio.Handler{"good": newHandler(), "other": other} {
		s, err := tcp.Listen(ctx, "127.0.0.1:0", h, &tcpConfig)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		addrs[name] = s.Addr()
	}
	shape := bench.Shape{Size: 64 << 10, Depth: 2}
	for _, op := range []string{bench.Write, bench.Read} {
		c, err := dialTCP(ctx, addrs["good"], op, shape)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newLoad(shape.Depth, c.call).run(20); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := dialTCP(ctx, addrs["other"], bench.Read, shape); err == nil {
		t.Error("other data than the right one passes")
	}
	c, err := dialTCPStubs(ctx, addrs["good"], single)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.call(0); err != nil {
		t.Error(err)
	}
	call, gonfs, err := dialGoNFS(addrs["good"], single)
	if err != nil {
		t.Fatal(err)
	}
	defer gonfs.Close()
	if err := call(0); err != nil {
		t.Error(err)
	}
}

func TestPeers(t *testing.T) {
	for name, start := range map[string]func(net.Listener) error{
		NetRPC: serveNetRPC,
		GRPC:   func(ln net.Listener) error { serveGRPC(ln); return nil },
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		if err := start(ln); err != nil {
			t.Fatal(err)
		}
		for _, op := range []string{bench.Call, bench.Write} {
			var call func(int) error
			if name == GRPC {
				f, c, err := dialGRPC(ln.Addr().String(), op, single)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				call = f
			} else {
				f, c, err := dialNetRPC(ln.Addr().String(), op, single)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				call = f
			}
			if err := call(0); err != nil {
				t.Errorf("%s %s: %v", name, op, err)
			}
		}
	}
}
