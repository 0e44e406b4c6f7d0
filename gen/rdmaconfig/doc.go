// Package rdmaconfig encodes and decodes the connection configuration protocol: section 6.2 of
// draft-ietf-nfsv4-rpcrdma-08. It is an RPC program of one procedure, by which the ends of a
// version 1 connection exchange the sizes that they can send and receive.
//
// [Req] and [Reply] are the argument and the result of procedure [ProcConfRDMA] of program
// [Program], version [ProgramVers1]. They follow the call or reply header, as in any RPC, and end
// the message. Sizes are in bytes of inline RPC message. Any number decodes; the transport checks
// bounds.
//
// Package [xdr] documents the methods of generated types. No erratum was needed.
package rdmaconfig
