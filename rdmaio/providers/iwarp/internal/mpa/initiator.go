package mpa

// Initiator is the negotiation of the side that sends the request:
//
//	Ready ── Request ──> AwaitingReply ── Receive ──┬──> Operating
//	                                                ├──> OwingRTR ── SentRTR ──> Operating
//	                                                ├──> RejectedState
//	                                                └──> Failed
type Initiator struct {
	offer Offer
	state State
	terms Terms
}

// NewInitiator returns the negotiation of an initiator. It keeps a reference to
// offer.Private until Request returns.
func NewInitiator(offer Offer) Initiator { return Initiator{offer: offer} }

// State returns the state.
func (i *Initiator) State() State { return i.state }

// Terms returns the result. It is complete in states OwingRTR and Operating. In
// RejectedState it has the peer's depths.
func (i *Initiator) Terms() Terms { return i.terms }

// Downgradable reports whether another connection with revision 1 may be tried, because the
// peer has closed this one without a reply: RFC 6581 §10 allows it where the application
// does without the enhanced set-up.
func (i *Initiator) Downgradable() bool {
	return i.state == AwaitingReply && i.offer.Revision >= 2 && i.offer.RTR == 0
}

// Request appends the request to b. The initiator sends it in one write and sends nothing
// more before the reply.
func (i *Initiator) Request(b []byte) ([]byte, error) {
	if i.state != Ready {
		return b, fault(OutOfTurn, int(i.state), int(Ready))
	}
	f := Frame{
		Kind: Request, CRC: i.offer.CRC, Revision: i.offer.Revision, Private: i.offer.Private,
		Enhanced: i.offer.Revision >= 2,
		Setup:    Setup{IRD: i.offer.IRD, ORD: i.offer.ORD, PeerToPeer: i.offer.RTR != 0, RTR: i.offer.RTR},
	}
	b, err := f.Append(b)
	if err == nil {
		i.state, i.offer.Private = AwaitingReply, nil
	}
	return b, err
}

// Receive handles the reply. If the responder has refused the connection, it returns
// Rejected. The state is then RejectedState, and the frame's private data is for the
// application. After another error the state is Failed. If the error's rule is
// reportable, the initiator sends a Terminate message before it closes the connection.
func (i *Initiator) Receive(f *Frame) error {
	if i.state != AwaitingReply {
		return fault(OutOfTurn, int(i.state), int(AwaitingReply))
	}
	i.terms = Terms{Revision: f.Revision, CRC: i.offer.CRC || f.CRC, IRD: i.offer.IRD, ORD: i.offer.ORD, PeerIRD: Unnegotiated, PeerORD: Unnegotiated}
	if f.Enhanced {
		i.terms.PeerIRD, i.terms.PeerORD = f.Setup.IRD, f.Setup.ORD
	}
	if f.Reject {
		i.state = RejectedState
		return fault(Rejected, 1, 0)
	}
	i.state = Failed
	switch {
	case f.Markers:
		return fault(MarkersRefused, 1, 0)
	case f.Revision != i.offer.Revision:
		return fault(RevisionChanged, int(f.Revision), int(i.offer.Revision))
	case i.offer.Revision < 2:
		i.state = Operating
		return nil
	case !f.Enhanced:
		return fault(NotEnhanced, 0, 1)
	}
	return i.enhanced(&f.Setup)
}

// enhanced settles the read depths and the ready-to-receive indication.
func (i *Initiator) enhanced(s *Setup) error {
	t := &i.terms
	t.Enhanced = true
	if s.ORD != Unnegotiated && s.ORD > i.offer.IRD {
		return fault(InsufficientIRD, int(s.ORD), int(i.offer.IRD))
	}
	t.IRD, t.ORD = depth(i.offer.IRD, s.ORD), depth(i.offer.ORD, s.IRD)
	if i.offer.RTR == 0 {
		i.state = Operating
		return nil
	}
	// A Write needs nothing of the responder, a Read needs a place in its queue.
	for _, one := range []RTR{RTRWrite, RTRSend, RTRRead} {
		if s.PeerToPeer && one&s.RTR&i.offer.RTR != 0 && (one != RTRRead || s.IRD > 0) {
			t.PeerToPeer, t.RTR, i.state = true, one, OwingRTR
			return nil
		}
	}
	return fault(NoMatchingRTR, int(s.RTR), int(i.offer.RTR))
}

// SentRTR says that the ready-to-receive indication Terms.RTR is the first FPDU.
func (i *Initiator) SentRTR() error {
	if i.state != OwingRTR {
		return fault(OutOfTurn, int(i.state), int(OwingRTR))
	}
	i.state = Operating
	return nil
}
