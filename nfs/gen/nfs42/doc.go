// Package nfs42 encodes and decodes NFS version 4.2, RFC 7863: the arguments and results of
// program [Program], version [Version], and of its callback program. It includes the operations of
// versions 4.0 and 4.1, which differ on the wire by their minor version only.
//
// A COMPOUND is [CompoundArgs] and [CompoundRes], lists of [ArgOp] and [ResOp]: each is a union, in
// which the number of the operation selects the arm. [ReadArgs] and [ReadRes] belong to operation
// [OpRead], and so on. A result is a union, too: Status selects the arm OK. [CBCompoundArgs] and
// [CBCompoundRes] are the same for callbacks, whose operations begin with CB. Names are those of
// the RFC without its 4, and without the letters before fields, such as csa_.
//
// Package nfs42rpc has clients and servers. A client chooses the number of its callback program:
// ClientConfig.Program and Service.SetProgram of package rpc set it. The test of callbacks in this
// folder shows both ends.
//
// [DDPBindings] has the four items that RFC 8267 §6.1 makes eligible for direct data placement, by
// operation: the data of READ and WRITE, the target that READLINK returns, and the target of a
// symbolic link that CREATE takes. No item of a callback is eligible.
//
// Values of attributes are opaque in the RFC: [Fattr] has the bitmap of their numbers, such as
// [AttrSize], and their encodings one after the other. [Attributes] has a field for each, and
// decodes them. Bodies of layouts and notifications are opaque, too.
//
// Operations of later documents, such as the extended attributes of RFC 8276, are unknown numbers.
// They do not decode: nothing in a COMPOUND says where an operation ends. Packages nfs42xattr (RFC
// 8276), nfs42deleg (RFC 9754) and nfs42ext (both) extend this one.
//
// Package [xdr] documents the methods of generated types.
package nfs42
