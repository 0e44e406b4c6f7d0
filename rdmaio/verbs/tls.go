package verbs

import "fmt"

// TLSState describes the TLS session that carries a connection. It says nothing about the users
// of the peer: the credentials in RPC Calls are apart from it (RFC 9289 §4.2).
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

// TLSStater is a QueuePair that can report the TLS session below it. It is optional.
type TLSStater interface {
	// TLSState returns the TLS session state of a queue pair that is in StateConnected or was. It
	// returns ErrInvalidState before, and ErrNotSupported if the connection has no TLS. The
	// certificates belong to the caller.
	TLSState() (TLSState, error)
}

// TLSStateOf returns the state of a queue pair's TLS session. The error is ErrNotSupported if the
// queue pair does not implement TLSStater.
func TLSStateOf(qp QueuePair) (TLSState, error) {
	if s, ok := qp.(TLSStater); ok {
		return s.TLSState()
	}
	return TLSState{}, fmt.Errorf("verbs: queue pair %d has no TLS: %w", qp.Num(), ErrNotSupported)
}
