// Package oncrpc is the ONC RPC message layer (RFC 5531): message types, generated from
// spec/x/oncrpc, credentials, and the errors of replies. It has no transport.
//
// A [Carrier] sends [Call] messages and returns each [Reply]; its server side passes each [Request]
// to a [Handler]. Package rdmaio carries messages over RDMA, package tcp over TCP, package udp over
// UDP, and package mem within a process.
//
// Package rpc calls and serves procedures over any carrier. With it, programs need of this package
// only a [Program], credentials ([AuthSysParms]) and the errors of replies. The rest of this page
// is for programs that build messages themselves.
//
// A message on the wire is a [Header], followed by the arguments of the procedure in a call, or by
// its results in a successful reply. This package does not look at either. To build a call:
//
//	m := oncrpc.NewCall(xid, prog, vers, proc, oncrpc.None())
//	b, err := m.AppendBinary(nil)
//	b, err = args.AppendBinary(b)
//
// To read the reply:
//
//	d := xdr.NewDecoder(b, nil)
//	var m oncrpc.Header
//	err := m.DecodeXDR(d)        // malformed: *xdr.Error
//	err = oncrpc.CheckReply(&m, xid) // refused: *ReplyError
//	err = results.DecodeXDR(d)
package oncrpc
