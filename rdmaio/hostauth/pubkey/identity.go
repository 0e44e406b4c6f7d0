package pubkey

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// parseChain parses certificates in DER and checks their keys. A huge RSA key of an intermediate
// certificate would cost the verifier much time, too.
func parseChain(items [][]byte) ([]*x509.Certificate, error) {
	certs := make([]*x509.Certificate, len(items))
	for i, der := range items {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", i+1, err)
		}
		if err := checkKey(cert.PublicKey); err != nil {
			return nil, fmt.Errorf("certificate %d: %w", i+1, err)
		}
		certs[i] = cert
	}
	return certs, nil
}

// acceptKey decides on a peer that has proved to hold a bare key.
func (x *exchange) acceptKey(key ed25519.PublicKey) (hostauth.Peer, error) {
	name, known := x.m.names[[ed25519.PublicKeySize]byte(key)]
	switch {
	case known:
	case x.m.cfg.UnknownKey == nil:
		return hostauth.Peer{}, x.fail(hostauth.ErrUntrusted, nil, "the peer's key %s is not in Config.Keys: add it if the peer is to be accepted", fingerprint(key))
	default:
		var err error
		if name, err = x.m.cfg.UnknownKey(key); err != nil {
			return hostauth.Peer{}, x.fail(hostauth.ErrUntrusted, err, "Config.UnknownKey refused the peer's key %s: %s", fingerprint(key), printable(err))
		}
	}
	if want := x.serverName(); want != "" && name != want {
		return hostauth.Peer{}, x.fail(hostauth.ErrUntrusted, nil, "the key of the server belongs to %q, expected %q (Config.ServerName)", name, want)
	}
	return x.ask(hostauth.Peer{Method: methodName, Name: name, Key: key}, nil)
}

// acceptChain decides on a peer that has proved to hold the key of the first certificate.
func (x *exchange) acceptChain(certs []*x509.Certificate) (hostauth.Peer, error) {
	leaf, usage := certs[0], x509.ExtKeyUsageClientAuth
	if x.info.Role == hostauth.Client {
		usage = x509.ExtKeyUsageServerAuth
	}
	if leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return hostauth.Peer{}, x.fail(hostauth.ErrCertificate, nil, "the key usage of the peer's certificate does not include digitalSignature (RFC 5280 §4.2.1.3)")
	}
	opts := x509.VerifyOptions{
		Roots: x.m.cfg.Roots, Intermediates: x509.NewCertPool(), CurrentTime: x.m.cfg.Time(),
		KeyUsages: []x509.ExtKeyUsage{usage}, DNSName: x.serverName(),
	}
	for _, cert := range certs[1:] {
		opts.Intermediates.AddCert(cert)
	}
	chains, err := leaf.Verify(opts)
	if err != nil {
		return hostauth.Peer{}, x.fail(hostauth.ErrCertificate, err, "%s", printable(err))
	}
	name := opts.DNSName
	if name == "" {
		name = subjectName(leaf)
	}
	if name == "" {
		return hostauth.Peer{}, x.fail(hostauth.ErrCertificate, nil, "the peer's certificate has no subject alternative name (RFC 5280 §4.2.1.6), from which the peer would get its name")
	}
	peer := hostauth.Peer{Method: methodName, Name: name, Key: leaf.PublicKey}
	for _, cert := range chains[0] {
		peer.Certificates = append(peer.Certificates, cert.Raw)
	}
	return x.ask(peer, chains)
}

// subjectName returns the first subject alternative name: a DNS name, else a URI, an IP address, or
// a mail address. The subject's common name is not used: name constraints do not apply to it.
func subjectName(cert *x509.Certificate) string {
	switch {
	case len(cert.DNSNames) > 0:
		return cert.DNSNames[0]
	case len(cert.URIs) > 0:
		return cert.URIs[0].String()
	case len(cert.IPAddresses) > 0:
		return cert.IPAddresses[0].String()
	case len(cert.EmailAddresses) > 0:
		return cert.EmailAddresses[0]
	}
	return ""
}

// ask asks Config.Verify about a peer with a verified identity.
func (x *exchange) ask(peer hostauth.Peer, chains [][]*x509.Certificate) (hostauth.Peer, error) {
	if x.m.cfg.Verify != nil {
		if err := x.m.cfg.Verify(peer, chains); err != nil {
			return hostauth.Peer{}, x.fail(hostauth.ErrUntrusted, err, "Config.Verify refused the peer %s: %s", quote(peer.Name), printable(err))
		}
	}
	return peer, nil
}

// serverName returns the name that the peer must have, or "".
func (x *exchange) serverName() string {
	if x.info.Role == hostauth.Client {
		return x.m.cfg.ServerName
	}
	return ""
}

// fingerprint returns the SHA-256 of a public key.
func fingerprint(key ed25519.PublicKey) string {
	d := sha256.Sum256(key)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(d[:])
}

// printable returns the text of an error, which may contain text of the peer, on one line and with
// bounded length.
func printable(err error) string {
	const most = 256
	text := err.Error()
	if len(text) > most {
		text = text[:most] + "..."
	}
	q := strconv.QuoteToASCII(text)
	return q[1 : len(q)-1]
}

// quote returns a name of the peer in quotes, cut at 64 bytes.
func quote(name string) string { return fmt.Sprintf("%+q", name[:min(len(name), 64)]) }
