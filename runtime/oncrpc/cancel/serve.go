package cancel

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// IsCall reports whether a message is a Call of the program, of any version.
func IsCall(message []byte) bool {
	if len(message) < 24 || binary.BigEndian.Uint32(message[12:]) != Program {
		return false
	}
	_, typ, ok := oncrpc.Peek(message)
	return ok && typ == oncrpc.MsgCall && binary.BigEndian.Uint32(message[8:]) == oncrpc.Version
}

// Serve returns the reply to a Call of the program, and passes the XIDs in it to give, at most
// MaxXIDs. An XID without a Request on the connection means nothing: its reply is on the way. The
// credential proves nothing here, because only the connection counts: it must be AUTH_NONE.
func Serve(call []byte, give func(xids []uint32)) (reply []byte) {
	d := xdr.NewDecoder(call, nil)
	var head oncrpc.Header
	answer := func(refusal *oncrpc.ReplyError) []byte {
		xid, _, _ := oncrpc.Peek(call)
		b, _ := refusal.Header(xid).AppendBinary(nil) // cannot fail
		return b
	}
	garbage := &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}
	if head.DecodeXDR(d) != nil {
		return answer(garbage)
	}
	c := &head.Body.Call
	if refusal := oncrpc.CheckCred(&c.Cred); refusal != nil {
		return answer(refusal)
	}
	var xids XIDs
	switch {
	case c.Vers != ProgramV1:
		return answer(&oncrpc.ReplyError{Accept: oncrpc.ProgMismatch, Range: oncrpc.VersionRange{Low: ProgramV1, High: ProgramV1}})
	case c.Proc == ProcNull && c.Cred.Flavor != oncrpc.RPCSecGSS: // RFC 5531 §12.1
	case c.Cred.Flavor != oncrpc.AuthNone:
		return answer(oncrpc.Refused(oncrpc.AuthStatRejectedCred))
	case c.Proc != ProcCalls:
		return answer(&oncrpc.ReplyError{Accept: oncrpc.ProcUnavail})
	case xids.DecodeXDR(d) != nil:
		return answer(garbage)
	}
	if d.Done() != nil {
		return answer(garbage)
	}
	if len(xids) > 0 {
		give(xids)
	}
	b, _ := oncrpc.NewReply(head.XID, oncrpc.Success).AppendBinary(nil) // cannot fail
	return b
}
