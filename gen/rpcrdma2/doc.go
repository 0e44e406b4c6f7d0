// Package rpcrdma2 encodes and decodes the transport header of RPC-over-RDMA version 2: sections
// 7.3 and 7.4 of draft-ietf-nfsv4-rpcrdma-version-two-00.
//
// A message has three parts (section 6.1): a [HeaderPrefix], the body of its header type, and, for
// some types, the RPC payload. XDR cannot express that, so no type here is a whole message. Decode
// the prefix, look up Start.Htype in [Extension] ([xdr.HeaderTypes]), and decode that type from the
// same Decoder. The bodies of the base protocol are [Msg], [Nomsg], [Error] and [ConnProp]. Package
// [xdr] documents the methods of generated types and the ownership of memory.
//
// After a [Msg], [xdr.Decoder.Rest] returns the payload, whole or a fragment. The draft has the
// payload's first word as a field of rpcrdma2_msg. An erratum (R149) removes it, as the word
// belongs to the RPC message, and the end of a fragment may even split it. The bytes are the same.
//
// Header types, error codes and property ids are plain numbers, not enums: new ones decode, and the
// transport refuses them. An unknown error code has no body. The data of a property are opaque
// here. Their types are in [Extension] under [xdr.Properties], and data of zero length stand for
// the default (section 5.1).
//
// The other errata (spec/errata, P1 to P6 in docs/pitfalls.md) correct syntax, define words that
// the draft uses without a definition, and give arms of the error union distinct names. None
// changes the encoding.
package rpcrdma2
