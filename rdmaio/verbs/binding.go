package verbs

import "fmt"

// ChannelBinding identifies the protected channel that carries a connection (RFC 5056), such as a
// TLS session. Both ends of a channel have the same binding, and no other channel has it. An
// attacker that terminates the channel and opens another one to the peer cannot make the two
// bindings equal.
type ChannelBinding struct {
	// Type is the registered name of the kind of binding, such as "tls-exporter" (RFC 9266).
	Type string

	// Data is the value, which is not secret.
	Data []byte
}

// ChannelBinder is a QueuePair that can report the binding of the channel below it. It is optional:
// most networks have no protected channel (RFC 8166 §8.2.1, draft-ietf-nfsv4-rpcrdma-version-two-00
// §10.2.1; R308).
type ChannelBinder interface {
	// ChannelBinding returns the binding of a queue pair that is in StateConnected or was. It
	// returns ErrInvalidState before, and ErrNotSupported if the channel has no binding. The
	// data belong to the caller.
	ChannelBinding() (ChannelBinding, error)
}

// BindingOf returns the channel binding of a queue pair. The error is ErrNotSupported if the queue
// pair does not implement ChannelBinder.
func BindingOf(qp QueuePair) (ChannelBinding, error) {
	if b, ok := qp.(ChannelBinder); ok {
		return b.ChannelBinding()
	}
	return ChannelBinding{}, fmt.Errorf("verbs: queue pair %d has no channel binding: %w", qp.Num(), ErrNotSupported)
}
