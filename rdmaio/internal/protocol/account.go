package protocol

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/header"

// Account counts one end's credits, in both directions. What a credit is
// depends on the version: version 1 counts Calls (RFC 8166 §3.3.1), version 2 every message
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3.1). An Account has no lock and no clock.
type Account interface {
	// Posted counts Receives posted.
	Posted(n int)

	// Received counts a message that took a Receive, and takes the grant in it. f is the fault that
	// Decode found, or nil. If the message is beyond the credits granted, Received returns a fault,
	// and the connection must end.
	Received(m *header.Message, f *header.Fault, p Purpose) *header.Fault

	// Accept counts a Call of the peer until Answered. It returns false if there are too many.
	Accept() bool
	// Answered counts a Call whose Reply or ERROR is about to be sent, or that gets none. In
	// version 1 its Receive must have been posted again.
	Answered()
	// Keeps reports whether a Call may keep its Receive until it is answered. Otherwise it must be
	// copied, and the Receive posted again.
	Keeps() bool

	// Free reports whether a message of this class may be sent.
	Free(c Class) bool
	// Available returns how many credits are left for Calls.
	Available() int
	// Sent counts a message that is about to be sent, and returns its credit value. want is the
	// credit value of the message that it answers, if it answers one.
	Sent(c Class, want uint32) uint32
	// Ended counts a Call of this end that was sent and is no longer in flight.
	Ended()

	// Sequence records that the peer is, or is no longer, in the middle of a continued message.
	Sequence(open bool)
	// Due reports whether a message that only grants credits should be sent.
	Due() bool

	// Counts returns the state, for statistics.
	Counts() Counts
}

// Class is the class of a message to be sent.
type Class uint8

// The classes.
const (
	ClassCall   Class = iota // a Call, or its first part
	ClassPart                // a further part of a continued message
	ClassAnswer              // a Reply, or its first part
	ClassError               // an ERROR
	ClassProps               // properties
	ClassOther               // a message of an extension, or RDMA_DONE
	ClassGrant               // credits alone
)

// Counts is the state of an Account.
type Counts struct {
	Calls      int    // our Calls in flight
	Busy       int    // Calls of the peer that are not answered
	Granted    int    // by the peer: the Calls, or messages, that may be in flight
	Free       int    // of these, how many are left for Calls
	Given      int    // to the peer, in the same way
	ZeroGrants uint64 // grants of 0, taken as 1
	OverGrants uint64 // grants over the requested number, reduced to it
}
