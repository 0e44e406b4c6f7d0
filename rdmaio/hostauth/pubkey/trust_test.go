package pubkey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// TestUntrustedKeys: a peer that holds its key, but is not accepted.
func TestUntrustedKeys(t *testing.T) {
	refused := errors.New("not\tin the database")
	print := fingerprint(public(edKey(5)))
	tests := []struct {
		name   string
		change func(p *pair)
		client bool // the client refuses the server
		text   string
	}{
		{"unknown client", func(p *pair) { p.client.Key = edKey(5) }, false, "key " + print + " is not in Config.Keys"},
		{"unknown server", func(p *pair) { p.server.Key = edKey(5) }, true, "key " + print + " is not in Config.Keys"},
		{"another accepted server", func(p *pair) { p.server.Key = edKey(9) }, true, `belongs to "other", expected "server"`},
		{"UnknownKey refuses", func(p *pair) {
			p.client.Key = edKey(5)
			p.server.UnknownKey = func(ed25519.PublicKey) (string, error) { return "", refused }
		}, false, `refused the peer's key ` + print + `: not\tin the database`},
		{"UnknownKey has another name", func(p *pair) {
			p.server.Key = edKey(5)
			p.client.UnknownKey = func(ed25519.PublicKey) (string, error) { return "a\nb", nil }
		}, true, `belongs to "a\nb", expected "server"`},
		{"Verify of the server", func(p *pair) {
			p.server.Verify = func(hostauth.Peer, [][]*x509.Certificate) error { return refused }
		}, false, `Config.Verify refused the peer "client": not\tin the database`},
		{"Verify of the client", func(p *pair) {
			p.client.Verify = func(hostauth.Peer, [][]*x509.Certificate) error { return refused }
		}, true, `Config.Verify refused the peer "server"`},
		{"a bare key, certificates wanted", func(p *pair) {
			p.server.Keys, p.server.Roots = nil, x509.NewCertPool()
		}, false, "the peer has a bare key"},
		{"a certificate, bare keys wanted", func(p *pair) {
			p.server.Chain = [][]byte{issue(t, nil, p.server.Key, dns("server"))}
		}, true, "Config.Roots is nil"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair()
			tt.change(p)
			r := p.run(t, nil)
			err, other, done := r.serverErr, r.clientErr, r.serverDone
			if tt.client {
				err, other, done = r.clientErr, r.serverErr, r.clientDone || r.serverDone
			}
			checkError(t, err, hostauth.ErrUntrusted, tt.text)
			if other != nil || done {
				t.Errorf("other end: %v; client done %v, server done %v", other, r.clientDone, r.serverDone)
			}
			if strings.Contains(tt.text, "database") && !errors.Is(err, refused) {
				t.Errorf("%v does not wrap the error of the function", err)
			}
		})
	}
}

// TestBadCertificatesAreRefused: certificates that are refused. Both ends hold the keys of theirs.
func TestBadCertificatesAreRefused(t *testing.T) {
	root, other := newIssuer(t, nil, "root"), newIssuer(t, nil, "other")
	middle := newIssuer(t, root, "middle")
	limited := limitedIssuer(t, root)
	with := func(changes ...func(*x509.Certificate)) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			for _, change := range changes {
				change(c)
			}
		}
	}
	usage := func(u ...x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtKeyUsage = u }
	}
	server := dns("server")
	tests := []struct {
		name   string
		issuer *issuer
		change func(*x509.Certificate)
		more   [][]byte // further certificates of the chain
		server bool     // the client refuses the server's certificate, else the other way round
		text   string
	}{
		{"expired", root, with(server, func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Second) }), nil, true, "is after"},
		{"not yet valid", root, with(server, func(c *x509.Certificate) { c.NotBefore = now.Add(time.Second) }), nil, false, "is before"},
		{"wrong name", root, dns("other"), nil, true, "valid for other, not server"},
		{"wrong name with control characters", root, dns("other\n\x1b[2J"), nil, true, `valid for other\n\x1b[2J, not server`},
		{"name only in the subject", root, func(c *x509.Certificate) { c.Subject.CommonName = "server" }, nil, true, "relies on legacy Common Name"},
		{"address in place of the name", root, func(c *x509.Certificate) { c.IPAddresses = []net.IP{{192, 0, 2, 1}} }, nil, true, "not valid for any names"},
		{"client without name", root, nil, nil, false, "no subject alternative name"},
		{"usage of a client at the server", root, with(server, usage(x509.ExtKeyUsageClientAuth)), nil, true, "incompatible key usage"},
		{"usage of a server at the client", root, with(server, usage(x509.ExtKeyUsageServerAuth)), nil, false, "incompatible key usage"},
		{"usage for code", root, with(server, usage(x509.ExtKeyUsageCodeSigning)), nil, true, "incompatible key usage"},
		{"key usage without signatures", root, with(server, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement }), nil, true, "digitalSignature"},
		{"another root", other, server, nil, true, "unknown authority"},
		{"another root, sent along", other, server, [][]byte{other.cert.Raw}, true, "unknown authority"},
		{"signed by itself", nil, server, nil, false, "unknown authority"},
		{"missing intermediate", middle, server, nil, true, "unknown authority"},
		{"name outside of the constraints", limited, server, [][]byte{limited.cert.Raw}, true, "not permitted"},
		{"not a certificate", root, server, [][]byte{[]byte("\nfile\x00")}, true, "certificate 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair()
			bad, end := &p.client, &p.server
			if tt.server {
				bad, end = end, bad
			}
			bad.Chain = [][]byte{issue(t, tt.issuer, bad.Key, tt.change)}
			end.Roots = root.pool()
			var r result
			if len(tt.more) > 0 { // New would refuse to send it
				r = p.runWithChain(t, append(bad.Chain, tt.more...))
			} else {
				r = p.run(t, nil)
			}
			err, done := r.serverErr, r.serverDone
			if tt.server {
				err, done = r.clientErr, r.clientDone || r.serverDone
			}
			checkError(t, err, hostauth.ErrCertificate, tt.text)
			if done {
				t.Errorf("client done %v, server done %v", r.clientDone, r.serverDone)
			}
		})
	}
	t.Run("the cause", func(t *testing.T) {
		p := newPair()
		p.server.Chain = [][]byte{issue(t, other, p.server.Key, server)}
		p.client.Roots = root.pool()
		var cause x509.UnknownAuthorityError
		if err := p.run(t, nil).clientErr; !errors.As(err, &cause) {
			t.Errorf("%v does not wrap an x509.UnknownAuthorityError", err)
		}
	})
	t.Run("an address as ServerName", func(t *testing.T) {
		p := newPair()
		p.server.Chain = [][]byte{issue(t, root, p.server.Key, func(c *x509.Certificate) { c.IPAddresses = []net.IP{{192, 0, 2, 1}} })}
		p.client.Roots, p.client.ServerName = root.pool(), "192.0.2.1"
		r := p.run(t, nil)
		r.authentic(t, "client", "192.0.2.1")
	})
}

