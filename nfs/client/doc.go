// Package client is an NFS version 3 client (RFC 1813) over any carrier of ONC RPC: RDMA, TCP or
// memory. Nothing is mounted: a program calls the server, and needs no privilege.
//
//	c, name, err := client.Dial(ctx, "storage.example.net:/export/data", nil)
//	...
//	f, err := c.Open(ctx, name+"/file")
//
// It is an example, written to be read. It leaves out:
//
//   - locks (NLM), access control lists, quotas and Kerberos: AUTH_SYS proves nothing;
//   - caches: each method calls the server;
//   - symbolic links in paths: they are not followed, and ReadLink returns their target;
//   - MKNOD, and NFS version 4.
//
// # Names
//
// A name is a path below the root of the Client, with slashes between its elements; "" and "." are
// the root itself. Elements that are ".." are refused. A name from the server must be a single
// element of a path, for example not "../x", because a server could otherwise lead a copy out of
// its directory.
//
// # Calls that are sent again
//
// A Client of Dial connects again when its connection is lost, and sends the calls without a reply
// again. A server without a reply cache may then execute a call twice: a Remove that succeeded
// returns fs.ErrNotExist, a Mkdir fs.ErrExist. READ and WRITE may be executed twice without harm,
// and so may OpenFile with os.O_EXCL, whose verifier the server compares.
//
// # Data that must not be lost
//
// Written data are in the server's memory until COMMIT. The server's write verifier changes when it
// restarts (RFC 1813 §4.8): then the File writes them again. WriteAt keeps a copy of its
// data for that, CopyFrom reads its source again. Both commit after each Config.Window bytes.
//
// # A server that is not trusted
//
// Every count, cookie and name of a reply is checked. A reply that breaks a rule is a
// *ProtocolError.
package client
