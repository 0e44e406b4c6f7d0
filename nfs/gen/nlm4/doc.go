// Package nlm4 encodes and decodes version 4 of the network lock manager, the protocol by which
// clients of NFS version 3 lock files: the types of program [Program], version [Version].
//
// RFC 1813 §6 has the types that version 4 changes. The others are the types of version 3, which
// The Open Group describes in Protocols for Interworking: XNFS, Version 3W, chapter 10; spec/x/nlm4
// has them in two files written by hand.
//
// [TestArgs], [LockArgs], [CancelArgs], [UnlockArgs] and [ShareArgs] are arguments, and [TestRes],
// [Res] and [ShareRes] results; each result has the cookie of its call. The procedures in _MSG have
// no results: the server answers by a call of the procedure in _RES at the client. Names are those
// of the RFC without their 4.
//
// Nothing of this protocol is eligible for direct data placement (RFC 8267 §5.1). Servers offer it
// over TCP and UDP, at a port that their port mapper has.
//
// Package [xdr] documents the methods of generated types. Erratum P26 in docs/pitfalls.md corrects
// the names of two types, and changes no byte.
package nlm4
