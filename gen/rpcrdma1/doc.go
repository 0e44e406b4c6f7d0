// Package rpcrdma1 encodes and decodes the transport header of RPC-over-RDMA version 1: section 4.3
// of draft-ietf-nfsv4-rpcrdma-08, the protocol of RFC 8166.
//
// A [Message] is a whole header: XID, version, credits, and a [Body] with the fields of one of five
// procedures. Chunk lists, linked lists in the XDR, are slices. Package [xdr] documents the methods
// of generated types and the ownership of memory.
//
// After a header of procedure [ProcMsg] or [ProcMsgp] comes the RPC message, which no type of this
// package includes. To read both, decode with DecodeXDR, and get the RPC message from
// [xdr.Decoder.Rest]; it begins with the XID again. UnmarshalBinary is for headers without an RPC
// message: it refuses trailing bytes. Version and XID are decoded even where the body is refused.
// The transport checks them, and the lists that a procedure may have.
//
// Errata correct the draft's XDR in four places (spec/errata, P19 to P22 in docs/pitfalls.md). Word
// types are defined, definitions are in order, and the two words of [ErrVers] are a struct. An
// unknown error code has no body; the draft has eight words, which no peer sends. Only the last
// changes the encoding, and agrees with RFC 8166. Unknown error codes decode, so that their RPC can
// be failed. Unknown procedures do not.
package rpcrdma1
