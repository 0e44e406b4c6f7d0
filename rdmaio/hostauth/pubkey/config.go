package pubkey

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"io"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// Config configures a [Method]. Key is required, and so is at least one of Keys, UnknownKey and
// Roots: they say which peers are accepted. A client also needs ServerName or Verify. The functions
// and the Key are called by several connections at the same time, on the path of received messages,
// and should not block.
type Config struct {
	// Key is the private key of this host: an ed25519.PrivateKey, *ecdsa.PrivateKey or
	// *rsa.PrivateKey, or a signer for a key in hardware. Without Chain it must be an Ed25519 key.
	// The fields of a tls.Certificate c are used as Key: c.PrivateKey.(crypto.Signer) and Chain:
	// c.Certificate.
	Key crypto.Signer

	// Chain is the X.509 certificate of Key in DER, followed by the intermediate certificates that
	// lead to a root of the peer: at most 8 and 32 KiB. If empty, this host shows the bare public
	// key.
	Chain [][]byte

	// Keys are the accepted bare keys by the names of their hosts. If empty, the bare keys that
	// UnknownKey accepts are accepted.
	Keys map[string]ed25519.PublicKey

	// UnknownKey returns the name of the host with a bare key that Keys does not have, or the
	// reason to refuse it. The peer has proved to hold the key. If nil, such a key is refused.
	UnknownKey func(ed25519.PublicKey) (name string, err error)

	// Roots are the certificates that issue acceptable certificates. If nil, certificates are
	// refused. The roots of the operating system are never used.
	Roots *x509.CertPool

	// ServerName is the name of the server: a DNS name or IP address in its certificate, or the
	// name of its key. A client refuses a server with another name. A server ignores it.
	ServerName string

	// Verify decides last whether a peer with a verified identity is accepted. The chains are those
	// that lead from its certificate to a root, nil for a bare key. If nil, every peer with a
	// verified identity is accepted.
	Verify func(peer hostauth.Peer, chains [][]*x509.Certificate) error

	// RequireBinding refuses connections without a channel binding, on which a relay cannot be
	// detected.
	RequireBinding bool

	// Time returns the time at which certificates must be valid. If nil, the default is time.Now.
	Time func() time.Time

	// Rand is the source of randomness. If nil, the default is crypto/rand.Reader.
	Rand io.Reader
}

// Method authenticates hosts by signatures of their keys. It is safe for concurrent use.
type Method struct {
	cfg   Config
	self  identity
	names map[[ed25519.PublicKeySize]byte]string // of Config.Keys
}

var _ hostauth.Method = (*Method)(nil)

// New returns a Method. It copies cfg, whose keys and certificates must not change any more.
func New(cfg *Config) (*Method, error) {
	if cfg == nil || cfg.Key == nil {
		return nil, local("Config.Key is missing: set it to the private key of this host")
	}
	m := &Method{cfg: *cfg, names: make(map[[ed25519.PublicKeySize]byte]string)}
	if m.cfg.Time == nil {
		m.cfg.Time = time.Now
	}
	if m.cfg.Rand == nil {
		m.cfg.Rand = rand.Reader
	}
	if err := m.setSelf(); err != nil {
		return nil, err
	}
	for name, key := range cfg.Keys {
		if len(key) != ed25519.PublicKeySize {
			return nil, local("Config.Keys: the key of %q has %d bytes, expected %d", name, len(key), ed25519.PublicKeySize)
		}
		k := [ed25519.PublicKeySize]byte(key)
		if other, twice := m.names[k]; twice {
			return nil, local("Config.Keys: %q and %q have the same key, and the name of a peer must be unique", min(name, other), max(name, other))
		}
		m.names[k] = name
	}
	if !m.accepts(bareKey) && !m.accepts(chain) {
		return nil, local("Config accepts no peer: set Keys, UnknownKey or Roots")
	}
	return m, nil
}

// setSelf checks Key and Chain, and sets the identity of this host.
func (m *Method) setSelf() error {
	if key, ok := m.cfg.Key.(ed25519.PrivateKey); ok && len(key) != ed25519.PrivateKeySize {
		return local("Config.Key: an Ed25519 private key of %d bytes, expected %d", len(key), ed25519.PrivateKeySize)
	}
	public := m.cfg.Key.Public()
	if err := checkKey(public); err != nil {
		return local("Config.Key: %v", err)
	}
	if len(m.cfg.Chain) == 0 {
		key, ok := public.(ed25519.PublicKey)
		if !ok {
			return local("Config.Key is of type %T and Config.Chain is empty: only an Ed25519 key can do without a certificate", m.cfg.Key)
		}
		m.self = identity{bareKey, [][]byte{key}}
		return nil
	}
	total := 0
	for _, cert := range m.cfg.Chain {
		total += len(cert)
	}
	if len(m.cfg.Chain) > maxCerts || total > maxChain {
		return local("Config.Chain has %d certificates and %d bytes, expected at most %d and %d", len(m.cfg.Chain), total, maxCerts, maxChain)
	}
	certs, err := parseChain(m.cfg.Chain)
	if err != nil {
		return local("Config.Chain: %v", err)
	}
	if key, ok := certs[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(public) {
		return local("Config.Chain: the first certificate is not of Config.Key: put the certificate of the host first")
	}
	m.self = identity{chain, m.cfg.Chain}
	return nil
}

// accepts reports whether the configuration can accept identities of a kind.
func (m *Method) accepts(kind identityKind) bool {
	if kind == chain {
		return m.cfg.Roots != nil
	}
	return len(m.cfg.Keys) > 0 || m.cfg.UnknownKey != nil
}

// local returns a fault of this side.
func local(format string, args ...any) error {
	return &hostauth.Error{Kind: hostauth.ErrLocal, Detail: fmt.Sprintf(format, args...)}
}
