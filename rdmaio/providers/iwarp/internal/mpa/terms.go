package mpa

import "fmt"

// State is a state of a negotiation.
type State uint8

// The states. An Initiator starts in Ready, a Responder in AwaitingRequest.
const (
	Ready           State = iota // nothing was sent
	AwaitingReply                // the request was sent; nothing else may be, before the reply
	OwingRTR                     // a ready-to-receive indication must be sent before anything else
	AwaitingRequest              // nothing has arrived
	Deciding                     // the application decides about the request
	MustReject                   // the request can only be answered by Reject
	AwaitingFirst                // accepted; no FPDU may be sent before the initiator's first
	Operating                    // FPDUs may be sent and received
	RejectedState                // there is no connection: the responder has refused it
	Failed                       // there is no connection: a rule was broken
)

// String returns the name of the state.
func (s State) String() string {
	names := [...]string{"ready", "awaiting the reply", "owing an RTR", "awaiting the request", "deciding", "must reject", "awaiting the first FPDU", "operating", "rejected", "failed"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Offer holds what one side wants of a connection, and what it is able to do.
type Offer struct {
	// Revision is 2 for the enhanced set-up of RFC 6581 and 1 for that of RFC 5044. A
	// responder answers in the revision of the request and ignores it.
	Revision uint8

	// CRC asks for CRCs. They are on if either side asks.
	CRC bool

	// IRD is the largest number of the peer's Reads that this side serves at once, and
	// ORD the number of Reads that it wants to have outstanding, at most MaxDepth.
	IRD, ORD uint16

	// RTR holds the ready-to-receive indications that an initiator can send, or that a
	// responder takes. An initiator that has any asks for the peer-to-peer model.
	RTR RTR

	// Private is the application's private data, at most MaxPrivate bytes, and SetupSize
	// less with the enhanced set-up.
	Private []byte
}

// Terms holds the result of a negotiation.
type Terms struct {
	Revision uint8
	Enhanced bool // the read depths were negotiated
	CRC      bool // CRCs are sent and checked, by both sides

	// IRD and ORD are this side's. Without Enhanced they are those of its Offer, and the
	// applications must see to it that the peer serves as many Reads.
	IRD, ORD uint16

	// PeerIRD and PeerORD are the depths as the peer sent them (RFC 6581 §9.1), or
	// Unnegotiated.
	PeerIRD, PeerORD uint16

	// PeerToPeer says that the first FPDU is a ready-to-receive indication. RTR is the
	// one that an initiator must send, or all those of which a responder receives one.
	PeerToPeer bool
	RTR        RTR
}

// depth returns a read depth of this side: its own wish or, where that is negotiated and
// smaller, what the peer serves or wants.
func depth(own, peer uint16) uint16 {
	if peer == Unnegotiated {
		return own
	}
	return min(own, peer)
}
