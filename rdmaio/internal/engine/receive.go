package engine

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// arrival is a message of the peer on its way through the steps of Engine.received.
type arrival struct {
	bytes   []byte           // in its Receive, or lent
	recv    int              // index of the Receive
	key     uint32           // of the region that it has invalidated; 0: none
	r       *Request         // has the header, from decode on
	fault   *header.Fault    // the rule that it breaks; nil: none so far
	purpose protocol.Purpose // from admit on
	joined  []byte           // from join on: memory that the payload was put together in, or nil
}

// received deals with a message, step by step. A step that returns false has dealt with all of the
// message, and posted its Receive again unless the connection is closed.
//
//	take ── decode ── admit ── join ── checkKey ── deliver
func (e *Engine) received(wc *verbs.WC) {
	var a arrival
	if !e.take(&a, wc) || !e.decode(&a) || !e.admit(&a) || e.isPart(&a) && !e.join(&a) {
		return
	}
	if a.key != 0 && !e.checkKey(&a) || e.deliver(&a) {
		if a.joined != nil {
			e.giveBack(a.joined)
		}
	}
}

// take takes the message, and no byte after it, out of its Receive, which is not posted any more,
// or out of lent memory (T20).
func (e *Engine) take(a *arrival, wc *verbs.WC) bool {
	e.stats.Received++
	e.stats.Used = e.now
	e.stats.PostedRecvs--
	i, n := wc.WRID, int(wc.ByteLen)
	switch {
	case i >= uint64(e.cfg.Receives) || n > e.cfg.ReceiveMost:
		return e.impossible(wc)
	case e.cfg.Recv != nil:
		a.bytes = e.cfg.Recv[i].Bytes[:n:n]
	case n > 0:
		if e.loan == nil || len(e.loan.Bytes()) != n {
			return e.impossible(wc)
		}
		a.bytes = e.loan.Bytes()
	}
	e.receives.posted[i] = 0
	e.delivered += uint64(n)
	a.recv, a.key = int(i), wc.InvalidatedRKey
	return true
}

// impossible closes the connection, because no Receive can complete so. It returns false.
func (e *Engine) impossible(wc *verbs.WC) bool {
	e.end(&Error{Reason: ErrInternal, Detail: fmt.Sprintf("Receive %#x completed with %d bytes", wc.WRID, wc.ByteLen)})
	return false
}

// decode decodes the header in the version of the connection. The message may decide the version.
func (e *Engine) decode(a *arrival) bool {
	n, r := &e.negotiation, e.responder.next
	a.r, r.Padding = r, Padding{}
	if n.state == versionOpen && !n.first(a.bytes) {
		e.postUncounted(a.recv)
		return false
	}
	a.fault = e.version.Decode(a.bytes, &r.hdr)
	if (a.fault != nil || n.state == versionOffered) && !n.decoded(a.bytes, &r.hdr, a.fault) {
		e.postUncounted(a.recv)
		return false
	}
	if a.fault == nil && r.hdr.Kind == header.KindPadded {
		if a.fault = e.padded(r, len(a.bytes)-len(r.hdr.Payload)); a.fault != nil {
			e.fault(a.fault)
		}
	}
	return true
}

// admit decides what the message is for, and counts its credit. It closes the connection if the
// peer exceeds its credits, or if the peer must authenticate first.
func (e *Engine) admit(a *arrival) bool {
	h := &a.r.hdr
	a.purpose = e.version.Classify(h, a.fault, &e.self)
	if over := e.account.Received(h, a.fault, a.purpose); over != nil {
		e.fault(over)
		e.end(over)
		return false
	}
	if (a.purpose == protocol.Call || a.purpose == protocol.Other) && e.cfg.Guard != nil && len(e.eff.Auth) == 0 && !e.cfg.Guard() {
		e.end(&Error{Reason: ErrEarly, Detail: fmt.Sprintf("XID %#08x", h.XID)})
		return false
	}
	e.negotiation.hear()
	return true
}

// checkKey closes the connection if the peer had no right to invalidate the region that this
// message has invalidated.
func (e *Engine) checkKey(a *arrival) bool {
	with := ""
	switch {
	case e.cfg.Role == Responder: // only keys of forward Calls may be invalidated: it makes none
		with = "a message to the side that accepted the connection"
	case !e.terms.RemoteInvalidate: // R265, T80
		with = "a connection on which this was not agreed (RFC 8797 §4.1)"
	case a.purpose != protocol.Answer:
		with = "a message that is no Reply"
	default:
		return true
	}
	e.violated(a.key, with)
	return false
}

