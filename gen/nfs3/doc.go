// Package nfs3 encodes and decodes NFS version 3, RFC 1813: the types, arguments and results of
// program [Program], version [Version]. Package [mount3] has the protocol by which a client gets
// its first file handle.
//
// [ReadArgs] and [ReadRes] are the argument and the result of procedure [ProcRead], and so on. A
// result is a union: Status selects the arm OK, or the arm Fail if a failed call has results.
// Names are those of the RFC without its 3. Linked lists of the XDR, such as the entries of a
// directory, are slices.
//
// [DDPBindings] has the four items that RFC 8267 §4 makes eligible for direct data placement: the
// data of READ and WRITE, the path that READLINK returns, and the path that SYMLINK takes.
//
// The RFC sets no limit for names, paths and data. The limit of a file system is in [PathConfResOK]
// and [FSInfoResOK]. A decoder takes no more memory than its input justifies.
//
// Package [xdr] documents the methods of generated types. Errata P24 and P26 in docs/pitfalls.md
// correct two names and the types of C. Neither changes the encoding.
//
// [mount3]: https://pkg.go.dev/github.com/rpcrdma/rpcrdma/gen/mount3
package nfs3
