// Package hostauth defines host authentication for connections of RPC-over-RDMA version 2
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.2.6, §10.4).
//
// The two ends of a connection exchange opaque messages in property 6 of RDMA2_CONNPROP. The draft
// defines neither their content nor their number. A [Method] does: it makes an [Exchange] for each
// connection, which returns the messages to send and takes the messages of the peer. Package
// [github.com/rpcrdma/rpcrdma/rdmaio/hostauth/pubkey] is a Method with signatures of Ed25519 keys
// or X.509 certificates.
//
// A [Session] runs an exchange and enforces its rules and [Limits], whatever the Method:
//
//	s, err := hostauth.NewSession(method, info, hostauth.Limits{})
//	step, err := s.Begin()        // once, after both ends have sent their properties
//	...                           // if step.Send, send step.Message, which may be empty
//	step, err = s.Receive(msg)    // for every message of the peer
//	...
//	peer, ok := s.Peer()          // once step.Done
//
// # Values of property 6
//
// The draft leaves the value open. Here an end's first set of properties has this property, with an
// empty value, if the end takes part in host authentication. So each end knows at once whether the
// other does. Later sets carry the messages, each in one value or more: a message may be longer
// than a Send. The first byte of a value is its kind. The rest is a part of a message.
//
//	kind  meaning
//	0     the last part of a message
//	1     a part of a message that has more; at least 1024 bytes
//	2     the last part of a message; the sender is done
//	3     no part; the sender is done
//
// The sender is done when it has accepted the peer and expects no further message. RPC messages
// follow when both are done. An end that does not accept the peer closes the connection.
// [Step.Values] makes these values, and [Session.ReceiveValue] takes them.
//
// Nothing here does I/O, starts a goroutine or waits. The connection carries the messages, gives up
// the exchange after its own time limit, and must not dispatch an RPC message before the exchange
// is done if its policy requires authentication (R312).
//
// # Threats
//
// The attacker can read, change, drop and insert messages between the two ends, and can open
// connections to both. Its limits depend on the Method. No Method can prevent these:
//
//   - Removal. Properties are sent in the clear (§10.3). An attacker can remove the messages, and
//     both ends then see a peer that does not authenticate. Only a policy that requires
//     authentication at both ends detects it (R220).
//   - Version 1. That version has no host authentication. An attacker that makes the ends agree on
//     version 1 removes it. A policy that requires authentication must refuse version 1.
//   - Relay. An attacker between the ends can pass on every message of the exchange unchanged, and
//     then read and change the RPC messages that follow. The identities are authentic, the
//     connection is not. Only a [Binding] to a channel that protects the connection, such as TLS
//     below package rdmatcp, detects it. Without that channel, host authentication proves only
//     that the peer took part in the exchange.
//   - Later traffic. Host authentication neither encrypts nor protects what follows it. That is a
//     task of the channel, or of RPCSEC_GSS (§10.2).
package hostauth
