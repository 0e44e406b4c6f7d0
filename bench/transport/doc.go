// Package transport measures RPC over rdmaio beside other RPC systems over TCP, on the loopback
// interface, with client and server in separate processes.
//
//   - tcp, framed, framed-go, segments: the lower bounds and practical limits of package verbs.
//   - floor: the messages of rdmatcp without rdmaio and rdmatcp, by package verbs.
//   - net/rpc: the standard library's, with gob, and a struct with one slice of bytes.
//   - grpc: google.golang.org/grpc with its defaults over one connection without TLS. Messages are
//     byte slices, by a codec of this package: no time is spent on protocol buffers.
//   - oncrpc/tcp: runtime/oncrpc/tcp with an inline handler and hand-written RPC headers of 40 and
//     24 bytes. "stubs/tcp" is the same with headers of runtime/oncrpc and generated code on both
//     sides.
//   - framed-async: framed with a client that has one goroutine, which begins the next call where
//     one is completed. "rdmatcp-floor-async" is that for floor. "oncrpc/tcp/async",
//     "stubs/tcp/async", "udp/async", "rdmatcp/async", "iwarp/async" and "mem/async" do so by
//     Submit.
//   - go-nfs-client: the RPC client of github.com/willscott/go-nfs-client. It calls the server of
//     oncrpc/tcp.
//   - libtirpc: rpcgen and libtirpc over TCP, both ends in C, one call at a time. It has a
//     row where rpcgen, gcc and libtirpc's headers are installed.
//   - rdmatcp: rdmaio over providers/rdmatcp, with an inline handler and hand-written RPC headers
//     of 40 and 24 bytes. "stubs" is the same with headers of runtime/oncrpc and generated code on
//     both sides.
//   - rdmatcp/4-connections: a Client with four connections. Beside it, rdmatcp has a row for as
//     many calls over one connection.
//   - rdmatcp/v2: the same as rdmatcp with version 2 of RPC-over-RDMA. Bulk data goes by chunk.
//   - rdmatcp/v2-continued: the same, with bulk data of 64 KiB in the message, which goes in
//     several Sends: a write does not wait for an RDMA Read.
//   - iwarp: the same as rdmatcp over providers/iwarp, with CRCs.
//   - mem: rdmaio over providers/mem, both ends in this process.
//   - copy: one copy of as many bytes.
//   - echo: with many connections only. The server writes back what it has read, and the client
//     writes each call alone. The rows "stubs/rdmatcp" and "stubs/iwarp" have generated stubs with
//     the default Configs, and "/async" calls a procedure that is marked as never blocking.
//
// A call has 128 bytes of arguments and of results. "write" moves bulk data to the server: in
// rdmaio a read chunk, which the server fetches by RDMA Read. "read" moves it to the client: a
// write chunk, which the server fills by RDMA Write. 4 KiB fit the message in both directions.
package transport
