package v2

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// Classify implements protocol.Version. The RESPONSE flag says which end made the XID, so no XID is
// looked up for a Call (§6.3.2; R144, R146). An ERROR is an answer, even an invalid one: nothing
// answers it (RFC 8166 §4.5).
func (*Version) Classify(m *header.Message, f *header.Fault, end *protocol.End) protocol.Purpose {
	if f != nil {
		switch f.Code {
		case header.FaultShort:
			return protocol.Drop // its XID cannot be trusted
		case header.FaultVersion: // its flags are not known, if it has any
			if end.Forward == protocol.Answer && !end.Calls.Outstanding(m.XID) {
				return protocol.Drop // RFC 8166 §4.5: no answer to an answer
			}
			return end.Forward
		}
		return direction(m)
	}
	switch m.Kind {
	case header.KindProps:
		return protocol.Props
	case header.KindGrant:
		return protocol.Grant
	case header.KindOther:
		return protocol.Other
	}
	return direction(m)
}

// direction returns the purpose that the RESPONSE flag gives to a message.
func direction(m *header.Message) protocol.Purpose {
	if m.Answer {
		return protocol.Answer
	}
	return protocol.Call
}
