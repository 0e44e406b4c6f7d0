package verbs

import (
	"errors"
	"fmt"
)

// DisconnectReason is a reason for ending a connection that a provider can report to the
// peer.
type DisconnectReason uint8

// The reasons.
const (
	ReasonDone DisconnectReason = iota // an orderly end, as with Disconnect
	ReasonRule                         // the peer broke a rule of the upper protocol
	ReasonTime                         // the peer exceeded a time limit
)

// String returns the name of the reason.
func (r DisconnectReason) String() string {
	return enumString("DisconnectReason", uint(r), "done", "rule broken", "time limit exceeded")
}

// PeerErr returns the error that QueuePair.Err of the peer wraps.
func (r DisconnectReason) PeerErr() error {
	switch r {
	case ReasonRule:
		return fmt.Errorf("%w: the peer closed it because a rule of the protocol was broken: %w", ErrConnectionBroken, StatusError{StatusRemoteInvalidRequest})
	case ReasonTime:
		return fmt.Errorf("%w: the peer closed it because a time limit was exceeded: %w", ErrConnectionBroken, StatusError{StatusRetryExceeded})
	}
	return ErrPeerDisconnected
}

// ReasonDisconnecter is a QueuePair that can report to the peer why it disconnects. It is
// optional: not every protocol has a field for a reason.
type ReasonDisconnecter interface {
	// DisconnectFor does the same as QueuePair.Disconnect, and reports the reason. The
	// peer's QueuePair.Err is ErrPeerDisconnected for ReasonDone, and else
	// ErrConnectionBroken: with StatusRemoteInvalidRequest for ReasonRule, and with
	// StatusRetryExceeded for ReasonTime. The reason may be lost while another message is
	// being sent. ErrNotSupported means that this queue pair cannot report a reason. It is
	// still connected.
	DisconnectFor(reason DisconnectReason) error
}

// Disconnect closes a queue pair's connection. It reports the reason to the peer if the provider
// can.
func Disconnect(qp QueuePair, reason DisconnectReason) error {
	if d, ok := qp.(ReasonDisconnecter); ok {
		if err := d.DisconnectFor(reason); !errors.Is(err, ErrNotSupported) {
			return err
		}
	}
	return qp.Disconnect()
}
