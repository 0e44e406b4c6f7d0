package rpc

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Errors for errors.Is.
var (
	// ErrOptions: Options do not go with the procedure.
	ErrOptions = errors.New("rpc: unusable Options")
	// ErrDrop, returned by a procedure, leaves its call without an answer: see rdmaio.Request.Drop for what that costs.
	ErrDrop = errors.New("rpc: no answer")
	// ErrPadded: a message came as RDMA_MSGP (rdmaio.Config.Legacy), whose padding generated decoders do not know.
	ErrPadded = errors.New("rpc: the message has padding between its items")
)

// Error is why a call failed.
type Error struct {
	Program, Version, Procedure uint32

	// Name is the procedure as oncrpc.Program.Describe has it: in words where the Program of the Client has names.
	Name string

	// MayHaveRun says that the server may have executed the procedure, or a part of it. If it is false it has not.
	MayHaveRun bool

	Err error
}

// Error names the procedure, and tells the reason.
func (e *Error) Error() string {
	name := e.Name
	if name == "" {
		name = (&oncrpc.Program{Number: e.Program, Version: e.Version}).Describe(e.Procedure)
	}
	return fmt.Sprintf("rpc: %s: %v", name, e.Err)
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }
