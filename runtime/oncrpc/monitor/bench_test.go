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