// limitedIssuer returns an authority for names below example only.
func limitedIssuer(t *testing.T, above *issuer) *issuer {
	t.Helper()
	key := ecKey(t, elliptic.P256())
	der := issue(t, above, key, func(c *x509.Certificate) {
		c.ExtKeyUsage, c.KeyUsage = nil, x509.KeyUsageCertSign
		c.IsCA, c.BasicConstraintsValid = true, true
		c.PermittedDNSDomainsCritical, c.PermittedDNSDomains = true, []string{"example"}
	})
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{cert, key}
}

// runWithChain runs an exchange in which the server sends a chain that New has not checked.
func (p *pair) runWithChain(t *testing.T, certs [][]byte) (r result) {
	t.Helper()
	m, err := New(&p.server)
	if err != nil {
		t.Fatal(err)
	}
	m.self.items = certs
	s, err := m.Start(p.serverInfo)
	if err != nil {
		t.Fatal(err)
	}
	c, err := end(t, &p.client, p.clientInfo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	step, err := c.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if step, err = s.Receive(step.Message); err != nil {
		t.Fatal(err)
	}
	_, r.clientErr = c.Receive(step.Message)
	_, r.clientDone = c.Peer()
	return r
}

// TestHugeKey: a certificate with a key that is slow to verify with is refused before it is used,
// wherever it stands in the chain.
func TestHugeKey(t *testing.T) {
	root := newIssuer(t, nil, "root")
	huge := &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), maxRSA+8, 1), E: 65537}
	der, err := x509.CreateCertificate(nil, &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now, NotAfter: now,
		IsCA: true, BasicConstraintsValid: true,
	}, root.cert, huge, root.key)
	if err != nil {
		t.Fatal(err)
	}
	p := newPair()
	p.client.Roots = root.pool()
	p.server.Chain = [][]byte{issue(t, root, p.server.Key, dns("server"))}
	r := p.runWithChain(t, append(p.server.Chain, der))
	checkError(t, r.clientErr, hostauth.ErrCertificate, "certificate 2: an RSA key of 8201 bits, expected 2048 to 8192")
}

// TestTrustAfterProof: an attacker without the key of an accepted host gets the same error as one
// with an unknown key, so that it cannot find out which keys are accepted.
func TestTrustAfterProof(t *testing.T) {
	for _, claimed := range []ed25519.PublicKey{public(edKey(9)), public(edKey(5))} {
		p := newPair()
		p.server.UnknownKey = func(ed25519.PublicKey) (string, error) {
			t.Error("UnknownKey was called for a peer without proof")
			return "", nil
		}
		p.server.Verify = func(hostauth.Peer, [][]*x509.Certificate) error {
			t.Error("Verify was called for a peer without proof")
			return nil
		}
		server, err := end(t, &p.server, p.serverInfo)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.Begin(); err != nil {
			t.Fatal(err)
		}
		sent := appendHello(nil, clientHello, &hello{identity: identity{bareKey, [][]byte{claimed}}})
		step, err := server.Receive(sent)
		if err != nil {
			t.Fatal(err)
		}
		_, of := part(t, step.Message)
		signature := bytes.Repeat([]byte{1}, ed25519.SignatureSize)
		_, err = server.Receive(appendProof(appendHeader(nil, clientProof), &proof{of.digests, signature}))
		checkError(t, err, hostauth.ErrSignature, "the client has not proved")
	}
}
