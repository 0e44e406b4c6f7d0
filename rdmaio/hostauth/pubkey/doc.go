// Package pubkey is a method of host authentication ([hostauth.Method]): both ends prove by
// signatures that they hold the private key of their identity. An identity is an Ed25519 public
// key, or an X.509 certificate with an Ed25519, ECDSA or RSA key. The two ends may have different
// kinds.
//
//	method, err := pubkey.New(&pubkey.Config{
//		Key:        key,                                        // of this host
//		Keys:       map[string]ed25519.PublicKey{"nas1": nas1}, // of the accepted peers
//		ServerName: "nas1",
//	})
//
// # Exchange
//
// The client sends a hello with a nonce and its identity. The server answers with a hello and its
// proof, and the client with its proof. A proof is a signature of
//
//	64 spaces
//	"RPC-over-RDMA host authentication 1, client" or "... 1, server", and a zero byte
//	SHA-256 of the hellos:          client hello, server hello without the proof
//	SHA-256 of the properties:      client nonce, server nonce, client's properties, server's
//	SHA-256 of the channel binding: client nonce, server nonce, type, data
//
// A digest is taken over its name ("hellos", "properties", "channel binding") and the parts listed,
// each preceded by its length in 8 bytes. The algorithm follows from the key: Ed25519 of the text
// itself; ECDSA on P-256, P-384 or P-521 with SHA-256, SHA-384 or SHA-512, the signature in ASN.1;
// RSASSA-PSS with SHA-256, a salt of 32 bytes and keys of 2048 to 8192 bits.
//
// # Messages
//
// Numbers are big-endian. A decoder refuses other versions, lengths out of range, and bytes after
// the message. Offsets and sizes are in bytes.
//
//	client hello          server hello          client proof
//	0   header       4    0   header       4    0   header       4
//	4   nonce        32   4   nonce        32   4   proof        101 to 1124
//	36  identity     38+  36  identity     38+
//	                      +   proof        101 to 1124
//
//	header                identity                    proof
//	0  "HA"         2     0  kind: 1 or 2       1     0    digest of the hellos           32
//	2  version: 1   1     1  number of items    1     32   digest of the properties       32
//	3  type: 1 to 3 1     2  items                    64   digest of the channel binding  32
//	                                                  96   length of the signature        4
//	item                                              100  signature                 1 to 1024
//	0  length       4
//	4  data
//
// The types are 1 client hello, 2 server hello and 3 client proof. Kind 1 has one item of 32 bytes,
// the Ed25519 public key (RFC 8032). Kind 2 has 1 to 8 items, certificates in DER, the certificate
// of the host first, of together at most 32 KiB. With Ed25519 keys the messages have 74, 238 and
// 168 bytes.
//
// # Threats
//
// The attacker has the network: it can read, change, drop, insert and replay messages, and can open
// connections to both ends. It does not have the private keys. The method detects
//
//   - an impostor without the private key of an accepted identity,
//   - a changed message, property or channel binding: the ends then sign different digests,
//   - a replay: both sides sign both nonces, which are new for each exchange,
//   - a reflection: a server signs another text than a client, even if both have the same key,
//   - an exchange carried over to a connection with another peer: both sides sign both identities,
//   - a relay between two channels: both sides sign the channel binding.
//
// It does not detect a relay without a channel binding. An attacker between the ends can pass on
// all messages unchanged. Both ends then accept each other, and the attacker reads and changes all
// that follows. Config.RequireBinding refuses connections without a binding. The threats that no
// method prevents are in the comment of package hostauth.
//
// Identities are sent in the clear: an observer learns which hosts talk to each other, and any
// client learns the identity of the server. The client is done when it sends its proof. It learns
// that the server refused it when the server closes the connection. Certificates are not checked
// for revocation; Config.Verify can do that.
package pubkey
