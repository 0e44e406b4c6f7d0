package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A handler has the certificate of the client whose Call it serves. A Client that connects again
// resumes the TLS session, and the handler still has the certificate.
func TestHandlerHasTheCertificate(t *testing.T) {
	a := tlstest.NewAuthority(t)
	open := func(name string) *rdmatcp.Device {
		config := a.Config()
		config.Certificates = []tls.Certificate{a.Issue(func(c *x509.Certificate) { c.Subject.CommonName = name })}
		return rdmaiotest.Opened(t, func() (*rdmatcp.Device, error) { return rdmatcp.Open(&rdmatcp.Config{TLS: config}) })
	}
	type seen struct {
		name    string
		resumed bool
		conn    *rdmaio.Conn
	}
	calls := make(chan seen, 1)
	handler := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		s := seen{conn: r.Conn().(*rdmaio.Conn)}
		if state := r.Conn().Peer().TLS; state != nil && state.Verified {
			peer, err := x509.ParseCertificate(state.PeerCertificates[0])
			if err != nil {
				t.Error(err)
			} else {
				s.name, s.resumed = peer.Subject.CommonName, state.Resumed
			}
		}
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
		calls <- s
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	server, err := rdmaio.Listen(ctx, open("server"), "127.0.0.1:0", handler, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := rdmaio.NewClient(open("host7"), server.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range 3 {
		if _, err := client.Call(ctx, rpctest.NullCall(client.XID(), 40)); err != nil {
			t.Fatal(err)
		}
		s := <-calls
		if s.name != "host7" || s.resumed != (i > 0) {
			t.Errorf("call %d: client %q, resumed %v", i, s.name, s.resumed)
		}
		if err := s.conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := client.Stats().Connects; got != 3 {
		t.Errorf("%d connections, want 3", got)
	}
}

// Where the two ends do not agree on TLS, a Call of a Client fails at once with the reason, even
// with WaitForServer: another attempt would have the same.
func TestTLSDisagreementFailsAtOnce(t *testing.T) {
	open := func() *rdmatcp.Device {
		config := tlstest.NewAuthority(t).Config() // each has its own authority
		return rdmaiotest.Opened(t, func() (*rdmatcp.Device, error) { return rdmatcp.Open(&rdmatcp.Config{TLS: config}) })
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	server, err := rdmaio.Listen(ctx, open(), "127.0.0.1:0", rdmaio.HandlerFunc(func(*rdmaio.Request) {}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := rdmaio.NewClient(open(), server.Addr(), &rdmaio.ClientConfig{WaitForServer: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Call(ctx, rpctest.NullCall(client.XID(), 40))
	var untrusted *tls.CertificateVerificationError
	if !errors.As(err, &untrusted) || !strings.Contains(err.Error(), "Config.TLS.RootCAs") || ctx.Err() != nil {
		t.Errorf("%v, want the reason at once", err)
	}
}

// If the two ends differ in TLS, or in the protocol inside it, either provider's error says so.
func TestProvidersNameADifferenceInTLS(t *testing.T) {
	config := tlstest.NewAuthority(t).Config()
	open := func(kind string) verbs.Device {
		switch kind {
		case "iwarp":
			return rdmaiotest.Opened(t, func() (*iwarp.Device, error) { return iwarp.Open(nil) })
		case "iwarp TLS":
			return rdmaiotest.Opened(t, func() (*iwarp.Device, error) { return iwarp.Open(&iwarp.Config{TLS: config}) })
		case "rdmatcp TLS":
			return rdmaiotest.Opened(t, func() (*rdmatcp.Device, error) { return rdmatcp.Open(&rdmatcp.Config{TLS: config}) })
		}
		return rdmaiotest.Opened(t, openTCP)
	}
	for _, tt := range []struct{ client, server, want string }{
		{"iwarp TLS", "iwarp TLS", ""},
		{"iwarp", "iwarp TLS", "the peer speaks TLS, and this side does not"},
		{"iwarp TLS", "iwarp", "it may have no TLS at this address"},
		{"rdmatcp", "iwarp TLS", "the peer speaks TLS, and this side does not"},
		{"iwarp", "rdmatcp TLS", "the peer speaks TLS, and this side does not"},
		{"rdmatcp TLS", "iwarp TLS", `the peer speaks none of the application protocols ["rdmatcp"]`},
		{"iwarp TLS", "rdmatcp TLS", `the peer speaks none of the application protocols ["iwarp"]`},
	} {
		t.Run(tt.client+" to "+tt.server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			server, err := rdmaio.Listen(ctx, open(tt.server), "127.0.0.1:0", rdmaio.HandlerFunc(func(*rdmaio.Request) {}), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			conn, err := rdmaio.Dial(ctx, open(tt.client), server.Addr(), nil)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if state := conn.Peer().TLS; state == nil || state.Protocol != iwarp.ALPN {
				t.Errorf("%+v", state)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
