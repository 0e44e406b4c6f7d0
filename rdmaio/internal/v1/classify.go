package v1

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// Classify implements protocol.Version. Both directions share the Receives, so only the message
// itself shows its direction (RFC 8167 §4.1). Messages that do not show it, such as those with
// invalid headers, belong to the forward direction (A27).
func (*Version) Classify(m *header.Message, f *header.Fault, end *protocol.End) protocol.Purpose {
	switch {
	case f != nil && f.Code == header.FaultShort:
		return protocol.Drop // its XID cannot be trusted
	case f != nil && f.Code == header.FaultVersion && end.Forward == protocol.Answer && !end.Calls.Outstanding(m.XID):
		// RFC 8166 §4.5: no answer to an answer; R15: the XID has its place in all versions.
		return protocol.Drop
	case f != nil:
		return end.Forward
	}
	switch m.Kind {
	case header.KindError: // RFC 8166 §4.5: only requesters get one
		return protocol.Answer
	case header.KindDone: // RFC 8166 §4.6.2; R110
		if end.Legacy && end.Forward == protocol.Call {
			return protocol.Done
		}
		return protocol.Drop
	case header.KindNomsg:
		return long(m, end)
	case header.KindMsg:
		switch _, typ, ok := header.RPC(m.Payload); {
		case ok && typ == header.Call:
			return protocol.Call
		case ok && typ == header.Reply:
			return protocol.Answer
		}
	}
	return end.Forward
}

// long classifies an RDMA_NOMSG by its lists: its RPC message is in a chunk.
func long(m *header.Message, end *protocol.End) protocol.Purpose {
	switch reads := len(m.Reads) > 0; {
	case reads && end.LongReplies && end.Calls.Outstanding(m.XID):
		return protocol.Answer // a whole Reply by read chunk
	case reads && m.Reads[0].Position == 0:
		return protocol.Call
	case !reads && m.HasReply && end.Calls.Outstanding(m.XID):
		return protocol.Answer
	}
	return end.Forward
}
