package verbs

import (
	"fmt"
	"strings"
)

// Status is the result of a request: the values of ibv_wc_status that reliable connections
// use. Every status except StatusSuccess comes with StateError at this end, and soon at the
// other. The first completion that is neither a success nor flushed has the cause. "Peer"
// means the other end than the one that polls.
type Status uint8

// The statuses.
const (
	StatusSuccess Status = iota

	// StatusLocalLength means, for a Receive, that the message was longer than it, and for
	// a request, that it was longer than the provider can send.
	StatusLocalLength

	// StatusLocalProtection means that a region in the request's list was invalidated
	// between the post and the execution, or that a LocalInvalidate named no valid region.
	StatusLocalProtection

	// StatusFlushed means that the connection ended before the request was complete, or
	// before one was that was posted earlier to the same queue: all requests after a flushed one
	// are flushed. It is unknown whether the peer saw a part of the request.
	StatusFlushed

	// StatusRemoteInvalidRequest means that the peer could not accept the request: a message
	// was longer than its Receive, or there were more Reads than negotiated. Some devices have
	// StatusRemoteOperation for the former, and StatusFatal at the Receive.
	StatusRemoteInvalidRequest

	// StatusRemoteAccess means that the peer refused the key, range, right or domain of a
	// Write, a Read or a SendWithInvalidate. No byte was moved.
	StatusRemoteAccess

	// StatusRemoteOperation means that the peer failed to carry out a valid request, for
	// example because its own Receive names an invalid region.
	StatusRemoteOperation

	// StatusRNRRetryExceeded means that the peer had no Receive posted.
	StatusRNRRetryExceeded

	// StatusRetryExceeded means that the peer did not respond.
	StatusRetryExceeded

	// StatusFatal means that the device failed.
	StatusFatal
)

// String returns the name of the status.
func (s Status) String() string {
	return enumString("Status", uint(s), "success", "local length error", "local protection error", "flushed",
		"remote invalid request", "remote access error", "remote operation error",
		"receiver not ready", "transport retries exceeded", "fatal device error")
}

// Err returns nil for StatusSuccess, and else the status as a StatusError.
func (s Status) Err() error {
	if s == StatusSuccess {
		return nil
	}
	return StatusError{s}
}

// enumString returns a value's name, or the type and the number if the value has no name.
func enumString(typ string, v uint, names ...string) string {
	if v < uint(len(names)) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", typ, v)
}

// flagString lists the names of the bits that are set, and unknown bits as a number.
func flagString(v uint, none string, names ...string) string {
	if v == 0 {
		return none
	}
	var parts []string
	for i, name := range names {
		if v&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	if rest := v >> len(names) << len(names); rest != 0 {
		parts = append(parts, fmt.Sprintf("%#x", rest))
	}
	return strings.Join(parts, "|")
}
