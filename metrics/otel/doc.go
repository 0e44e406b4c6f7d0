// Package otel gives the metrics of servers and clients to the SDK of OpenTelemetry: calls by
// procedure, status and peer, their times in parts, bytes, credits and registrations, over RDMA,
// TCP and UDP.
//
//	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{nfs3rpc.Program()}})
//	client := rpc.NewClient(m.Carrier(carrier), nfs3rpc.Program(), nil)
//	...
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(otel.NewProducer(m, nil)))
//	provider := metric.NewMeterProvider(metric.WithReader(reader))
//
// A Producer is asked by the reader each time when that collects, and nothing is done before. The
// instruments of OpenTelemetry's API could not do that for times, because a histogram has no
// instrument that is observed: each Call would have to be recorded when it ends.
//
// The temporality is always cumulative, and Calls are recorded for Config.Keep after each
// collection: see package monitor for what that costs, and for the limits on what a peer can make
// up.
package otel