// deliver passes the message to the part that it is for. It reports whether the memory of a
// continued message is free again: a Call keeps it.
func (e *Engine) deliver(a *arrival) (free bool) {
	r := a.r
	switch {
	case a.purpose == protocol.Call && e.cfg.Serves > 0:
		e.responder.request(r, a.recv, a.joined, a.fault)
		return false
	case a.purpose == protocol.Answer && e.cfg.Calls > 0:
		if p := e.requester.response(r, a.fault, a.key); p != nil {
			e.responder.readReply(r, a.recv, p, a.key)
			return false
		}
	case a.purpose == protocol.Done:
		e.responder.doneCame(r.hdr.XID)
	case a.purpose == protocol.Props:
		e.control.learn(&r.hdr)
	case a.purpose == protocol.Grant: // R176: it needs no answer
	case a.purpose == protocol.Other:
		e.control.other(&r.hdr)
	default: // R281, R325; T117
		if a.purpose == protocol.Answer && a.fault == nil && r.hdr.Kind == header.KindError {
			e.otherError(&r.hdr)
		}
		e.stats.DroppedMessages++
	}
	e.postRecv(a.recv)
	return true
}

// isPart reports whether join has to look at a message: it is a part of a continued one, or it is
// faulty or comes between two parts.
func (e *Engine) isPart(a *arrival) bool {
	return a.fault != nil || e.joiner.state != joinIdle || a.r.hdr.More
}

// join assembles a continued message from its parts. It returns false for a part that is not the
// last.
func (e *Engine) join(a *arrival) bool {
	m := &a.r.hdr
	whole := true
	if a.fault == nil {
		var into *Call
		if a.purpose == protocol.Answer && e.joiner.state == joinIdle {
			into = e.requester.into(m.XID)
		}
		if whole, a.joined, a.fault = e.joiner.add(m, a.purpose, into); a.fault != nil {
			e.fault(a.fault)
			if a.purpose = protocol.Call; m.Answer {
				a.purpose = protocol.Answer
			}
		}
	}
	switch {
	case a.fault != nil && m.Kind != header.KindError:
		e.breakOff(a)
	case !whole && a.key != 0:
		e.violated(a.key, "a part of a message that is not the last")
	case !whole:
		e.postRecv(a.recv)
	}
	return whole
}

// breakOff discards a message that is being continued, because of a fault other than in an ERROR.
// If it is a Reply, its Call fails (A8). If it is a Call, and the message that came between is an
// answer, for which no ERROR is sent, the ERROR is for the Call (R156, R199).
func (e *Engine) breakOff(a *arrival) {
	m := &a.r.hdr
	e.control.forget()
	switch xid, call, reply := e.joiner.breakOff(); {
	case reply && (a.purpose != protocol.Answer || xid != m.XID):
		e.requester.fail(xid, a.fault)
	case call && a.purpose == protocol.Answer && e.cfg.Serves > 0:
		e.control.refuse(xid, header.Error{Code: header.ErrFlag})
	}
	if e.cfg.Role == Requester && (m.Kind == header.KindProps || m.Kind == header.KindOther) { // R193
		a.purpose = protocol.Drop
	}
}

// mostAlign is the largest alignment of padding that is accepted, in bytes: the largest size of an
// inline message (RFC 8797).
const mostAlign = 256 << 10

// padded checks a message with padding, and makes it a KindMsg. The padding stays in the payload,
// before each opaque item that is long enough (§3.9; R111, R112, T123). Only a decoder of the RPC
// message can find it, by r.Padding.
func (e *Engine) padded(r *Request, start int) *header.Fault {
	m, p := &r.hdr, r.hdr.Pad
	switch {
	case !e.cfg.Legacy: // RFC 8166 §4.6.1; R113
		return &header.Fault{Code: header.FaultWithdrawn, Found: 2, Want: uint64(e.version.Number())}
	case p.Align == 0 || p.Align&(p.Align-1) != 0 || p.Align > mostAlign || p.Threshold == 0:
		return &header.Fault{Code: header.FaultPad, Found: uint64(p.Align), Want: uint64(p.Threshold)}
	case len(m.Reads) > 0:
		return &header.Fault{Code: header.FaultPadReads, Found: uint64(len(m.Reads))}
	}
	m.Kind = header.KindMsg
	r.Padding = Padding{p.Align, p.Threshold, start}
	return nil
}
