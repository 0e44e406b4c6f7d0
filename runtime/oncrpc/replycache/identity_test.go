package replycache_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// twoAddresses starts a server over TCP at every address of this machine. dial connects from one of
// two hosts, as the server sees it, and closes the connection before of that test at the server.
func twoAddresses(t *testing.T, h oncrpc.Handler, cfg *tcp.Config) (dial func(host string, cfg *tcp.Config) *tcp.Conn) {
	t.Helper()
	s, err := tcp.Listen(t.Context(), "[::]:0", h, cfg)
	closes(t, s, err)
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	var before *tcp.Conn
	return func(host string, cfg *tcp.Config) *tcp.Conn {
		t.Helper()
		if before != nil {
			_ = before.Close()
			for deadline := time.Now().Add(leak.Patience()); len(s.Conns()) > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the connection is still up")
				}
			}
		}
		c, err := tcp.Dial(t.Context(), net.JoinHostPort(host, port), cfg)
		closes(t, c, err)
		before = c
		return c
	}
}

const (
	host4 = "127.0.0.1"
	host6 = "::1"
)

// Over TLS the verified certificate of a client is its identity: the same Call from another address
// has the reply, and the same Call of another certificate from the same address is executed. A
// client without a certificate is its host (R288).
func TestCertificateIsTheClientOverTLS(t *testing.T) {
	a := tlstest.NewAuthority(t)
	issue := func(name string) []tls.Certificate {
		return []tls.Certificate{a.Issue(func(c *x509.Certificate) { c.Subject.CommonName = name })}
	}
	alice, bob := issue("alice"), issue("bob")
	config := a.Config()
	config.ClientAuth = tls.VerifyClientCertIfGiven
	dial := twoAddresses(t, replycache.New(newHandler(), nil), &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: config}, Logger: quiet})
	for i, tt := range []struct {
		host string
		cert []tls.Certificate
		want uint32
	}{
		{host4, alice, 1}, {host6, alice, 1}, {host4, bob, 2}, {host6, bob, 2}, {host4, alice, 1},
		{host4, nil, 3}, {host6, nil, 4}, {host4, nil, 3},
	} {
		config := a.Config()
		config.Certificates, config.ServerName = tt.cert, "server.example"
		c := dial(tt.host, &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: config}, Logger: quiet})
		if got := call(t, sameXID{c}, 1); got != tt.want {
			t.Errorf("Call %d, from %s: execution %d, want %d", i, tt.host, got, tt.want)
		}
	}
}

// With RPCSEC_GSS the principal of a Call is its client, whatever the address, the context and its
// sequence numbers are (R288).
func TestPrincipalIsTheClientOverTCP(t *testing.T) {
	realm := gsstest.NewRealm(1)
	dial := twoAddresses(t, gss.NewHandler(replycache.New(newHandler(), nil), realm.Acceptor(), nil), &tcp.Config{Logger: quiet})
	for i, tt := range []struct {
		host, user string
		want       uint32
	}{{host4, "alice", 1}, {host6, "alice", 1}, {host6, "bob", 2}, {host4, "bob", 2}, {host4, "alice", 1}} {
		secure, err := gss.NewCarrier(sameXID{dial(tt.host, &tcp.Config{Logger: quiet})}, realm.Initiator(tt.user, "server"), &gss.CarrierConfig{Service: gss.Integrity})
		if err != nil {
			t.Fatal(err)
		}
		if got := call(t, secure, 1); got != tt.want {
			t.Errorf("Call %d, of %s from %s: execution %d, want %d", i, tt.user, tt.host, got, tt.want)
		}
		ctx, stop := context.WithTimeout(context.Background(), leak.Patience())
		_ = secure.Close(ctx)
		stop()
	}
}

// Over UDP each socket is a client: a Call that comes again from its port has the reply at once,
// and the same Call from another port of the host is executed at once (R288).
func TestSocketIsTheClientOverUDP(t *testing.T) {
	s, err := udp.Listen(t.Context(), "127.0.0.1:0", replycache.New(newHandler(), nil), &udp.Config{Logger: quiet})
	closes(t, s, err)
	conns := make([]*udp.Conn, 2)
	for i := range conns {
		conns[i], err = udp.Dial(t.Context(), s.Addr(), nil)
		closes(t, conns[i], err)
	}
	for round := range 3 {
		for i, c := range conns {
			if got, want := call(t, sameXID{c}, 1), uint32(i+1); got != want {
				t.Errorf("round %d, socket %d: execution %d, want %d", round, i, got, want)
			}
		}
	}
}
