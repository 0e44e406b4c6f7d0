package verbs

import (
	"errors"
	"fmt"
)

// Errors of calls: misuse or a limit. Providers wrap them with the details;
// nothing has changed when they are returned.
var (
	ErrInvalidWR     = errors.New("verbs: invalid work request")
	ErrInvalidState  = errors.New("verbs: not possible in this state")
	ErrForeignObject = errors.New("verbs: object belongs to another protection domain, device or provider")
	ErrAccess        = errors.New("verbs: region is invalid or lacks the right")
	ErrQueueFull     = errors.New("verbs: queue is full")
	ErrTooLarge      = errors.New("verbs: larger than the device allows")
	ErrNotSupported  = errors.New("verbs: not supported")
	ErrInvalidValue  = errors.New("verbs: invalid argument")
	ErrBusy          = errors.New("verbs: still in use")
	ErrClosed        = errors.New("verbs: closed")
	ErrAddressInUse  = errors.New("verbs: address is in use")
)

// Errors of connections, from Dial, ConnRequest.Accept and QueuePair.Err.
var (
	ErrConnectionRefused = errors.New("verbs: nobody listens at the address")
	ErrDisconnected      = errors.New("verbs: disconnected by this side")
	ErrPeerDisconnected  = errors.New("verbs: disconnected by the peer")
	ErrConnectionBroken  = errors.New("verbs: connection broken by an error") // wraps a StatusError where one is known
	ErrDeviceRemoved     = errors.New("verbs: device is gone")
)

// StatusError is a Status other than StatusSuccess as an error: comparable, so that
// errors.Is(err, StatusError{StatusFlushed}) works.
type StatusError struct{ Status Status }

// Error gives the status' name.
func (e StatusError) Error() string { return "verbs: " + e.Status.String() }

// CompletionError is a failed work completion; it unwraps to a StatusError.
type CompletionError struct {
	WRID   uint64
	QPNum  uint32
	Status Status
}

// Error names queue pair, request and status.
func (e *CompletionError) Error() string {
	return fmt.Sprintf("verbs: queue pair %d: request %#x: %v", e.QPNum, e.WRID, e.Status)
}

// Unwrap gives the StatusError.
func (e *CompletionError) Unwrap() error { return StatusError{e.Status} }

// RejectedError is a listener's refusal, with what it had to say.
type RejectedError struct {
	PrivateData []byte // untrusted; the caller's to keep
}

// Error tells how much private data came along, not its content.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("verbs: connection rejected by the listener (%d bytes of private data)", len(e.PrivateData))
}
