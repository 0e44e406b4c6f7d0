// Package hand is the practical limit for XDR codecs in safe Go: what a
// patient programmer writes by hand, unrolled, for four messages.
//
//   - [Header], the RPC-over-RDMA version 1 header
//     (draft-ietf-nfsv4-rpcrdma-08 §4.3);
//   - [Opaque], one variable-length opaque of any size;
//   - [Dirplus], a directory listing with attributes and handles (dirplus.x in
//     the folder above).
//
// Generated code is measured against it, so it takes no short cut that
// generated code may not take: no unsafe, every length compared with what is
// left, every flag 0 or 1, every enumerator declared, padding zero, maximum
// sizes kept in both directions.
//
// # Ownership
//
// Decode reuses the slices of the value it is called on and sets every field
// the message carries; names, handles and opaque bytes alias the input, so the
// value is good only while the input is left alone. Encoders write nothing
// past the size they report.
package hand
