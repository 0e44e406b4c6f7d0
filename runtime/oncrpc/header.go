package oncrpc

import "encoding/binary"

// NewCall returns the header of a call (RFC 5531 §9). The verifier is
// AUTH_NONE, as it is with every flavour except RPCSEC_GSS.
func NewCall(xid, prog, vers, proc uint32, cred OpaqueAuth) *Header {
	m := &Header{XID: xid, Body: Body{Type: MsgCall}}
	m.Body.Call = CallBody{RPCVers: Version, Prog: prog, Vers: vers, Proc: proc, Cred: cred}
	return m
}

// NewReply returns the header of an accepted reply. If stat is Success, the results follow it.
// For ProgMismatch use [NewProgMismatch].
func NewReply(xid uint32, stat AcceptStat) *Header {
	m := &Header{XID: xid, Body: Body{Type: MsgReply}}
	m.Body.Reply.Accepted.Data.Stat = stat
	return m
}

// NewProgMismatch returns the reply to a call of a version that the server does not support. It
// supports the versions low to high.
func NewProgMismatch(xid, low, high uint32) *Header {
	m := NewReply(xid, ProgMismatch)
	m.Body.Reply.Accepted.Data.MismatchInfo = VersionRange{Low: low, High: high}
	return m
}

// NewRPCMismatch returns the reply to a message of another RPC version: this package supports
// only version 2.
func NewRPCMismatch(xid uint32) *Header {
	m := &Header{XID: xid, Body: Body{Type: MsgReply}}
	m.Body.Reply.Stat = Denied
	m.Body.Reply.Rejected = RejectedReply{Stat: RPCMismatch, MismatchInfo: VersionRange{Low: Version, High: Version}}
	return m
}

// NewAuthError returns the reply to a call whose credential is refused.
func NewAuthError(xid uint32, why AuthStat) *Header {
	m := &Header{XID: xid, Body: Body{Type: MsgReply}}
	m.Body.Reply.Stat = Denied
	m.Body.Reply.Rejected = RejectedReply{Stat: AuthError, AuthStat: why}
	return m
}

// Peek returns the XID and the type of a message, which are its first two words. It decodes
// nothing else. ok is false if b is too short or the type is neither MsgCall nor MsgReply.
func Peek(b []byte) (xid uint32, typ MsgType, ok bool) {
	if len(b) < 8 {
		return 0, 0, false
	}
	typ = MsgType(binary.BigEndian.Uint32(b[4:]))
	return binary.BigEndian.Uint32(b), typ, typ.Valid()
}
