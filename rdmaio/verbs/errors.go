package verbs

import (
	"errors"
	"fmt"
)

// Errors of calls, because of misuse or a limit. Providers wrap them with the details. A
// call that returns one of them has no other effect.
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

	// ErrProcessLimit means that a limit of this process does not allow what the call needs. The
	// usual one is locked memory (RLIMIT_MEMLOCK), which registration counts, and with some devices
	// also CreateCQ and CreateQP. The error names the limit and how to raise it. Further attempts
	// fail until the process has released something or the limit is raised.
	ErrProcessLimit = errors.New("verbs: a limit of this process is reached")
)

// Errors of connections, from Dial, ConnRequest.Accept and QueuePair.Err.
var (
	ErrConnectionRefused = errors.New("verbs: no listener at the address")
	ErrDisconnected      = errors.New("verbs: disconnected by this side")
	ErrPeerDisconnected  = errors.New("verbs: disconnected by the peer")
	ErrDeviceRemoved     = errors.New("verbs: device was removed")

	// ErrTLS means that the two ends do not agree on TLS: only one of them has it, or one does not
	// accept the other's certificate, version or application protocol. Further attempts fail until
	// the configuration of one end is changed.
	ErrTLS = errors.New("verbs: no agreement on TLS")

	// ErrOtherProtocol means that the peer's first bytes, which the error quotes, begin no message
	// of the provider's protocol. Further attempts fail until both ends have the same provider, or
	// the address is another one.
	ErrOtherProtocol = errors.New("verbs: the peer speaks another protocol")

	// ErrConnectionBroken is wrapped together with a StatusError, if the status is known.
	ErrConnectionBroken = errors.New("verbs: connection broken by an error")
)

// StatusError is a Status other than StatusSuccess as an error. It is comparable:
// errors.Is(err, StatusError{StatusFlushed}) works.
type StatusError struct{ Status Status }

// Error returns the name of the status.
func (e StatusError) Error() string { return "verbs: " + e.Status.String() }

// CompletionError is a failed work completion. It unwraps to a StatusError.
type CompletionError struct {
	WRID   uint64
	QPNum  uint32
	Status Status
}

// Error returns a text with queue pair, request and status.
func (e *CompletionError) Error() string {
	return fmt.Sprintf("verbs: queue pair %d: request %#x: %v", e.QPNum, e.WRID, e.Status)
}

// Unwrap returns the StatusError.
func (e *CompletionError) Unwrap() error { return StatusError{e.Status} }

// RejectedError is the error of Dial for a connection that the listener has rejected.
type RejectedError struct {
	PrivateData []byte // from ConnRequest.Reject: untrusted, maybe padded; it belongs to the caller
}

// Error returns a text with the size of the private data, not its content.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("verbs: connection rejected by the listener (%d bytes of private data)", len(e.PrivateData))
}
