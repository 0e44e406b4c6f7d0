// Package rpcrdma1 is the transport header of RPC-over-RDMA version 1:
// section 4.3 of draft-ietf-nfsv4-rpcrdma-08, the protocol of RFC 8166.
//
// [Message] is all of it: XID, version, credits, and a [Body] that is one of
// five procedures. Chunk lists, linked lists in the XDR, are slices. Package [xdr]
// says what methods every type has, and who owns the memory.
//
// What follows a header of procedure [ProcMsg] or [ProcMsgp] is the RPC message
// and belongs to nobody here: decode with DecodeXDR and take what
// [xdr.Decoder.Rest] returns, which begins with the XID again. UnmarshalBinary
// is for messages without one: it refuses what follows. Version and XID are
// decoded as they are, even where the body is refused; judging them, and which
// lists a procedure may have, is the transport's work.
//
// The draft's XDR is corrected in four places (spec/errata, P19 to P22 in
// docs/pitfalls.md): word types are defined, definitions are in order, the two
// words of [ErrVers] are a struct, and an error code that is not known has no
// body, where the draft has eight words that no peer sends. Only the last can
// be seen on the wire; RFC 8166 has it so, too. Such codes decode, so that their
// RPC can be ended. Procedures that are not known do not.
package rpcrdma1
