package oncrpc

import "crypto"

// Peer describes the host at the other end of a connection. It says nothing about users: the
// credential of each Call does, and neither stands for the other (RFC 9289 §4.2). A server decides
// itself which host may speak for which users. The memory of TLS and Host is read only.
type Peer struct {
	// Addr is the address, in the form of the carrier. A host can claim any, unless the network
	// prevents it.
	Addr string

	// TLS describes the TLS session, and is nil without TLS.
	TLS *TLSState

	// Host is the identity by the host authentication of RPC-over-RDMA version 2. It is nil
	// without it.
	Host *HostIdentity
}

// TLSState describes the TLS session of a connection.
type TLSState struct {
	Version     string // such as "TLS 1.3"
	CipherSuite string // such as "TLS_AES_128_GCM_SHA256"
	Protocol    string // the application protocol that both ends agreed on (ALPN), or ""
	ServerName  string // the name that the client asked for, or "" if it used an IP address
	Resumed     bool   // the session continues an earlier one, with the certificates of that one

	// PeerCertificates are the X.509 certificates that the peer has sent, in DER, its own first.
	// The peer has proved that it holds the private key of the first. It is nil if the peer has
	// sent none, as a client does that was not asked for one.
	PeerCertificates [][]byte

	// Verified reports whether PeerCertificates lead to an authority that this side trusts. If
	// false, all in them except the key of the first is a claim of the peer.
	Verified bool
}

// HostIdentity is the identity of an authenticated host.
type HostIdentity struct {
	// Method names the method that authenticated the host.
	Method string

	// Name is the name of the host. The Method says where it comes from.
	Name string

	// Key is the public key whose private key the host has proved to hold. It is nil if the method
	// does not use keys.
	Key crypto.PublicKey

	// Certificates are the verified X.509 certificates in DER, the host's own first and the root
	// last. It is nil if the host has a bare key.
	Certificates [][]byte
}
