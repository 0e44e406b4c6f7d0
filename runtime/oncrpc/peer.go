package oncrpc

import (
	"crypto"
	"strings"
)

// Peer describes the host at the other end of a connection. It says nothing about users: the
// credential of each Call does, and neither stands for the other (RFC 9289 §4.2). A server decides
// itself which host may speak for which users. The memory of TLS and Host is read only.
type Peer struct {
	// Addr is the address, in the form of the carrier. A host can claim any, unless the network
	// prevents it.
	Addr string

	// TLS describes the TLS session, and is nil without TLS.
	TLS *TLSState

	// Local is the process at the other end of a local socket, as its system knows it.
	// It is nil over a network, and on systems other than Linux. Unlike the rest of Peer it is a
	// user: the system vouches for it, as it does not for a credential with AUTH_SYS.
	Local *LocalIdentity

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

// LocalIdentity is a process of this machine: of a client the one that has connected, of a server
// the one that listens. Another process may have inherited the socket since, or have got the PID.
// UID and GID are numbers of the user namespace in which this process runs.
type LocalIdentity struct {
	UID, GID uint32 // the effective user and group; groups beyond these are not known
	PID      int
}

// LocalPrefix begins the address of a local socket. The path follows, or "@" and an
// abstract name of Linux. Conn.RemoteAddr of a client there is LocalPrefix and its process, as in
// "unix:uid=1000,pid=4711", or LocalPrefix alone if that is not known.
const LocalPrefix = "unix:"

// IsLocal reports whether an address is one of a local socket, and not of a host with the
// name unix: LocalPrefix and a path, which contains a slash, or an abstract name.
func IsLocal(addr string) bool {
	path, ok := strings.CutPrefix(addr, LocalPrefix)
	return ok && (strings.HasPrefix(path, "@") || strings.ContainsAny(path, `/\`))
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
