// Package rpcbind registers and looks up RPC services over RDMA. It is a client of the binding
// protocol of ONC RPC (RFC 1833), versions 3 and 4, with universal addresses and the network
// identifiers "rdma" and "rdma6" (RFC 8166 §9). Its types are generated from spec/x/rpcbind.
//
// The client reaches the rpcbind server over TCP, at port 111, with package tcp:
//
//	conn, err := tcp.Dial(ctx, "server:111", &tcp.Config{MaxRecord: 256 << 10})
//	c := rpcbind.NewClient(conn, nil)
//	addr, err := c.Lookup(ctx, 100003, 4, oncrpc.NetIDRDMA) // NFS version 4 over RDMA
//
// A server usually registers its services at the rpcbind of its own host, which accepts this only
// from the superuser:
//
//	err := c.Set(ctx, 100003, 4, netip.MustParseAddrPort("192.0.2.7:20049"), "superuser")
//
// The client does not trust the server: it checks the form of addresses, and package tcp limits the
// size of records.
package rpcbind
