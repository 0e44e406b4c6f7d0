// Package transport measures RPC over rdmaio beside other ways to make a call over TCP, on the
// loopback interface, with client and server in processes of their own.
//
//   - tcp, framed, framed-go, segments: those of package verbs, the floors and the practical limits.
//   - net/rpc: the standard library's, gob, a struct with one slice of bytes.
//   - grpc: google.golang.org/grpc with its defaults over one connection without TLS. Messages are bytes as they are, by a
//     codec of this package, so nothing is spent on protocol buffers; that flatters it.
//   - rdmatcp: rdmaio over providers/rdmatcp, inline handler, RPC headers of 40 and 24 bytes made by hand. "stubs" is the
//     same with headers of runtime/oncrpc and generated code on both sides.
//   - mem: rdmaio over providers/mem, both ends in this process; "copy" is one copy of as many bytes.
//
// A call takes 128 bytes of arguments and brings as many results. "write" brings bulk to the server:
// here a read chunk that the server fetches by RDMA Read. "read" brings it to the client: a write
// chunk that the server fills by RDMA Write.
package transport
