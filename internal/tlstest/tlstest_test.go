package tlstest_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
)

// Both ends of a configuration accept each other, and another authority is not accepted.
func TestConfig(t *testing.T) {
	own, other := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	for _, tt := range []struct {
		server *tls.Config
		ok     bool
	}{{own.Config(), true}, {other.Config(), false}} {
		client := own.Config()
		client.ServerName = "server.example"
		a, b := net.Pipe()
		go tls.Server(b, tt.server).Handshake()
		err := tls.Client(a, client).Handshake()
		a.Close()
		b.Close()
		if (err == nil) != tt.ok {
			t.Errorf("handshake: %v, want success %v", err, tt.ok)
		}
	}
}

// The files have the pair that Go reads, and the authority.
func TestWrite(t *testing.T) {
	ca, cert, key := tlstest.NewAuthority(t).Write(func(c *x509.Certificate) { c.Subject.CommonName = "host7" })
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil || pair.Leaf.Subject.CommonName != "host7" {
		t.Errorf("%v, %v", pair.Leaf, err)
	}
	b, err := os.ReadFile(ca)
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(b) {
		t.Errorf("%q, %v", b, err)
	}
}
