package rdmaio

import (
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// HostAuthMode says whether the peer of a connection must authenticate (R220).
type HostAuthMode uint8

// The modes. A peer that authenticates with a mode other than HostAuthOff is let in only if it
// succeeds.
const (
	// HostAuthOff: this side does not take part in host authentication.
	HostAuthOff HostAuthMode = iota

	// HostAuthWanted: this side authenticates peers that take part, and lets in others without an
	// identity (Peer.Host of Conn.Peer). An attacker on the path can make any peer look like one of
	// the others.
	HostAuthWanted

	// HostAuthRequired: no peer is let in that does not authenticate. Version 1, which has no host
	// authentication, is then not used, whatever Config.Versions says.
	HostAuthRequired
)

// String returns "off", "wanted" or "required".
func (m HostAuthMode) String() string {
	switch m {
	case HostAuthOff:
		return "off"
	case HostAuthWanted:
		return "wanted"
	case HostAuthRequired:
		return "required"
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// HostAuth configures host authentication (version 2;
// draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.6). Each new connection authenticates, also a
// Client's. The two ends need the same Method. Package hostauth says what an attacker can do.
//
// Until authentication has succeeded at both ends, Dial does not return, a Server does not list the
// connection, and no Call or message of an extension is dispatched. A Call of the peer before that
// closes the connection, and so do a failure and a limit. The peer then sees the connection closed,
// and not the reason, which is in Conn.Err, the event ConnFailed and the log (ErrHostAuth).
type HostAuth struct {
	// Mode says whether the peer must authenticate. If zero, the default is HostAuthOff.
	Mode HostAuthMode

	// Method authenticates both ends. It is required, except with HostAuthOff. Package
	// hostauth/pubkey is one.
	Method hostauth.Method

	// Limits are the largest number and size of a peer's messages, on one connection.
	Limits hostauth.Limits

	// Timeout is the longest time that authentication may take, from the time when the connection
	// is made. If zero, the default is 10 s. If negative, there is no limit.
	Timeout time.Duration
}
