package rdmaio_test

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// plainServer returns a device over mem, without tracing, and the address of a server there.
func plainServer(t testing.TB, h rdmaio.Handler, cfg *rdmaio.Config) (client verbs.Device, addr string) {
	t.Helper()
	n := mem.New(nil)
	here, err := n.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	there, err := n.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := rdmaio.Listen(context.Background(), there, "there", h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), here.Close(), there.Close()); err != nil {
			t.Error(err)
		}
	})
	return here, s.Addr()
}

// plain is a client and a server over mem, without tracing. cfg is for both.
func plain(t testing.TB, h rdmaio.Handler, cfg *rdmaio.Config) *rdmaio.Conn {
	t.Helper()
	dev, addr := plainServer(t, h, cfg)
	c, err := rdmaio.Dial(context.Background(), dev, addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// quick answers with as little work as can be; data, if there is any, as an item.
// It uses one buffer for all replies, so it is for one Call at a time.
func quick(data []byte) rdmaio.Handler {
	head := replyHeader(0).buf
	var items []xdr.Item
	if data != nil {
		items = []xdr.Item{{Position: uint64(len(head)), Inline: len(head), Data: data}}
	}
	return rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		copy(head, r.Message[:4])
		r.Reply(rdmaio.Message{Inline: head, Items: items}, nil)
	})
}

// again makes the same Call under another XID.
func again(t testing.TB, c oncrpc.Carrier, call *rdmaio.Call, xid uint32) {
	binary.BigEndian.PutUint32(call.Inline, xid)
	if _, err := c.Call(context.Background(), call); err != nil {
		t.Fatal(err)
	}
}

func smallCall() *rdmaio.Call {
	call := nullCall(0, 128)
	call.ReplyBuf = make([]byte, 128)
	return call
}

// What a Call allocates, both ends together, when the caller brings the
// memory: the server's Request, and for chunks what the item list of it takes.
func TestAllocations(t *testing.T) {
	data := rdmaiotest.Pattern(64<<10, 1)
	for _, c := range []struct {
		name string
		h    rdmaio.Handler
		call *rdmaio.Call
		max  float64
	}{
		{"128 bytes", quick(nil), smallCall(), 1},
		{"64 KiB WRITE", quick(nil), func() *rdmaio.Call { c := writeCall(0, 0, data); c.ReplyBuf = make([]byte, 128); return c }(), 2},
		{"64 KiB READ", quick(data), func() *rdmaio.Call {
			c := readCall(0, 0, make([]byte, 64<<10))
			c.ReplyBuf = make([]byte, 128)
			return c
		}(), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cfg := range []*rdmaio.Config{{NonBlocking: true}, {NonBlocking: true, RemoteInvalidate: 1}, nil} {
				conn, most, xid := plain(t, c.h, cfg), c.max, uint32(0)
				if cfg == nil {
					most++ // for the handler's goroutine
				}
				if n := testing.AllocsPerRun(200, func() { xid++; again(t, conn, c.call, xid) }); n > most {
					t.Errorf("%+v: %v allocations, at most %v expected", cfg, n, most)
				}
			}
		})
	}
}

