package hostauth

import (
	"crypto"
	"fmt"
)

// Role is the side of a connection.
type Role uint8

// The two roles.
const (
	Client Role = 1 // the side that opened the connection
	Server Role = 2 // the side that accepted it
)

// String returns "client" or "server".
func (r Role) String() string {
	switch r {
	case Client:
		return "client"
	case Server:
		return "server"
	}
	return fmt.Sprintf("role %d", uint8(r))
}

// Peer returns the role of the other side.
func (r Role) Peer() Role {
	if r == Client {
		return Server
	}
	return Client
}

// Binding identifies the protected channel below the connection, such as TLS below package rdmatcp
// (RFC 5056). Both ends of one channel have the same Binding, and no other channel has it. The zero
// value means that there is no channel binding: an exchange can then not detect a relay.
type Binding struct {
	// Type is the registered name of the kind of binding, such as "tls-exporter" (RFC 9266).
	Type string

	// Data is the value of the binding. The provider must take it from the channel itself.
	Data []byte
}

// Info describes the connection to authenticate. Addresses are not part of it: the network can
// forge them, and address translation changes them. The slices must not change during the exchange.
type Info struct {
	// Role is the role of this side.
	Role Role

	// Binding identifies the channel below the connection. If zero, the channel has no binding.
	Binding Binding

	// Sent and Received are the properties that this side and the peer have sent, other than the
	// host authentication messages. One form is required so that Sent at one end equals Received at
	// the other: the XDR of each property as it was sent, unknown ones too, ordered by code. An
	// exchange fails if an attacker changed one (§10.3).
	Sent, Received []byte
}

// check reports an Info that no Method can use.
func (i *Info) check() error {
	switch {
	case i.Role != Client && i.Role != Server:
		return &Error{Kind: ErrLocal, Role: i.Role, Detail: fmt.Sprintf("Info.Role is %v: want Client or Server", i.Role)}
	case (i.Binding.Type == "") != (len(i.Binding.Data) == 0):
		return &Error{Kind: ErrLocal, Role: i.Role, Detail: fmt.Sprintf(
			"Info.Binding has type %q and %d bytes of data: give both, or neither if there is no channel binding",
			i.Binding.Type, len(i.Binding.Data))}
	}
	return nil
}

// Method is a way to authenticate hosts. Both ends of a connection need the same one. A Method may
// be used by several connections at the same time.
type Method interface {
	// Start returns the exchange of one connection. It sends nothing.
	Start(info Info) (Exchange, error)
}

// Exchange is the authentication of one connection, at one end. Its methods are not safe for
// concurrent use. A [Session] calls Begin once, then Receive for every message of the peer, and
// neither after an error or after a Step that is Done.
type Exchange interface {
	// Begin returns the first message of this side. The Step of a side that speaks second has
	// neither Send nor Done set. Both sides may speak first.
	Begin() (Step, error)

	// Receive takes the next message of the peer. An empty message is a message, too. The exchange
	// may use msg only until Receive returns.
	Receive(msg []byte) (Step, error)

	// Peer returns the identity of the peer. It returns false before the identity is verified, and
	// always if the method does not authenticate the peer of this role.
	Peer() (Peer, bool)
}

// Step is the result of a call of an [Exchange].
type Step struct {
	// Message is the message to send, if Send is set. It may be empty. The caller owns it.
	Message []byte

	// Send says that there is a message to send.
	Send bool

	// Done says that this side has completed the exchange, after sending Message. It expects no
	// further message. The peer may still refuse the last message of this side.
	Done bool
}

// Peer is the identity of an authenticated peer.
type Peer struct {
	// Method names the method that authenticated the peer.
	Method string

	// Name is the name of the peer. The Method says where it comes from.
	Name string

	// Key is the public key whose private key the peer has proved to hold. It is nil if the method
	// does not use keys.
	Key crypto.PublicKey

	// Certificates are the verified X.509 certificates in DER, the peer's own first and the root
	// last. It is nil if the peer has a bare key.
	Certificates [][]byte
}
