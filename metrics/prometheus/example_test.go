package prometheus_test

import (
	"context"
	"fmt"
	"log"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/rpcrdma/rpcrdma/metrics/prometheus"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A server has its metrics in a registry, which package promhttp serves.
func Example() {
	ctx := context.Background()
	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program}})
	server, err := tcp.Listen(ctx, "127.0.0.1:0", m.Handler(oncrpc.HandlerFunc(service)), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	m.Watch("store", monitor.Server(server))
	registry := client.NewRegistry()
	registry.MustRegister(prometheus.NewCollector(m, nil))

	if _, err := registry.Gather(); err != nil { // the first scrape: calls are counted from now on
		log.Fatal(err)
	}
	conn, err := tcp.Dial(ctx, server.Addr(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	for range 3 {
		if err := rpc.NewClient(conn, program, nil).Call(ctx, 1, new(oncrpc.Void), new(oncrpc.Void), nil); err != nil {
			log.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "rpcrdma_server_calls_total" {
			fmt.Println(f.GetName(), f.Metric[0].GetCounter().GetValue())
		}
	}
	// Output: rpcrdma_server_calls_total 3
}
