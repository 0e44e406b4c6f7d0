// Package rpcbind registers and looks up RPC services: the binding protocol of ONC RPC (RFC 1833),
// versions 2, 3 and 4, with universal addresses and the network identifiers of TCP, UDP and RDMA
// (RFC 5665, RFC 8166 §5). Its types are generated from spec/x/rpcbind.
//
//	at, err := rpcbind.Resolve(ctx, "server", 100003, 4, "rdma", nil) // NFS version 4 over RDMA
//
// A [Client] does more over one connection:
//
//	conn, err := rpcbind.Dial(ctx, "server", nil) // port 111
//	c := rpcbind.NewClient(conn, nil)
//	at, err := c.Lookup(ctx, 100003, 4, oncrpc.NetIDTCP)
//	all, err := c.Dump(ctx)
//
// A server usually registers its services at the rpcbind server on the same host, which accepts
// this from no other host. Over TCP, rpcbind does not know the user, and any user of the host can
// remove the registration. Over its socket in the file system it knows the user:
//
//	conn, err := tcp.Dial(ctx, "unix:/run/rpcbind.sock", nil)
//	c := rpcbind.NewClient(conn, nil)
//	err = c.Set(ctx, 100003, 4, oncrpc.NetIDRDMA, netip.MustParseAddrPort("0.0.0.0:20049"), "")
//
// A [Server] keeps such a table in memory, for tests and for hosts without another rpcbind.
//
// # Carriers
//
// Client and Server work over TCP and over UDP; most other clients ask over UDP. Over TCP, a
// server that is down is seen at once, and a table of any length fits. Over UDP, each call waits
// for its reply until the context is done, and a table beyond 64 KiB is a system error of the
// server.
//
// # Trust
//
// The client does not trust the server. It checks the form of addresses, and the loopback address
// of another host is an error. It decodes tables of at most 1 MiB. The context of each call limits
// the time: rpcbind leaves some calls without an answer. A server can name the address of any other
// host, and the protocol has no protection against that: authenticate the service.
package rpcbind
