package monitor_test

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
)

// A look at 10,000 connections shows 100.
func BenchmarkLook(b *testing.B) {
	m, s := monitor.New(nil), &fakeServer{}
	for i := range 10_000 {
		s.conns = append(s.conns, &fakeConn{addr: fmt.Sprintf("192.0.2.%d:%d", i%250, i), counts: counts{Flow: Flow{Calls: i}}})
	}
	m.Watch("files", monitor.Server(s))
	for b.Loop() {
		m.Look(monitor.Query{})
	}
}

// A Call that a server gets, with and without a recording.
func BenchmarkServe(b *testing.B) {
	for _, keep := range []bool{false, true} {
		b.Run(fmt.Sprintf("recorded=%t", keep), func(b *testing.B) {
			cfg := &monitor.Config{}
			if keep {
				cfg.Keep = -1
			}
			q, reply := &oncrpc.Request{Message: callOf(7, 400, 2, 1)}, replyOf(7, oncrpc.Success)
			h := monitor.New(cfg).Handler(oncrpc.HandlerFunc(func(r *oncrpc.Request) { r.Reply(reply, nil) }))
			r := &responder{addr: "192.0.2.1:9"}
			b.ReportAllocs()
			for b.Loop() {
				q.Responder = r
				h.ServeRPC(q)
			}
		})
	}
}

// A scrape of 10,000 connections and 256 procedures.
func BenchmarkMetrics(b *testing.B) {
	m, s := monitor.New(&monitor.Config{Keep: -1}), &sums{}
	for i := range 10_000 {
		s.conns = append(s.conns, sumConn{fmt.Sprintf("192.0.2.%d:%d", i%250, i), uint64(i), i})
		get(m, s.conns[i].addr, 400, uint32(i))
	}
	m.Watch("files", monitor.Server(s))
	for b.Loop() {
		m.Metrics(0)
	}
}

// A Call that a client makes, with and without a recording.
func BenchmarkCall(b *testing.B) {
	for _, keep := range []bool{false, true} {
		b.Run(fmt.Sprintf("recorded=%t", keep), func(b *testing.B) {
			cfg := &monitor.Config{}
			if keep {
				cfg.Keep = -1
			}
			reply := &oncrpc.Reply{Message: replyOf(7, oncrpc.Success).Inline}
			c := monitor.New(cfg).Carrier(peer{addr: "192.0.2.1:9", call: func(*oncrpc.Call) (*oncrpc.Reply, error) { return reply, nil }})
			call := &oncrpc.Call{Message: oncrpc.Message{Inline: callOf(7, 400, 2, 1)}}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.Call(b.Context(), call)
			}
		})
	}
}
