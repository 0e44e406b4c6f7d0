// Package carriers combines the carriers of RPC: RDMA where there is a device and TCP otherwise,
// one handler on several carriers, and one client for several addresses.
//
// # RDMA or TCP
//
// Dial connects over RDMA if a device of this machine reaches the server, and otherwise over TCP.
// Listen serves both. A nil Choice opens devices by the provider ibverbs, if the program is built
// with the tag ibverbs.
//
//	servers, err := carriers.Listen(ctx, ":20200", handler, nil)
//	client, err := carriers.Dial(ctx, "server:20200", nil)
//
// # A handler on several carriers
//
// Serve serves a handler on every Listener until its context is done. Then all servers drain:
// handlers answer the Calls that they have, and no other comes. If one server fails, the others
// drain, too, and the error names it.
//
//	err := carriers.Serve(ctx, handler,
//		carriers.TCP(":20200", nil), carriers.UDP(":20200", nil),
//		carriers.RDMA(device, ":20201", nil))
//
// Start does not wait, and has the addresses.
//
// # A client for several addresses
//
// A Client is an oncrpc.Carrier for a service that has several addresses: servers with the same
// contents, or several carriers of one server. It gives each Call an address that is up, and tries
// lost ones again in the background. A Call that may have been executed is not sent to another
// address unless it is idempotent.
//
//	addrs, err := carriers.TCPAddresses(ctx, []string{"one:20200", "two:20200"}, nil)
//	client, err := carriers.NewClient(addrs, nil)
//	notes := notesrpc.NewClient(client, nil)
//
// docs/carriers.md explains the rules.
package carriers
