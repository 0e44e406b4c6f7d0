// Package nfs is a client of NFS version 3 (RFC 1813) over RDMA, for tests against servers that
// others wrote.
//
// A [Client] calls procedures over any oncrpc.Carrier: a connection, or an rdmaio.Client that
// replaces lost ones. Data travels as RFC 8267 §4 has it: READ and READLINK by write chunks, WRITE
// and SYMLINK by read chunks. With [Config.Long] nothing is placed directly, so that the same calls
// become long calls and long replies. [Upload] and [Download] move whole files with several calls
// in flight. [Mount] gets the first file handle over TCP.
package nfs
