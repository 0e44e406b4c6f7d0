package verbs

import (
	"errors"
	"fmt"
)

// DisconnectReason is why a side ends a connection, as the peer hears it.
type DisconnectReason uint8

// The reasons.
const (
	ReasonDone DisconnectReason = iota // in order, as Disconnect says it
	ReasonRule                         // the peer broke a rule of the protocol that uses the connection
	ReasonTime                         // the peer exceeded a time limit
)

// String names the reason.
func (r DisconnectReason) String() string {
	return enumString("DisconnectReason", uint(r), "done", "rule broken", "time limit exceeded")
}

// PeerErr returns the error that QueuePair.Err of the peer wraps.
func (r DisconnectReason) PeerErr() error {
	switch r {
	case ReasonRule:
		return fmt.Errorf("%w: the peer ended it, as a rule of the protocol was broken: %w", ErrConnectionBroken, StatusError{StatusRemoteInvalidRequest})
	case ReasonTime:
		return fmt.Errorf("%w: the peer ended it, as a time limit was exceeded: %w", ErrConnectionBroken, StatusError{StatusRetryExceeded})
	}
	return ErrPeerDisconnected
}

// ReasonDisconnecter is a QueuePair that can say why it disconnects. It is optional: not every protocol
// has room for a reason.
type ReasonDisconnecter interface {
	// DisconnectFor does what QueuePair.Disconnect does. The peer's QueuePair.Err is ErrConnectionBroken with
	// StatusRemoteInvalidRequest for ReasonRule, with StatusRetryExceeded for ReasonTime, and
	// ErrPeerDisconnected for ReasonDone. The reason may be lost when a message is on its way. ErrNotSupported says that
	// this queue pair cannot tell the peer, and that nothing was done.
	DisconnectFor(reason DisconnectReason) error
}

// Disconnect ends the connection of a queue pair with a reason, or without one where the provider cannot say it.
func Disconnect(qp QueuePair, reason DisconnectReason) error {
	if d, ok := qp.(ReasonDisconnecter); ok {
		if err := d.DisconnectFor(reason); !errors.Is(err, ErrNotSupported) {
			return err
		}
	}
	return qp.Disconnect()
}
