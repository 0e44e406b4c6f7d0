package pubkey

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// now is the time of all exchanges in tests.
var now = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)

func clock() time.Time { return now }

// edKey returns the Ed25519 key number n.
func edKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func ecKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// rsaKey is made once, since it takes long.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, minRSA)
	if err != nil {
		panic(err)
	}
	return key
})

// issuer is a certificate authority.
type issuer struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func (a *issuer) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

var serial int64

// issue returns the certificate of a key. The issuer nil stands for the key itself.
func issue(t testing.TB, a *issuer, key crypto.Signer, change func(*x509.Certificate)) []byte {
	t.Helper()
	serial++
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: "common name"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(tmpl)
	}
	parent, signer := tmpl, key
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// newIssuer returns an authority below another one, or a root if that is nil.
func newIssuer(t testing.TB, above *issuer, name string) *issuer {
	t.Helper()
	key := ecKey(t, elliptic.P256())
	der := issue(t, above, key, func(c *x509.Certificate) {
		c.Subject.CommonName, c.ExtKeyUsage = name, nil
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{cert, key}
}

// dns sets the DNS name of a certificate.
func dns(name string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.DNSNames = []string{name} }
}

// pair is the configuration and the connection of both ends.
type pair struct {
	client, server         Config
	clientInfo, serverInfo hostauth.Info
}

// newPair returns ends with Ed25519 keys that accept each other, on a connection with properties
// and a channel binding.
func newPair() *pair {
	binding := hostauth.Binding{Type: "tls-exporter", Data: []byte("binding")}
	return &pair{
		client: Config{
			Key: edKey(1), Keys: map[string]ed25519.PublicKey{"server": public(edKey(2)), "other": public(edKey(9))},
			ServerName: "server", Time: clock,
		},
		server: Config{
			Key: edKey(2), Keys: map[string]ed25519.PublicKey{"client": public(edKey(1)), "other": public(edKey(9))}, Time: clock,
		},
		clientInfo: hostauth.Info{Role: hostauth.Client, Binding: binding, Sent: []byte("client properties"), Received: []byte("server properties")},
		serverInfo: hostauth.Info{Role: hostauth.Server, Binding: binding, Sent: []byte("server properties"), Received: []byte("client properties")},
	}
}

// end starts an exchange at one end.
func end(t testing.TB, cfg *Config, info hostauth.Info) (*hostauth.Session, error) {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return hostauth.NewSession(m, info, hostauth.Limits{})
}

// result is the outcome of an exchange.
type result struct {
	client, server       hostauth.Peer // as seen by the other end
	clientDone           bool
	serverDone           bool
	clientErr, serverErr error
	messages             [][]byte // as delivered
}

// run carries the messages between the ends. change, unless nil, returns the message to deliver in
// place of message number n, from 0.
func (p *pair) run(t testing.TB, change func(n int, msg []byte) []byte) (r result) {
	t.Helper()
	client, err := end(t, &p.client, p.clientInfo)
	if err != nil {
		return result{clientErr: err}
	}
	server, err := end(t, &p.server, p.serverInfo)
	if err != nil {
		return result{serverErr: err}
	}
	if _, r.serverErr = server.Begin(); r.serverErr != nil {
		return r
	}
	step, err := client.Begin()
	r.clientErr = err
	for n := 0; err == nil && step.Send; n++ {
		msg := step.Message
		if change != nil {
			msg = change(n, bytes.Clone(msg))
		}
		r.messages = append(r.messages, bytes.Clone(msg))
		if n%2 == 0 {
			step, err = server.Receive(msg)
			r.serverErr = err
		} else {
			step, err = client.Receive(msg)
			r.clientErr = err
		}
		clear(msg) // the ends must not use it any more
	}
	r.server, r.clientDone = client.Peer()
	r.client, r.serverDone = server.Peer()
	return r
}

// checkError checks the kind and the text of an error, and that it shows neither control
// characters nor private keys.
func checkError(t *testing.T, err, kind error, text string) {
	t.Helper()
	var e *hostauth.Error
	if !errors.As(err, &e) || !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %v with %q", err, kind, text)
		return
	}
	got := err.Error()
	if i := strings.IndexFunc(got, unicode.IsControl); i >= 0 || len(got) > 600 {
		t.Errorf("%d bytes, control character at %d: %q", len(got), i, got)
	}
	for n := range byte(10) {
		seed := edKey(n).Seed()
		for _, secret := range []string{string(seed), hex.EncodeToString(seed), base64.StdEncoding.EncodeToString(seed)[:40]} {
			if strings.Contains(got, secret) {
				t.Errorf("private key %d is in %q", n, got)
			}
		}
	}
}

// authentic checks that both ends accepted each other.
func (r *result) authentic(t *testing.T, client, server string) {
	t.Helper()
	if r.clientErr != nil || r.serverErr != nil || !r.clientDone || !r.serverDone {
		t.Fatalf("client: %v, done %v; server: %v, done %v", r.clientErr, r.clientDone, r.serverErr, r.serverDone)
	}
	if r.client.Name != client || r.server.Name != server || r.client.Method != "pubkey" || r.server.Method != "pubkey" {
		t.Errorf("client %q by %q, server %q by %q, want %q and %q", r.client.Name, r.client.Method, r.server.Name, r.server.Method, client, server)
	}
}
