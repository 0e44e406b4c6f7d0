package protocol

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/header"

// Version is a version of RPC-over-RDMA as one connection speaks it. Only Number and Overhead may
// be called concurrently with any method.
type Version interface {
	// Number returns the number of the version in its messages (RFC 8166 §4.2.2).
	Number() uint32

	// Decode decodes the header of the message b into m. Afterwards m.Payload is a slice of b. It
	// returns a fault if b is invalid or of another version, and then sets the fields of m that can
	// be trusted: none with FaultShort, else XID, Vers and Credit. If the version has the RESPONSE
	// flag and f is not FaultVersion, it also sets Answer and, of a known header type, Kind.
	Decode(b []byte, m *header.Message) *header.Fault

	// Append appends the header of m to b, without m.Payload. If the capacity of b is too small, it
	// returns an error that is xdr.ErrBuffer.
	Append(b []byte, m *header.Message) ([]byte, error)

	// Overhead returns the length in bytes of a message's header with these lists, before
	// inline data (RFC 8166 §3.3.2).
	Overhead(l *header.Lists) int

	// Classify returns the purpose of a received message, in which Decode found the fault f, or
	// nil.
	Classify(m *header.Message, f *header.Fault, end *End) Purpose

	// Refusal returns the error with which a message is answered that has the fault f. If its Code
	// is 0, the message is dropped.
	Refusal(f *header.Fault) header.Error

	// Error returns e as this version expresses it, with the code that comes nearest.
	Error(e header.Error) header.Error

	// InvalidateKey returns the key that the Reply to this Call may invalidate, or 0. agreed is
	// Terms.RemoteInvalidate.
	InvalidateKey(call *header.Message, agreed bool) uint32

	// Continues reports whether a message that is too long for one Send may be continued in further
	// ones.
	Continues() bool

	// Account returns the credit account of a new connection.
	Account(cfg AccountConfig) Account

	// Terms returns the terms in force: before Learn those with a peer that advertised nothing.
	// heard is set if a message of the peer in this version was received. Before that, the end that
	// dialed may be limited to messages that a peer of any version can receive.
	Terms(heard bool) header.Terms

	// Properties returns the set of properties that this end sends first, or nil if the version has
	// no properties. The slice belongs to the version.
	Properties() []header.Property

	// Learn judges a whole set of the peer's properties, and applies all of it or, if it returns a
	// fault, nothing.
	Learn(set []header.Property) (Learned, *header.Fault)
}

// AccountConfig holds the settings of an Account.
type AccountConfig struct {
	End *End

	// Calls is the number of this end's Calls that may be in flight, and Serves the peer's number.
	Calls, Serves int
	// Receives is the number of Receives that are posted at the beginning.
	Receives int
}

// Learned has the values in a set of properties that concern more than the version.
type Learned struct {
	// Auth is the value of the host authentication property, if HasAuth. It is a slice of the set.
	Auth    []byte
	HasAuth bool
}

// Purpose is the purpose of a received message.
type Purpose uint8

// The purposes.
const (
	Drop   Purpose = iota // none: the message is dropped
	Call                  // a Call of the peer
	Answer                // a Reply or error for a Call of this end
	Done                  // RDMA_DONE for a Reply with read chunks that this end sent
	Props                 // properties of the peer
	Grant                 // credits alone
	Other                 // a header type of an extension
)

// End has what Classify must know of the end that received a message.
type End struct {
	// Forward is the purpose of messages in the forward direction: Call at the end that accepted
	// the connection, Answer at the end that dialed.
	Forward Purpose

	// Legacy allows RDMA_DONE (draft-ietf-nfsv4-rpcrdma-08).
	Legacy bool

	// LongReplies allows a Reply that comes whole by read chunk (draft-ietf-nfsv4-rpcrdma-08). It
	// must be false where reverse Calls may have chunks: a long Call looks the same, and may have
	// the XID of one of ours (R268).
	LongReplies bool

	// Calls are the Calls of this end.
	Calls Calls
}

// Calls are Calls that were sent.
type Calls interface {
	// Outstanding reports whether a Call with this XID was sent and not yet answered.
	Outstanding(xid uint32) bool
}
