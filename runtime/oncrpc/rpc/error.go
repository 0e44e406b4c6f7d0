package rpc

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Errors for errors.Is.
var (
	// ErrOptions means that Options has fields that the procedure cannot use.
	ErrOptions = errors.New("rpc: unusable Options")
	// ErrDrop, returned by a procedure, drops the call: it gets no reply. oncrpc.Request.Drop
	// describes the cost. The call is executed when it is sent again, also with a reply cache: a
	// procedure that has changed something must not return ErrDrop.
	ErrDrop = errors.New("rpc: no answer")
	// ErrNilValue means that the arguments or the results of a call are a nil pointer. nil itself
	// stands for void.
	ErrNilValue = errors.New("rpc: pass a pointer to a value, or nil for void")
	// ErrPadded means that a message was sent as RDMA_MSGP (rdmaio.Config.Legacy). Generated
	// decoders do not support its padding.
	ErrPadded = errors.New("rpc: the message was sent as RDMA_MSGP, whose padding generated decoders do not support: turn padding off at the peer")
)

// Unimplemented, returned by a procedure, refuses the call with PROC_UNAVAIL, as if the service did
// not have the procedure (RFC 5531 §9).
var Unimplemented error = &oncrpc.ReplyError{Accept: oncrpc.ProcUnavail}

// Error is the error of a failed call.
type Error struct {
	Program, Version, Procedure uint32

	// Name is the procedure as described by oncrpc.Program.Describe. It has the names that the
	// Client's Program gives, if any.
	Name string

	// MayHaveRun reports whether the server may have executed the procedure, or a part of it.
	// If false, the server has not executed it.
	MayHaveRun bool

	Err error
}

// Error returns the procedure and the reason.
func (e *Error) Error() string {
	name := e.Name
	if name == "" {
		name = (&oncrpc.Program{Number: e.Program, Version: e.Version}).Describe(e.Procedure)
	}
	return fmt.Sprintf("rpc: %s: %v", name, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
