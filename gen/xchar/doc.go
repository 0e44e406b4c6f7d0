// Package xchar encodes and decodes the transport characteristics extension: section 5.2 of
// draft-dnoveck-nfsv4-rpcrdma-xcharext-01. Package [xdr] documents the methods of generated types
// and the ownership of memory.
//
// Its four operations, [Init], [Req], [Resp] and [Upd], are the bodies of an optional header type
// that the version 2 draft of this module no longer has (A12 in docs/pitfalls.md). The transport
// chooses the header that carries them, with the operation's number in front. No RPC payload
// follows them.
//
// A [Value] is the number of a characteristic and opaque data. The types of the data,
// [ReceiveBufferSize], [RemoteInvalidation] and [BackwardSupportLevel], are in [Extension] under
// [xdr.Characteristics]. These numbers are not property ids of version 2: number 1 is the receive
// size here and the send size there. An unknown characteristic is skipped (section 2.1); an unknown
// level of [BackwardSupportLevel] is an error. In a [Subset], element N of the described set is bit
// N mod 32 of word N div 32, and missing words are zero.
//
// The errata (spec/errata; P5, P12 and P15 in docs/pitfalls.md) reverse three typedefs, define
// uint32 and remove the types of constants. None changes the encoding.
package xchar
