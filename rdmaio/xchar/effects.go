package xchar

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
)

// Effects are the actions that the connection must carry out after an event.
type Effects struct {
	// Send has the messages to send, in this order, and before any message that the connection
	// sends because of the other effects.
	Send []Message

	// Changed has the characteristics of the peer that have a new value, in force for all messages
	// sent from now on.
	Changed []Value

	// Outcomes has the answers to changes that this endpoint requested.
	Outcomes []Outcome

	// Post is the size in bytes of the Receives to post from now on. If zero, it is the same as
	// before. When no smaller Receive is posted, the connection calls Endpoint.ReceivesReplaced.
	Post uint32

	// Fault is the fault of the received message. Nil means that the message is valid.
	Fault *Fault
}

// Message is a message of the extension to send.
type Message struct {
	// XID is the transaction ID that was passed to Init or Request, or of the request that a RESP
	// answers. In a UPD it is zero, and the connection chooses one.
	XID uint32

	// Header is the body of the header type. No RPC message follows it.
	Header xcharcarrier.Optional
}

// Fault is an error that a message of the peer caused.
type Fault struct {
	// Code is the code of the RDMA2_ERROR message to send. If zero, none is sent: the faulty
	// message claims to be an answer, and a requester sends no errors.
	Code rpcrdma2.ErrCode

	// Err describes the fault, for a log.
	Err error
}

// Error returns the text of Err.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// fault returns a Fault, prefixed with the name of the operation.
func fault(code rpcrdma2.ErrCode, op string, err error) *Fault {
	return &Fault{code, fmt.Errorf("xchar: %s: %w", op, err)}
}

// Outcome is the answer to one change that this endpoint requested of its peer.
type Outcome struct {
	XID    uint32 // of the request
	Value  Value  // requested
	Result Result
}

// Result says what became of a requested change.
type Result int

// The results. Each change gets Done or Rejected in the end, and may get Pending before.
const (
	// Done means that the characteristic has the requested value.
	Done Result = iota + 1

	// Rejected means that the peer did not make the change.
	Rejected

	// Pending means that the peer may make the change later.
	Pending
)

// String returns the name of the result.
func (r Result) String() string {
	switch r {
	case Done:
		return "done"
	case Rejected:
		return "rejected"
	case Pending:
		return "pending"
	}
	return "no result"
}

// Stats counts the messages of the peer that were not applied.
type Stats struct {
	Faults           uint64 // refused with a Fault
	BadResponses     uint64 // RESP that does not fit its REQ; the REQ counts as rejected
	UnknownResponses uint64 // RESP without a REQ that waits for it
	FixedChanges     uint64 // change of a characteristic that the peer declared fixed
	RepeatedInits    uint64 // INIT after the first one
}
