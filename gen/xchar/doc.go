// Package xchar is the transport characteristics extension: section 5.2 of
// draft-dnoveck-nfsv4-rpcrdma-xcharext-01. Package [xdr] says what methods every
// type has, and who owns the memory.
//
// Its four operations, [Init], [Req], [Resp] and [Upd], are the bodies of an
// optional header type that the version 2 draft of this module no longer has
// (A12 in docs/pitfalls.md); which header carries them, and the operation's
// number in front, is for the transport to say. No RPC payload follows them.
//
// A [Value] is the number of a characteristic and opaque data; the types of the
// data, [ReceiveBufferSize], [RemoteInvalidation] and [BackwardSupportLevel], are in [Extension] under
// [xdr.Characteristics]. These numbers are no property ids of version 2:
// number 1 is the receive size here and the send size there. A characteristic
// that is not known is skipped (section 2.1); a level of [BackwardSupportLevel] that is not known
// is an error. In a [Subset], element N of the set it is about is bit N mod 32
// of word N div 32, and missing words are zero.
//
// The errata (spec/errata; P5, P12 and P15 in docs/pitfalls.md) turn three
// typedefs round, define uint32 and take the types off the constants. None
// changes a byte.
package xchar
