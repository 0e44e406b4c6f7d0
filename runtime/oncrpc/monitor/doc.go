// Package monitor shows what the servers and clients of a process do at this moment: a page for
// people, and the same as JSON for programs.
//
//	m := monitor.New(&monitor.Config{Programs: []oncrpc.Program{nfs3rpc.Program()}})
//	server, err := rdmaio.Listen(ctx, dev, addr, m.Handler(service), cfg)
//	...
//	m.Watch("files", monitor.Server(server))
//	http.Handle("/debug/rpcrdma", m)
//
// The parts can be used separately:
//
//   - Watch names a server, a client or some connections, whose counts the page shows.
//   - Handler sees the Calls that a server gets, on any carrier.
//   - Carrier sees the Calls that a client makes, on any carrier.
//   - Log keeps the last warnings and errors of a slog.Logger, such as a Config.Logger.
//
// # Cost
//
// A Call costs one atomic load while no page is open, and counts are read for each look only. A
// look begins a recording, which ends Config.Keep after the last one. A recorded Call costs a few
// allocations and a lock. So Calls that began before the recording are not in the list of Calls in
// progress; the connections count them (InFlight).
//
// # Hostile peers
//
// A peer chooses the numbers of its Calls and its name. The number of procedures and peers that are
// kept apart is limited (Config.MaxProcedures), and the others are counted together. The page puts
// all text into the document as text, may load nothing, and runs no script but its own. It shows
// clients' addresses and errors: serve it where only operators can reach it, such as 127.0.0.1. It
// changes nothing.
package monitor
