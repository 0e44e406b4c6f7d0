// Package tlstest makes certificates and TLS configurations for tests. They are valid for an hour
// around the time at which they are made, so that no file of the repository expires.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates.
type Authority struct {
	Pool *x509.CertPool // has the authority alone
	tb   testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns an authority with a new key.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{Pool: x509.NewCertPool(), tb: tb}
	cert := a.Issue(func(c *x509.Certificate) {
		c.Subject.CommonName = "authority " + c.SerialNumber.String()
		c.IsCA, c.BasicConstraintsValid = true, true
		c.KeyUsage = x509.KeyUsageCertSign
		c.IPAddresses, c.DNSNames, c.ExtKeyUsage = nil, nil, nil
	})
	a.cert, a.key = cert.Leaf, cert.PrivateKey.(*ecdsa.PrivateKey)
	a.Pool.AddCert(a.cert)
	return a
}

// Issue returns a certificate for 127.0.0.1 and the name server.example, for clients and for
// servers. change alters the template, if not nil.
func (a *Authority) Issue(change func(*x509.Certificate)) tls.Certificate {
	a.tb.Helper()
	must := func(err error) {
		if err != nil {
			a.tb.Fatal(err)
		}
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"server.example"},
	}
	if change != nil {
		change(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	must(err)
	leaf, err := x509.ParseCertificate(der)
	must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Config returns a configuration for both roles, with a certificate of the authority. A server of
// it requires a certificate of the client.
func (a *Authority) Config() *tls.Config {
	a.tb.Helper()
	return &tls.Config{
		Certificates: []tls.Certificate{a.Issue(nil)}, RootCAs: a.Pool, ClientCAs: a.Pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// Write writes the authority's certificate, and one that it issues with its key, to PEM files in a
// temporary folder.
func (a *Authority) Write(change func(*x509.Certificate)) (ca, cert, key string) {
	a.tb.Helper()
	dir := a.tb.TempDir()
	issued := a.Issue(change)
	private, err := x509.MarshalPKCS8PrivateKey(issued.PrivateKey)
	if err != nil {
		a.tb.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			a.tb.Fatal(err)
		}
		return path
	}
	return write("ca.pem", "CERTIFICATE", a.cert.Raw), write("cert.pem", "CERTIFICATE", issued.Certificate[0]), write("key.pem", "PRIVATE KEY", private)
}
