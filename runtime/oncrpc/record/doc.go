// Package record carries RPC messages over a byte stream such as TCP, as records (RFC 5531 §11).
//
// A [Client] calls procedures over a stream, one at a time. It is for protocols that set up a
// service, such as rpcbind and the mount protocol of NFS version 3, not for bulk data:
//
//	conn, err := net.Dial("tcp", "server:20048")
//	c := record.NewClient(conn, &record.Config{Cred: cred})
//	err = c.Call(ctx, mount3.Program, mount3.Version, mount3.ProcMount, &path, &res)
//
// [Read] and [Write] are the records themselves, for a server. The peer is not trusted: a record
// has a size limit, and memory grows with the bytes that arrive.
package record
