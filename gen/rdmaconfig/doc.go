// Package rdmaconfig is the connection configuration protocol: section 6.2 of
// draft-ietf-nfsv4-rpcrdma-08, an RPC program of one procedure by which the ends
// of a version 1 connection tell each other what they can send and take.
//
// [Req] and [Reply] are the argument and the result of procedure
// [ProcConfRDMA] of program [Program], version [ProgramVers1]: they stand
// where those of any RPC do, behind the call or reply header, and end the
// message. Sizes are in bytes of inline RPC message. Any number decodes; bounds
// are the transport's work.
//
// Package [xdr] says what methods both types have. No erratum was needed.
package rdmaconfig
