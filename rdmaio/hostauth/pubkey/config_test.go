package pubkey

import (
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

func TestNewRefuses(t *testing.T) {
	root := newIssuer(t, nil, "root")
	own := issue(t, root, edKey(1), dns("host"))
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*Config)
		text   string
	}{
		{"no key", func(c *Config) { c.Key = nil }, "Config.Key is missing"},
		{"a short Ed25519 key", func(c *Config) { c.Key = edKey(1)[:40] }, "an Ed25519 private key of 40 bytes, expected 64"},
		{"a bare ECDSA key", func(c *Config) { c.Key = ecKey(t, elliptic.P256()) }, "only an Ed25519 key can do without a certificate"},
		{"P-224", func(c *Config) { c.Key = ecKey(t, elliptic.P224()) }, "curve P-224"},
		{"RSA of 1024 bits", func(c *Config) { c.Key = short }, "an RSA key of 1024 bits, expected 2048 to 8192"},
		{"a chain of another key", func(c *Config) { c.Key, c.Chain = edKey(2), [][]byte{own} }, "not of Config.Key"},
		{"a chain of another kind of key", func(c *Config) { c.Key, c.Chain = rsaKey(), [][]byte{own} }, "not of Config.Key"},
		{"a chain in the wrong order", func(c *Config) { c.Chain = [][]byte{root.cert.Raw, own} }, "put the certificate of the host first"},
		{"not a certificate", func(c *Config) { c.Chain = [][]byte{own, []byte("PEM?")} }, "certificate 2"},
		{"9 certificates", func(c *Config) { c.Chain = slices.Repeat([][]byte{own}, 9) }, "9 certificates"},
		{"32 KiB of certificates", func(c *Config) { c.Chain = [][]byte{own, make([]byte, 32<<10)} }, "at most 8 and 32768"},
		{"no peer to accept", func(c *Config) { c.Keys = nil }, "set Keys, UnknownKey or Roots"},
		{"a short key to accept", func(c *Config) { c.Keys["a"] = c.Keys["server"][:31] }, `the key of "a" has 31 bytes`},
		{"two names of a key", func(c *Config) { c.Keys["a"] = c.Keys["server"] }, `"a" and "server" have the same key`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := newPair().client
			tt.change(&cfg)
			_, err := New(&cfg)
			checkError(t, err, hostauth.ErrLocal, tt.text)
		})
	}
	_, err = New(nil)
	checkError(t, err, hostauth.ErrLocal, "Config.Key is missing")
}

// TestConfigCopied: New copies the map and the fields of the Config.
func TestConfigCopied(t *testing.T) {
	p := newPair()
	m, err := New(&p.server)
	if err != nil {
		t.Fatal(err)
	}
	clear(p.server.Keys)
	p.server.Keys, p.server.Key = map[string]ed25519.PublicKey{}, nil
	if got := m.names[[32]byte(public(edKey(1)))]; got != "client" || m.cfg.Key == nil {
		t.Errorf("name %q, key %v", got, m.cfg.Key != nil)
	}
}

// TestDefaultsAreThoseOfTheProcess: the defaults are the clock and the randomness of this process.
func TestDefaultsAreThoseOfTheProcess(t *testing.T) {
	root := newIssuer(t, nil, "root")
	p := newPair()
	p.server.Roots, p.server.Time = root.pool(), nil
	p.client.Chain = [][]byte{issue(t, root, p.client.Key, func(c *x509.Certificate) {
		dns("client")(c)
		c.NotBefore = now.AddDate(1000, 0, 0)
		c.NotAfter = c.NotBefore.AddDate(1, 0, 0)
	})}
	first, second := p.run(t, nil), p.run(t, nil)
	checkError(t, first.serverErr, hostauth.ErrCertificate, "is before")
	if n, m := string(first.messages[0][4:36]), string(second.messages[0][4:36]); n == m || n == string(make([]byte, 32)) {
		t.Errorf("client nonces %x and %x", n, m)
	}
}