// A Client adds nothing to that, with one connection or several.
func TestClientAllocations(t *testing.T) {
	for _, connections := range []int{1, 4} {
		dev, addr := plainServer(t, quick(nil), &rdmaio.Config{NonBlocking: true})
		c, err := rdmaio.NewClient(dev, addr, &rdmaio.ClientConfig{Connections: connections})
		if err != nil {
			t.Fatal(err)
		}
		direct := plain(t, quick(nil), &rdmaio.Config{NonBlocking: true})
		call, xid := smallCall(), uint32(0)
		want := testing.AllocsPerRun(200, func() { xid++; again(t, direct, call, xid) })
		got := testing.AllocsPerRun(200, func() { xid++; again(t, c, call, xid) })
		if got > want {
			t.Errorf("%d connections: %v allocations, a connection alone has %v", connections, got, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// benchmark repeats a Call in a version of RPC-over-RDMA.
func benchmark(b *testing.B, version int, h rdmaio.Handler, call *rdmaio.Call, n int64) {
	c := plain(b, h, &rdmaio.Config{NonBlocking: true, Versions: []int{version}})
	b.ReportAllocs()
	b.SetBytes(n)
	for xid := uint32(1); b.Loop(); xid++ {
		again(b, c, call, xid)
	}
}

func BenchmarkCall128(b *testing.B)   { benchmark(b, 1, quick(nil), smallCall(), 0) }
func BenchmarkCall128V2(b *testing.B) { benchmark(b, 2, quick(nil), smallCall(), 0) }

// BenchmarkCall128Events makes Calls with Events at both sides; BenchmarkCall128 has none.
func BenchmarkCall128Events(b *testing.B) {
	told := 0
	c := plain(b, quick(nil), &rdmaio.Config{Events: func(rdmaio.Event) { told++ }})
	call := smallCall()
	b.ReportAllocs()
	for xid := uint32(1); b.Loop(); xid++ {
		again(b, c, call, xid)
	}
	if told < 4*b.N {
		b.Errorf("%d events of %d Calls", told, b.N)
	}
}

func BenchmarkWrite64K(b *testing.B)   { benchmarkWrite64K(b, 1) }
func BenchmarkWrite64KV2(b *testing.B) { benchmarkWrite64K(b, 2) }

func benchmarkWrite64K(b *testing.B, version int) {
	call := writeCall(0, 0, rdmaiotest.Pattern(64<<10, 1))
	call.ReplyBuf = make([]byte, 128)
	benchmark(b, version, quick(nil), call, 64<<10)
}

func BenchmarkRead64K(b *testing.B)   { benchmarkRead64K(b, 1) }
func BenchmarkRead64KV2(b *testing.B) { benchmarkRead64K(b, 2) }

func benchmarkRead64K(b *testing.B, version int) {
	call := readCall(0, 0, make([]byte, 64<<10))
	call.ReplyBuf = make([]byte, 128)
	benchmark(b, version, quick(rdmaiotest.Pattern(64<<10, 1)), call, 64<<10)
}

// BenchmarkCall128x32 is 32 callers at a time.
func BenchmarkCall128x32(b *testing.B)   { benchmarkCall128x32(b, 1) }
func BenchmarkCall128x32V2(b *testing.B) { benchmarkCall128x32(b, 2) }

func benchmarkCall128x32(b *testing.B, version int) {
	c := plain(b, &file{t: b}, &rdmaio.Config{Versions: []int{version}})
	var xid atomic.Uint32
	b.ReportAllocs()
	b.SetParallelism(16) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		call := smallCall()
		for pb.Next() {
			again(b, c, call, xid.Add(1))
		}
	})
}

// BenchmarkContinuedCall and BenchmarkContinuedReply are messages of 64 KiB in Sends of 4 KiB.
func BenchmarkContinuedCall(b *testing.B) {
	call := nullCall(0, 64<<10)
	call.ReplyBuf = make([]byte, 128)
	benchmarkContinued(b, quick(nil), call)
}

func BenchmarkContinuedReply(b *testing.B) {
	reply := append(replyHeader(0).buf, rdmaiotest.Pattern(64<<10, 1)...)
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		copy(reply, r.Message[:4])
		r.Reply(rdmaio.Message{Inline: reply}, nil)
	})
	call := smallCall()
	call.ReplyBuf = make([]byte, len(reply))
	benchmarkContinued(b, h, call)
}

func benchmarkContinued(b *testing.B, h rdmaio.Handler, call *rdmaio.Call) {
	c := plain(b, h, &rdmaio.Config{NonBlocking: true, Versions: []int{2}, Continue: 1 << 20})
	b.ReportAllocs()
	b.SetBytes(64 << 10)
	for xid := uint32(1); b.Loop(); xid++ {
		again(b, c, call, xid)
	}
}
