package engine

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// message returns the bytes of a message, which are in its Receive or lent, and no byte behind them
// (T20). It reports false if the completion is impossible.
func (e *Engine) message(wc *verbs.WC) (b []byte, ok bool) {
	i, n := wc.WRID, int(wc.ByteLen)
	switch {
	case i >= uint64(e.cfg.Receives) || n > e.cfg.ReceiveMost:
		return nil, false
	case e.cfg.Recv != nil:
		return e.cfg.Recv[i].Bytes[:n:n], true
	case n > 0:
		if e.loan == nil || len(e.loan.Bytes()) != n {
			return nil, false
		}
		b = e.loan.Bytes()
	}
	return b, true
}

// received deals with a message.
func (e *Engine) received(wc *verbs.WC) {
	e.stats.Received++
	e.stats.PostedRecvs--
	b, ok := e.message(wc)
	if !ok {
		e.end(&Error{Reason: ErrInternal, Detail: fmt.Sprintf("Receive %#x completed with %d bytes", wc.WRID, wc.ByteLen)})
		return
	}
	e.receives.posted[wc.WRID] = 0
	e.delivered += uint64(wc.ByteLen)
	i, key := int(wc.WRID), wc.InvalidatedRKey
	r := e.responder.next
	r.Padding = Padding{}
	if e.negotiation.state == versionOpen && !e.negotiation.first(b) {
		e.postUncounted(i)
		return
	}
	f := e.version.Decode(b, &r.hdr)
	if f == nil && r.hdr.Kind == header.KindPadded {
		f = e.padded(r, len(b)-len(r.hdr.Payload))
	}
	if f != nil {
		e.fault(f)
	}
	if e.negotiation.state == versionOffered && !e.negotiation.answered(&r.hdr, f) {
		e.postUncounted(i)
		return
	}
	if f != nil && f.Code == header.FaultVersion && e.negotiation.changed(b, f) {
		e.postUncounted(i)
		return
	}
	purpose := e.version.Classify(&r.hdr, f, &e.self)
	if over := e.account.Received(&r.hdr, f, purpose); over != nil {
		e.fault(over)
		e.end(over)
		return
	}
	if (purpose == protocol.Call || purpose == protocol.Other) && e.cfg.Guard != nil && len(e.eff.Auth) == 0 && !e.cfg.Guard() {
		e.end(&Error{Reason: ErrEarly, Detail: fmt.Sprintf("XID %#08x", r.hdr.XID)})
		return
	}
	e.negotiation.hear()
	whole, own := true, []byte(nil)
	if f != nil || e.joiner.state != joinIdle || r.hdr.More {
		whole, own, purpose, f = e.join(&r.hdr, purpose, f)
	}
	serve := key == 0 && purpose == protocol.Call && e.cfg.Serves > 0
	if own != nil && !serve {
		defer func() {
			if r.joined == nil { // a Reply is copied, unless it has read chunks
				e.giveBack(own)
			}
		}()
	}
	switch {
	case key == 0:
	case !whole:
		e.violated(key, "a part of a message that is not the last")
		return
	case e.cfg.Role == Responder: // only the keys of forward Calls may be ended, and it makes none
		e.violated(key, "a message to the side that accepted the connection")
		return
	case !e.terms.RemoteInvalidate: // R265, T80
		e.violated(key, "a connection on which this was not agreed (RFC 8797 §4.1)")
		return
	case purpose != protocol.Answer:
		e.violated(key, "a message that is no Reply")
		return
	}
	switch {
	case !whole:
	case serve:
		e.responder.request(r, i, own, f)
		return
	case purpose == protocol.Answer && e.cfg.Calls > 0:
		if p := e.requester.response(r, f, key); p != nil {
			r.joined = own
			e.responder.readReply(r, i, p, key)
			return
		}
	case purpose == protocol.Done:
		e.responder.doneCame(r.hdr.XID)
	case purpose == protocol.Props:
		e.control.learn(&r.hdr)
	case purpose == protocol.Grant: // R176: it needs no answer
	case purpose == protocol.Other:
		e.control.other(&r.hdr)
	default: // R281, R325; T117
		if purpose == protocol.Answer && f == nil && r.hdr.Kind == header.KindError {
			e.otherError(&r.hdr)
		}
		e.stats.DroppedMessages++
	}
	e.postRecv(i)
}
