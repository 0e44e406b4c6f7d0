// Package hand has XDR codecs written and unrolled by hand for three types of messages. They are
// the practical limit of safe Go.
//
//   - [Header], the RPC-over-RDMA version 1 header
//     (draft-ietf-nfsv4-rpcrdma-08 §4.3);
//   - [Opaque], one variable-length opaque of any size;
//   - [Dirplus], a directory listing with attributes and handles (dirplus.x in
//     the folder above).
//
// Generated code is compared with these codecs, so they do not skip what generated code must do:
// they check every length against the rest of the input, every flag, enumerator and padding, and
// the maximum sizes in both directions. They do not use unsafe.
//
// # Ownership
//
// Decode reuses the slices of its receiver and sets every field that the message has. Names,
// handles and opaque bytes alias the input, so the value is valid until the input changes.
// Encoders write nothing beyond the size that they return.
package hand
