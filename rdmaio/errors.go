package rdmaio

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Errors for errors.Is.
var (
	// ErrClosed: this side closed the connection, or the server.
	ErrClosed = errors.New("rdmaio: closed")
	// ErrAnswered: a Request was answered before.
	ErrAnswered = errors.New("rdmaio: the Request was answered already")
	// ErrMessage: what a caller or handler passed is no RPC message as described at Message.
	ErrMessage = errors.New("rdmaio: not a usable message")
	// ErrReverse: a Call on an accepted connection, before Conn.AllowReverse or without Config.ReverseCredits.
	ErrReverse = errors.New("rdmaio: no reverse Calls")
	// ErrPanic: a Handler panicked or ended its goroutine, and this side closed the connection.
	ErrPanic = errors.New("rdmaio: a handler panicked")
	// ErrXIDInUse: a Call with the same XID is in flight on the connection, or was
	// cancelled and its reply has not come yet.
	ErrXIDInUse = engine.ErrXIDInUse
	// ErrInvalidated: the peer ended a key that it was not given for that Call, or without an agreement; the
	// connection is gone.
	ErrInvalidated = engine.ErrInvalidated
	// ErrNoDone: a client did not read a reply, and say so, in Config.WorkTimeout (Config.Legacy); the connection is gone.
	ErrNoDone = engine.ErrNoDone
	// ErrErrors: more Calls of the peer had to be refused than Config.MaxErrors allows; the connection is gone.
	ErrErrors = engine.ErrErrors
	// ErrTimeout: posted work did not complete in Config.WorkTimeout; the connection is gone.
	ErrTimeout = engine.ErrTimeout
)

// Values of PeerError.Code.
const (
	PeerErrVers  = header.ErrVers  // it does not support our version
	PeerErrChunk = header.ErrChunk // it cannot use our header or chunks
)

// PeerError is an RDMA_ERROR message: what the peer found wrong with ours (RFC 8166 §4.5).
type PeerError = engine.PeerError

// Fault is what we found wrong with a message of the peer: the rule, and the place.
type Fault = header.Fault

// SizeError says that something does not fit where it has to go, and how much does.
type SizeError = engine.SizeError

// CallError is why a Call failed. It unwraps to the reason: a *PeerError (in a *RefusedError where it is ERR_CHUNK), a
// *Fault, a *SizeError, the context's error, ErrClosed, or what verbs says of a lost connection.
type CallError struct {
	XID uint32

	// MayHaveRun says that the message was handed to the provider, so that the peer
	// may have executed the procedure, once. If it is false the peer has not seen it.
	MayHaveRun bool

	Err error
}

// Error tells the reason and whether the peer may have executed the Call.
func (e *CallError) Error() string {
	what := "not sent"
	if e.MayHaveRun {
		what = "sent; the peer may have executed it"
	}
	return fmt.Sprintf("rdmaio: call %#08x (%s): %v", e.XID, what, e.Err)
}

// Unwrap gives the reason.
func (e *CallError) Unwrap() error { return e.Err }
