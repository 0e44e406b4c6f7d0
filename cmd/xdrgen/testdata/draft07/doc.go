// Package rpcrdma2draft07 encodes and decodes the transport header of the last draft of
// RPC-over-RDMA version 2: sections 8.3 and 8.4 of draft-ietf-nfsv4-rpcrdma-version-two-07.
//
// No connection of this module speaks it, and no other package can import it: a test of xdrgen
// generates this package in a temporary folder. Version 2 of this module is package rpcrdma2, of draft 00. Both drafts write
// 2 in the version word, and their bytes differ: one message can be valid in both, with two
// meanings. So the contents of a message never decide which draft it follows, and a connection has
// one profile (R332). The package's name has the draft's number, which the name of a profile in use
// does not, so that no reader and no import takes one for the other. docs/version-two-drafts.md
// lists the differences.
//
// A message has three parts (section 6): a [HeaderPrefix], the body of its header type, and, for
// some types, all or part of an RPC message. Decode the prefix, look up Start.Htype in [Extension]
// ([xdr.HeaderTypes]), and decode that type from the same Decoder. The bodies are [CallExternal],
// [CallMiddle], [CallInline], [ReplyExternal], [ReplyMiddle], [ReplyInline], [Error] and
// [ConnProp]; [HeaderGrant] has none. Package [xdr] documents the methods of generated types and
// the ownership of memory.
//
// After a type for inline messages, [xdr.Decoder.Rest] returns the payload. The draft has the
// payload's first word as a field of four headers. An erratum removes it (A26 in docs/pitfalls.md),
// as the word belongs to the RPC message, and the last part of a message may be shorter. The bytes
// are the same.
//
// Header types, error codes and property ids are plain numbers, not enums: new ones decode. An
// unknown error code has no body. The data of a property are opaque here. Their types are in
// [Extension] under [xdr.Properties], and data of zero length stand for the default (section 5.1).
//
// The other errata (spec/errata; P4, P5 and P6 in docs/pitfalls.md) reverse a typedef, define words
// that the draft uses without a definition, and give arms of the error union distinct names. None
// changes the encoding.
package rpcrdma2draft07
