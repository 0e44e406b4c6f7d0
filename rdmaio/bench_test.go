package rdmaio_test

import (
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// A Call allocates little at both ends together if the caller brings the memory: the server's
// Request, and with chunks the Request's item list.
func TestCallAllocatesLittle(t *testing.T) {
	data := rdmaiotest.Pattern(64<<10, 1)
	for _, c := range []struct {
		name string
		h    rdmaio.Handler
		call *rdmaio.Call
		max  float64
	}{
		{"128 bytes", rpctest.Quick(nil), rpctest.SmallCall(), 1},
		{"64 KiB WRITE", rpctest.Quick(nil), func() *rdmaio.Call { c := rpctest.WriteCall(0, 0, data); c.ReplyBuf = make([]byte, 128); return c }(), 2},
		{"64 KiB READ", rpctest.Quick(data), func() *rdmaio.Call {
			c := rpctest.ReadCall(0, 0, make([]byte, 64<<10))
			c.ReplyBuf = make([]byte, 128)
			return c
		}(), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cfg := range []*rdmaio.Config{{NonBlocking: true}, {NonBlocking: true, RemoteInvalidate: 1}, nil} {
				conn, most, xid := rdmaiotest.Plain(t, c.h, cfg), c.max, uint32(0)
				if cfg == nil {
					most++ // for the handler's goroutine
				}
				if n := testing.AllocsPerRun(200, func() { xid++; rpctest.Again(t, conn, c.call, xid) }); n > most {
					t.Errorf("%+v: %v allocations, at most %v expected", cfg, n, most)
				}
			}
		})
	}
}

// A Client adds nothing to that, with one connection or several.
func TestClientAddsNoAllocation(t *testing.T) {
	for _, connections := range []int{1, 4} {
		dev, addr := rdmaiotest.PlainServer(t, rpctest.Quick(nil), &rdmaio.Config{NonBlocking: true})
		c, err := rdmaio.NewClient(dev, addr, &rdmaio.ClientConfig{Connections: connections})
		if err != nil {
			t.Fatal(err)
		}
		direct := rdmaiotest.Plain(t, rpctest.Quick(nil), &rdmaio.Config{NonBlocking: true})
		call, xid := rpctest.SmallCall(), uint32(0)
		want := testing.AllocsPerRun(200, func() { xid++; rpctest.Again(t, direct, call, xid) })
		got := testing.AllocsPerRun(200, func() { xid++; rpctest.Again(t, c, call, xid) })
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
	c := rdmaiotest.Plain(b, h, &rdmaio.Config{NonBlocking: true, Versions: []int{version}})
	b.ReportAllocs()
	b.SetBytes(n)
	for xid := uint32(1); b.Loop(); xid++ {
		rpctest.Again(b, c, call, xid)
	}
}

func BenchmarkCall128(b *testing.B)   { benchmark(b, 1, rpctest.Quick(nil), rpctest.SmallCall(), 0) }
func BenchmarkCall128V2(b *testing.B) { benchmark(b, 2, rpctest.Quick(nil), rpctest.SmallCall(), 0) }

// BenchmarkCall128Events makes Calls with Events at both sides; BenchmarkCall128 does so without.
func BenchmarkCall128Events(b *testing.B) {
	told := 0
	c := rdmaiotest.Plain(b, rpctest.Quick(nil), &rdmaio.Config{Events: func(rdmaio.Event) { told++ }})
	call := rpctest.SmallCall()
	b.ReportAllocs()
	for xid := uint32(1); b.Loop(); xid++ {
		rpctest.Again(b, c, call, xid)
	}
	if told < 4*b.N {
		b.Errorf("%d events of %d Calls", told, b.N)
	}
}

func BenchmarkWrite64K(b *testing.B)   { benchmarkWrite64K(b, 1) }
func BenchmarkWrite64KV2(b *testing.B) { benchmarkWrite64K(b, 2) }

func benchmarkWrite64K(b *testing.B, version int) {
	call := rpctest.WriteCall(0, 0, rdmaiotest.Pattern(64<<10, 1))
	call.ReplyBuf = make([]byte, 128)
	benchmark(b, version, rpctest.Quick(nil), call, 64<<10)
}

func BenchmarkRead64K(b *testing.B)   { benchmarkRead64K(b, 1) }
func BenchmarkRead64KV2(b *testing.B) { benchmarkRead64K(b, 2) }

func benchmarkRead64K(b *testing.B, version int) {
	call := rpctest.ReadCall(0, 0, make([]byte, 64<<10))
	call.ReplyBuf = make([]byte, 128)
	benchmark(b, version, rpctest.Quick(rdmaiotest.Pattern(64<<10, 1)), call, 64<<10)
}

// BenchmarkCall128x32 is 32 callers at a time.
func BenchmarkCall128x32(b *testing.B)   { benchmarkCall128x32(b, 1) }
func BenchmarkCall128x32V2(b *testing.B) { benchmarkCall128x32(b, 2) }

func benchmarkCall128x32(b *testing.B, version int) {
	c := rdmaiotest.Plain(b, &rpctest.File{T: b}, &rdmaio.Config{Versions: []int{version}})
	var xid atomic.Uint32
	b.ReportAllocs()
	b.SetParallelism(16) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		call := rpctest.SmallCall()
		for pb.Next() {
			rpctest.Again(b, c, call, xid.Add(1))
		}
	})
}

// BenchmarkContinuedCall and BenchmarkContinuedReply are messages of 64 KiB in Sends of 4 KiB.
func BenchmarkContinuedCall(b *testing.B) {
	call := rpctest.NullCall(0, 64<<10)
	call.ReplyBuf = make([]byte, 128)
	benchmarkContinued(b, rpctest.Quick(nil), call)
}

func BenchmarkContinuedReply(b *testing.B) {
	reply := append(rpctest.ReplyHeader(0).Buf, rdmaiotest.Pattern(64<<10, 1)...)
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		copy(reply, r.Message[:4])
		r.Reply(rdmaio.Message{Inline: reply}, nil)
	})
	call := rpctest.SmallCall()
	call.ReplyBuf = make([]byte, len(reply))
	benchmarkContinued(b, h, call)
}

func benchmarkContinued(b *testing.B, h rdmaio.Handler, call *rdmaio.Call) {
	c := rdmaiotest.Plain(b, h, &rdmaio.Config{NonBlocking: true, Versions: []int{2}, Continue: 1 << 20})
	b.ReportAllocs()
	b.SetBytes(64 << 10)
	for xid := uint32(1); b.Loop(); xid++ {
		rpctest.Again(b, c, call, xid)
	}
}
