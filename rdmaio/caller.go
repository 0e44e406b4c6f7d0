package rdmaio

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// caller makes the Calls of this side on a connection:
//
//	Call ──> slot ──────> prepare ──> post ──> wait ──> conclude ──> Reply, or the error
//	          └ no place     ▲      memory is          keys    │
//	            is free:     │      offered            end     │ the peer has refused the shape
//	            wait         └───────────── change ────────────┘ and named another one
//
// A Call that was submitted takes the same way without a goroutine (submission).
//
// A Call has a slot from its beginning to its return. Keys give access to the caller's memory only
// while the Call has its slot. A cancelled Call can leave keys (leftover), but only to memory of
// the connection.
type caller struct {
	*host
	ready   atomic.Bool // this side may make Calls
	xids    oncrpc.XIDs
	waits   atomic.Uint64 // Calls that waited for a slot or for memory
	slots   slots
	lone    lone
	offered callMemory
	given   givenUp
	submits submitter
}

// usableCredits returns the number of Calls that the peer lets this side have in progress now. It
// does not count credits that cancelled Calls hold.
func (c *caller) usableCredits() int { return min(c.set.calls, c.driver.Credits()) }

// lossOf returns err, or the connection's reason if that says more about a peer that disconnected.
func (c *caller) lossOf(err error) error {
	if err == nil || !errors.Is(err, verbs.ErrPeerDisconnected) {
		return err
	}
	if why := context.Cause(c.ctx); errors.Is(why, verbs.ErrPeerDisconnected) {
		return why
	}
	return err
}
