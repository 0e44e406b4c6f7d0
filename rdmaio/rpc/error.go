package rpc

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio"
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

	// MayHaveRun says that the server may have executed the procedure, or a part of it. If it is false it has not.
	MayHaveRun bool

	Err error
}

// Error names the procedure, and tells the reason.
func (e *Error) Error() string {
	text := fmt.Sprintf("rpc: program %d version %d procedure %d: %v", e.Program, e.Version, e.Procedure, e.Err)
	var peer *rdmaio.PeerError
	if errors.As(e.Err, &peer) && peer.Code == rdmaio.PeerErrChunk {
		text += "; results larger than comes inline need room in Options.ReplyBuf and Results, and large arguments need the server to take as much (its rdmaio.Config.MaxPull)"
	}
	return text
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }
