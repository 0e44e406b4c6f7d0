// Package oncrpc is the ONC RPC message layer (RFC 5531): message types, made
// from spec/x/oncrpc, credentials, and what replies say about a call. It knows
// no transport.
//
// Whoever calls or serves procedures over rdmaio has package rdmaio/rpc for it, which needs of this one
// a [Program], credentials ([AuthSysParms]) and the errors of replies. What follows is for
// those who build messages by themselves.
//
// A message on the wire is a [Message] and then, in a call, the procedure's
// arguments, in a successful reply its results: XDR that this package does
// not look at. Building one:
//
//	m := oncrpc.NewCall(xid, prog, vers, proc, oncrpc.None())
//	b, err := m.AppendBinary(nil)
//	b, err = args.AppendBinary(b)
//
// and reading the reply:
//
//	d := xdr.NewDecoder(b, nil)
//	var m oncrpc.Message
//	err := m.DecodeXDR(d)        // malformed: *xdr.Error
//	err = oncrpc.CheckReply(&m, xid) // refused: *ReplyError
//	err = results.DecodeXDR(d)
package oncrpc
