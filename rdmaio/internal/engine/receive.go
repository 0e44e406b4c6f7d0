package engine

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// received deals with a message.
func (e *Engine) received(wc *verbs.WC) {
	e.stats.Received++
	e.stats.PostedRecvs--
	e.grants.Taken()
	if wc.WRID >= uint64(len(e.cfg.Recv)) || int(wc.ByteLen) > len(e.cfg.Recv[wc.WRID].Bytes) {
		e.end(&Error{Reason: ErrInternal, Detail: fmt.Sprintf("Receive %#x completed with %d bytes", wc.WRID, wc.ByteLen)})
		return
	}
	e.delivered += uint64(wc.ByteLen)
	i, key := int(wc.WRID), wc.InvalidatedRKey
	b := e.cfg.Recv[i].Bytes[:wc.ByteLen:wc.ByteLen] // T20: and no byte behind it
	r := e.next
	r.Padding = Padding{}
	f := e.codec.Decode(b, &r.hdr)
	if f == nil && r.hdr.Kind == header.KindPadded {
		f = e.padded(r, len(b)-len(r.hdr.Payload))
	}
	if f != nil {
		e.fault(f)
	}
	k := e.direction(&r.hdr, f)
	switch {
	case key == 0:
	case e.cfg.Role == Responder: // only the keys of forward Calls may be ended, and it makes none
		e.violated(key, "a message to the side that accepted the connection")
		return
	case !e.terms.RemoteInvalidate: // R265, T80
		e.violated(key, "a connection on which this was not agreed (RFC 8797 §4.1)")
		return
	case k != answer:
		e.violated(key, "a message that is no Reply")
		return
	}
	switch {
	case k == call && e.cfg.Serves > 0:
		e.request(r, i, f)
		return
	case k == answer && e.cfg.Calls > 0:
		if e.response(r, i, f, key) {
			return
		}
	case k == done:
		e.doneCame(r.hdr.XID)
	default: // R281, R325; T117
		e.stats.DroppedMessages++
	}
	e.postRecv(i)
}

// direction is the direction and purpose of a received message.
type direction uint8

const (
	drop   direction = iota // neither: to be dropped
	call                    // a Call of the peer
	answer                  // an answer to a Call of ours
	done                    // RDMA_DONE for an answer of ours with read chunks
)

// direction returns the direction of m, in which Decode found the fault f, or nil. Both directions
// share the Receives, so only the message itself shows its direction (RFC 8167 §4.1). Messages that
// do not show it, such as those with invalid headers, belong to the forward direction (A27).
func (e *Engine) direction(m *header.Message, f *header.Fault) direction {
	forward := answer
	if e.cfg.Role == Responder {
		forward = call
	}
	switch {
	case f != nil && f.Code == header.FaultShort:
		return drop // its XID cannot be trusted
	case f != nil && f.Code == header.FaultVersion && forward == answer && !e.outstanding(m.XID):
		return drop // RFC 8166 §4.5: no answer to an answer; R15: all versions have the XID
	case f != nil:
		return forward
	case m.Kind == header.KindError: // RFC 8166 §4.5: only requesters get one
		return answer
	case m.Kind == header.KindDone && e.cfg.Legacy && forward == call:
		return done
	case m.Kind == header.KindDone: // RFC 8166 §4.6.2; R110
		return drop
	case m.Kind == header.KindNomsg && len(m.Reads) > 0 && e.replyByReadChunk() && e.outstanding(m.XID):
		return answer // a whole Reply by read chunk
	case m.Kind == header.KindNomsg && len(m.Reads) > 0 && m.Reads[0].Position == 0:
		return call
	case m.Kind == header.KindNomsg && len(m.Reads) == 0 && m.HasReply && e.outstanding(m.XID):
		return answer
	case m.Kind == header.KindMsg:
		switch _, typ, ok := header.RPC(m.Payload); {
		case ok && typ == header.Call:
			return call
		case ok && typ == header.Reply:
			return answer
		}
	}
	return forward
}

// fault counts a message that broke a rule.
func (e *Engine) fault(f *header.Fault) {
	e.stats.FaultyMessages++
	e.eff.Fault = f
}

// violated ends the connection: the peer had no right to invalidate this key, which may belong to
// another Call, now or later (RFC 8797 §4.1; R264, B19).
func (e *Engine) violated(key uint32, with string) {
	e.stats.FaultyMessages++
	e.end(&Error{Reason: ErrInvalidated, Detail: fmt.Sprintf("%#08x, with %s", key, with)})
}
