// Package prometheus gives the metrics of servers and clients to a registry of
// github.com/prometheus/client_golang: calls by procedure, status and peer, their times in parts,
// bytes, credits and registrations, over RDMA, TCP and UDP.
//
//	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{nfs3rpc.Program()}})
//	server, err := rdmaio.Listen(ctx, dev, addr, m.Handler(service), cfg)
//	...
//	m.Watch("files", monitor.Server(server))
//	registry.MustRegister(prometheus.NewCollector(m, nil))
//
// A program without a registry needs no more than monitor.Monitor.ServeMetrics, which serves the
// same names and values.
//
// Nothing is done between two scrapes, except that Calls are recorded for Config.Keep after each
// one: see package monitor for what that costs, and for the limits on what a peer can make up.
package prometheus
