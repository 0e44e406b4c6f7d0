package stream

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Reason says why this side closes a connection.
type Reason uint8

// The reasons.
const (
	ReasonNone     Reason = iota // there is nothing to report
	ReasonGoodbye                // Disconnect
	ReasonFormat                 // the peer broke a rule of the framing or an upper protocol
	ReasonAccess                 // a key, range, right or domain was wrong: see Report.Denial
	ReasonLength                 // a Send was longer than its Receive
	ReasonReceiver               // a Send found no Receive
	ReasonReads                  // there were more Reads than negotiated
	ReasonFailed                 // this side failed to carry out a valid request
	ReasonSlow                   // a time limit was exceeded
)

// Report is this side's report: it says why this side closes the connection.
type Report struct {
	Reason Reason
	Denial soft.Denial // for ReasonAccess
	Err    error       // the Framer's error for ReasonFormat, if it found the fault

	AtHand bool   // the cause is the frame that the Framer decoded last
	Number uint32 // Frame.Number of the message that is the cause, or 0
	Key    uint32 // the key that it names, or 0
}

// PeerReport is the report of the peer: why it closes the connection.
type PeerReport struct {
	Goodbye bool // the end is orderly; nothing else is set

	Status verbs.Status // of the request that is the cause
	What   string       // the reason
	Where  string       // the place that the report names

	// Caused reports whether the report names r. It is called for requests that were sent and
	// are not completed.
	Caused func(r *Request) bool
}

// Refusal is an error of a Framer that has its own reason.
type Refusal struct {
	Reason      Reason
	Number, Key uint32 // for the Report
	What        string
}

// Error returns the text.
func (r *Refusal) Error() string { return r.What }
