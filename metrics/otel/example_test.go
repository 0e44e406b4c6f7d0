package otel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rpcrdma/rpcrdma/metrics/otel"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/monitor"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A client has its metrics in a reader. A program takes a PeriodicReader with an exporter, which
// collects by itself.
func Example() {
	ctx := context.Background()
	server, err := tcp.Listen(ctx, "127.0.0.1:0", oncrpc.HandlerFunc(service), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{program}})
	reader := metric.NewManualReader(metric.WithProducer(otel.NewProducer(m, nil)))
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	defer provider.Shutdown(ctx)

	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil { // calls are counted from now on
		log.Fatal(err)
	}
	conn, err := tcp.Dial(ctx, server.Addr(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := rpc.NewClient(m.Carrier(conn), program, nil)
	for range 3 {
		if err := client.Call(ctx, 1, new(oncrpc.Void), new(oncrpc.Void), nil); err != nil {
			log.Fatal(err)
		}
	}
	if err := reader.Collect(ctx, &all); err != nil {
		log.Fatal(err)
	}
	for _, d := range all.ScopeMetrics[0].Metrics {
		if d.Name == "rpcrdma.client.calls" {
			fmt.Println(d.Name, d.Data.(metricdata.Sum[float64]).DataPoints[0].Value)
		}
	}
	// Output: rpcrdma.client.calls 3
}
