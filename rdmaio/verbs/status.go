package verbs

import (
	"fmt"
	"strings"
)

// Status is how a request ended (ibv_wc_status, the part that reliable
// connections use). Every status but StatusSuccess comes with StateError, at this
// end and soon at the other: the first completion that is neither a success nor
// flushed names the cause. "Peer" is the other end of the one that polls.
type Status uint8

// The statuses.
const (
	StatusSuccess Status = iota

	// StatusLocalLength: at the receiver, the message was longer than the
	// Receive; at the sender, the request was longer than the provider can
	// send.
	StatusLocalLength

	// StatusLocalProtection: a region in the request's list, valid when posted, no
	// longer was when the request ran; or LocalInvalidate named no valid region.
	StatusLocalProtection

	// StatusFlushed: the connection ended before the request ran or finished, or before one that was
	// posted before it to the same queue did: what follows a flushed request is flushed. Whether the
	// peer saw a part of it is not known.
	StatusFlushed

	// StatusRemoteInvalidRequest: the peer could not take the message:
	// too long for its Receive, more Reads than it agreed to.
	StatusRemoteInvalidRequest

	// StatusRemoteAccess: the peer refused key, range, right or domain, of a
	// Write, a Read or a SendWithInvalidate. No byte was moved.
	StatusRemoteAccess

	// StatusRemoteOperation: the peer failed to carry out a request that was
	// valid: its own Receive names a region that is gone, say.
	StatusRemoteOperation

	// StatusRNRRetryExceeded: the peer had no Receive posted.
	StatusRNRRetryExceeded

	// StatusRetryExceeded: no answer; the network or the peer is gone.
	StatusRetryExceeded

	// StatusFatal: the device failed.
	StatusFatal
)

// String names the status.
func (s Status) String() string {
	return enumString("Status", uint(s), "success", "local length error", "local protection error", "flushed",
		"remote invalid request", "remote access error", "remote operation error",
		"receiver not ready", "transport retries exceeded", "fatal device error")
}

// Err is the status as an error: nil for StatusSuccess, else a StatusError.
func (s Status) Err() error {
	if s == StatusSuccess {
		return nil
	}
	return StatusError{s}
}

// enumString picks a name, or says which value has none.
func enumString(typ string, v uint, names ...string) string {
	if v < uint(len(names)) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", typ, v)
}

// flagString lists the names of the bits that are set, unknown ones as a number.
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
