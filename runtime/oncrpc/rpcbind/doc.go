// Package rpcbind registers RPC services that are reached over RDMA, and finds those of others: the binding
// protocol of ONC RPC (RFC 1833), versions 3 and 4, with the network identifiers "rdma" and "rdma6" and
// universal addresses (RFC 8166 §9). Its types are made from spec/x/rpcbind.
//
// rpcbind itself is not asked over RDMA, but over TCP at port 111, or over whatever stream the caller opens:
//
//	conn, err := net.Dial("tcp", "server:111")
//	c := rpcbind.NewClient(conn, nil)
//	addr, err := c.Lookup(ctx, 100003, 4, oncrpc.NetIDRDMA) // where NFS version 4 is, over RDMA
//
// A server registers what it serves, as a rule at the rpcbind of its own host, which takes that from the superuser alone:
//
//	err := c.Set(ctx, 100003, 4, netip.MustParseAddrPort("192.0.2.7:20049"), "superuser")
//
// What a server answers is not trusted: records have a limit, memory grows with the bytes that arrive, and an address of
// another form is an error.
package rpcbind
