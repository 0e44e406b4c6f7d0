package mpa

// Responder is the negotiation of the side that waits for the request. The zero value is
// ready to use:
//
//	AwaitingRequest ── Receive ──┬──> Deciding ──┬── Accept ──> AwaitingFirst
//	                             │               └── Reject ──> RejectedState
//	                             ├──> MustReject ─── Reject ──> RejectedState
//	                             └──> Failed
//	AwaitingFirst ──── First ────┬──> Operating
//	                             └──> Failed
type Responder struct {
	receiving bool // false: AwaitingRequest
	state     State
	request   Frame // without private data
	terms     Terms
}

// State returns the state.
func (r *Responder) State() State {
	if !r.receiving {
		return AwaitingRequest
	}
	return r.state
}

// Terms returns the result. It is complete in states AwaitingFirst and Operating. In
// Deciding it has the peer's depths and revision.
func (r *Responder) Terms() Terms { return r.terms }

// Receive handles the request. After MarkersRefused the state is MustReject: the responder
// sends a rejection. After another error it is Failed: the responder closes the
// connection without a reply (RFC 5044 §7.1.2 rule 2).
func (r *Responder) Receive(f *Frame) error {
	if s := r.State(); s != AwaitingRequest {
		return fault(OutOfTurn, int(s), int(AwaitingRequest))
	}
	r.receiving, r.request = true, *f
	r.request.Private = nil
	r.terms = Terms{Revision: f.Revision, Enhanced: f.Enhanced, PeerIRD: Unnegotiated, PeerORD: Unnegotiated}
	if f.Enhanced {
		r.terms.PeerIRD, r.terms.PeerORD = f.Setup.IRD, f.Setup.ORD
	}
	if f.Markers {
		r.state = MustReject
		return fault(MarkersRefused, 1, 0)
	}
	r.state = Deciding
	return nil
}

// Accept appends the reply that accepts the request to b. With an error, which says that
// the private data is too long or that it is not the time, the state stays the same.
func (r *Responder) Accept(b []byte, offer Offer) ([]byte, error) {
	if s := r.State(); s != Deciding {
		return b, fault(OutOfTurn, int(s), int(Deciding))
	}
	t := r.terms
	t.CRC = offer.CRC || r.request.CRC
	t.IRD, t.ORD = offer.IRD, offer.ORD
	f := r.reply(t.CRC, offer.Private)
	if f.Enhanced {
		t.IRD, t.ORD = depth(offer.IRD, t.PeerORD), depth(offer.ORD, t.PeerIRD)
		if t.PeerToPeer = r.request.Setup.PeerToPeer; t.PeerToPeer {
			if t.RTR = offer.RTR & r.request.Setup.RTR; t.RTR == 0 {
				t.RTR = offer.RTR // the initiator sends a Terminate (RFC 6581 §9.2)
			}
			if t.RTR&RTRRead != 0 { // RFC 6581 §9.1 allows a larger IRD for this
				t.IRD = max(t.IRD, 1)
			}
		}
		f.Setup = Setup{IRD: t.IRD, ORD: t.ORD, PeerToPeer: t.PeerToPeer, RTR: t.RTR}
		if t.PeerORD == Unnegotiated {
			f.Setup.IRD = Unnegotiated
		}
		if t.PeerIRD == Unnegotiated {
			f.Setup.ORD = Unnegotiated
		}
	}
	b, err := f.Append(b)
	if err == nil {
		r.terms, r.state = t, AwaitingFirst
	}
	return b, err
}

// Reject appends the reply that refuses the request to b.
func (r *Responder) Reject(b []byte, private []byte) ([]byte, error) {
	if s := r.State(); s != Deciding && s != MustReject {
		return b, fault(OutOfTurn, int(s), int(Deciding))
	}
	f := r.reply(r.request.CRC, private)
	f.Reject = true
	if f.Enhanced { // nothing was reserved: the initiator's view of both depths
		f.Setup = Setup{IRD: r.terms.PeerORD, ORD: r.terms.PeerIRD}
	}
	b, err := f.Append(b)
	if err == nil {
		r.state = RejectedState
	}
	return b, err
}

// reply returns a reply in the form of the request: its revision, and enhanced or not
// (RFC 6581 §10).
func (r *Responder) reply(crc bool, private []byte) Frame {
	return Frame{Kind: Reply, Revision: r.request.Revision, Enhanced: r.request.Enhanced, CRC: crc, Private: private}
}

// First handles the first FPDU, after which this side may send. kind says which
// ready-to-receive indication the FPDU would be: it is 0 if it is none. First reports
// whether it is one, so that it is not for the application.
func (r *Responder) First(kind RTR) (rtr bool, err error) {
	if s := r.State(); s != AwaitingFirst {
		return false, fault(OutOfTurn, int(s), int(AwaitingFirst))
	}
	if r.terms.PeerToPeer && kind&r.terms.RTR == 0 {
		r.state = Failed
		return false, fault(FirstNotRTR, int(kind), int(r.terms.RTR))
	}
	r.state = Operating
	return r.terms.PeerToPeer, nil
}
