// Package conform tests whether an RPC server or client does what the documents require: RFC 5531
// (RPC), RFC 4506 (XDR), RFC 2203 (RPCSEC_GSS) and RFC 8166 (RPC-over-RDMA version 1). It reads and
// writes all bytes itself, without the codecs and carriers of this module, so that it tests these,
// too.
//
// A server: [Cases] returns the table, and [Target.Run] runs one of it.
//
//	tables: message, auth, gss, value, record, datagram, rdma
//	   │ Case: steps of bytes to send, with the answers that are allowed
//	   ▼
//	Target.Run ──> exchange ──> wire: tcp, udp, rdma ──> the server
//	   │                │
//	   ▼                └── outcome: the answer in words
//	Result
//
// After each case a null call must be answered, on the same connection or, if the server was
// allowed to close it, on another one.
//
// A client: [Listen] serves the second program of conform.x, which says what the client is to call,
// and answers with the replies of a second table ([Replies]). The client reports each outcome.
package conform
