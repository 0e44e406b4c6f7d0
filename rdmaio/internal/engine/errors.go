package engine

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Reason says why the engine closed a connection or refused a Call. It is an error for errors.Is.
type Reason uint8

// The reasons.
const (
	ErrInternal      Reason = iota + 1 // the engine, its driver or the provider has a bug
	ErrTimeout                         // work requests took longer than Config.ChainTimeout
	ErrGivenUp                         // the caller gave up its Call, which waited for memory
	ErrTooManyErrors                   // more Calls had to be refused than Config.MaxErrors
	ErrXIDInUse                        // another Call with this XID is in progress
	ErrInvalidated                     // the peer invalidated a key that it must not
	ErrNoDone                          // no RDMA_DONE came within Config.DoneTimeout
	ErrNoVersion                       // the peer has no version of ours
	ErrNoAnswer                        // no answer came within Config.OfferTimeout
	ErrEarlyReply                      // the peer answered a Call that was not sent to its end
	ErrEarly                           // the peer sent a message before Config.Guard allowed it
)

var reasons = [...]string{
	ErrInternal:      "internal error",
	ErrTimeout:       "work requests did not complete in time",
	ErrGivenUp:       "the caller has given up the Call",
	ErrTooManyErrors: "too many Calls of the peer had to be refused",
	ErrXIDInUse:      "a Call with this XID is in progress",
	ErrInvalidated:   "peer invalidated a key that it must not",
	ErrNoDone:        "no RDMA_DONE in time for a Reply with read chunks",
	ErrNoVersion:     "no version in common",
	ErrNoAnswer:      "no answer in time to the version offered",
	ErrEarlyReply:    "peer answered a Call before its last part was sent",
	ErrEarly:         "peer sent a message before it was allowed to",
}

// Error returns the reason in words.
func (r Reason) Error() string { return "engine: " + reasons[r] }

// Error is a Reason with its details.
type Error struct {
	Reason Reason
	Detail string // may be empty
}

// Error returns the reason and the details.
func (e *Error) Error() string { return e.Reason.Error() + ": " + e.Detail }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }

// PeerError is an RDMA_ERROR that answers a Call (RFC 8166 §4.5).
type PeerError struct {
	Version uint32 // of the connection
	Body    header.Error
}

// Error returns the code.
func (e *PeerError) Error() string {
	return fmt.Sprintf("engine: peer answered RDMA_ERROR with code %d (versions %d to %d)", e.Body.Code, e.Body.Low, e.Body.High)
}

// SizeError reports that a message does not fit the send buffer that the terms allow.
type SizeError struct {
	Need, Limit int // bytes
}

// Error returns both sizes.
func (e *SizeError) Error() string {
	return fmt.Sprintf("engine: message needs %d bytes, limit is %d", e.Need, e.Limit)
}
