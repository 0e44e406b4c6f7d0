// Package xcharcarrier encodes and decodes the header type that carries the operations of the
// transport characteristics extension, of package [github.com/rpcrdma/rpcrdma/gen/xchar].
//
// The extension's document, draft-dnoveck-nfsv4-rpcrdma-xcharext-01, uses the OPTIONAL header type
// of the individual version 2 draft of June 2016. The version 2 of this module has no such type,
// and its header type 5 is another one (A12 in docs/pitfalls.md). [Optional] is the body of that
// header type: the endpoint that made the xid, the number of the operation, and the operation as
// opaque data. It follows the prefix of version 2, and no RPC message follows it.
//
// [HeaderType] is the default number. A configuration may choose another outside 0 to 13, which
// the base protocol and its later revisions use.
package xcharcarrier
