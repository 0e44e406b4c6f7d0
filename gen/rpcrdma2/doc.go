// Package rpcrdma2 is the transport header of RPC-over-RDMA version 2:
// sections 7.3 and 7.4 of draft-ietf-nfsv4-rpcrdma-version-two-00.
//
// A message is three things in a row (section 6.1): a [HeaderPrefix], the
// body that its header type names, and, for some types, the RPC payload. XDR
// cannot say so, hence no type here is a whole message: decode the prefix, look
// Start.Htype up in [Extension] ([xdr.HeaderTypes]), and decode that type from
// the same Decoder. The bodies of the base protocol are [Msg], [Nomsg],
// [Error] and [ConnProp]. Package [xdr] says what methods every type has, and who
// owns the memory.
//
// What [xdr.Decoder.Rest] returns after a [Msg] is payload, whole or a fragment
// of it. The draft shows the payload's first word as a field of rpcrdma2_msg; an
// erratum (R149) takes it out, as the word belongs to the RPC message and may
// even be cut by the end of a fragment. The bytes are the same.
//
// Header types, error codes and property ids are plain numbers, not enums: new
// ones decode, and it is the transport that refuses them. An unknown error code
// has no body. The data of a property are opaque here; their types are in
// [Extension] under [xdr.Properties], and data of zero length stand for the
// default (section 5.1).
//
// The other errata (spec/errata, P1 to P6 in docs/pitfalls.md) repair
// syntax, define the words the draft takes for granted, and give arms of
// the error union names of their own. None changes a byte.
package rpcrdma2
