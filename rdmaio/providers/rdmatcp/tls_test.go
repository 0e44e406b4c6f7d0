package rdmatcp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

func TestAcceptanceTLS(t *testing.T) {
	config := tlstest.NewAuthority(t).Config()
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		cfg := &rdmatcp.Config{ReceiveTimeout: 20 * time.Millisecond, TLS: config}
		return verbstest.Fabric{Client: open(t, cfg), Server: open(t, cfg), Addr: local, Remove: remove}
	})
}

// dialed has both ends of a connection through Dial and Listen.
type dialed struct {
	client, server *victim
	dialErr        error
	acceptErr      error
}

// connect connects two devices through a listener, which stays open until the test ends. If the
// client fails, the server is not waited for.
func connect(t testing.TB, client, server *rdmatcp.Device) dialed {
	t.Helper()
	ln, err := server.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return connectTo(t, client, server, ln, ln.Addr())
}

func connectTo(t testing.TB, client, server *rdmatcp.Device, ln verbs.Listener, addr string) dialed {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d := dialed{client: &victim{newSide(t, client), t}, server: &victim{newSide(t, server), t}}
	done := make(chan error, 1)
	go func() {
		req, err := ln.Accept(ctx)
		if err == nil {
			_, err = req.Accept(ctx, d.server.qp, nil)
		}
		done <- err
	}()
	if _, d.dialErr = client.Dial(ctx, addr, d.client.qp, nil); d.dialErr != nil {
		cancel()
	}
	d.acceptErr = <-done
	return d
}

func (d dialed) must(t testing.TB) dialed {
	t.Helper()
	if d.dialErr != nil || d.acceptErr != nil {
		t.Fatalf("dial: %v; accept: %v", d.dialErr, d.acceptErr)
	}
	return d
}

// Dial and Listen use TLS 1.3, with the host of the address as the server's name. Both ends have
// the other's certificate and the same channel binding (RFC 9266).
func TestTLSNamesTheServer(t *testing.T) {
	a := tlstest.NewAuthority(t)
	named := func(name string) *tls.Config {
		c := a.Config()
		c.Certificates = []tls.Certificate{a.Issue(func(c *x509.Certificate) { c.Subject.CommonName = name })}
		return c
	}
	clientTLS, serverTLS := named("client"), named("server")
	before := []*tls.Config{clientTLS.Clone(), serverTLS.Clone()}
	d := connect(t, device(t, &rdmatcp.Config{TLS: clientTLS}), device(t, &rdmatcp.Config{TLS: serverTLS})).must(t)

	var states []verbs.TLSState
	var bindings [][]byte
	for i, v := range []*victim{d.client, d.server} {
		state, err := verbs.TLSStateOf(v.qp)
		if err != nil || len(state.PeerCertificates) != 1 {
			t.Fatalf("%+v, %v", state, err)
		}
		peer, err := x509.ParseCertificate(state.PeerCertificates[0])
		if want := []string{"server", "client"}[i]; err != nil || peer.Subject.CommonName != want {
			t.Errorf("peer %v, %v, want %s", peer.Subject, err, want)
		}
		state.PeerCertificates = nil
		states = append(states, state)
		binding, err := verbs.BindingOf(v.qp)
		if err != nil || binding.Type != "tls-exporter" {
			t.Errorf("%+v, %v", binding, err)
		}
		bindings = append(bindings, binding.Data)
	}
	want := verbs.TLSState{Version: "TLS 1.3", CipherSuite: states[0].CipherSuite, Protocol: rdmatcp.ALPN, Verified: true}
	if diff := cmp.Diff([]verbs.TLSState{want, want}, states); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(bindings[0], bindings[1]) || len(bindings[0]) != 32 {
		t.Errorf("bindings %x", bindings)
	}
	exchange(t, d.client, d.server)
	for i, c := range []*tls.Config{clientTLS, serverTLS} {
		if b := before[i]; c.MinVersion != b.MinVersion || len(c.NextProtos) != 0 || c.ServerName != "" || c.ClientSessionCache != nil || c.Renegotiation != b.Renegotiation {
			t.Errorf("the configuration of the caller was changed: %+v", c)
		}
	}
}

// An earlier version is used if both ends allow it. It has a TLSState, and no channel binding.
func TestTLSVersions(t *testing.T) {
	a := tlstest.NewAuthority(t)
	old := a.Config()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	d := connect(t, device(t, &rdmatcp.Config{TLS: old}), device(t, &rdmatcp.Config{TLS: old})).must(t)
	if state, err := verbs.TLSStateOf(d.client.qp); err != nil || state.Version != "TLS 1.2" {
		t.Errorf("%+v, %v", state, err)
	}
	if b, err := verbs.BindingOf(d.client.qp); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("binding %+v, %v", b, err)
	}
	exchange(t, d.client, d.server)
}

// A name is sent to the server, which may choose its configuration by it. What that leaves open has
// the same defaults.
func TestTLSServerName(t *testing.T) {
	a := tlstest.NewAuthority(t)
	chosen := a.Config()
	server := &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		if h.ServerName != "server.example" {
			return nil, nil
		}
		return chosen, nil
	}}
	client := a.Config()
	client.ServerName = "server.example"
	d := connect(t, device(t, &rdmatcp.Config{TLS: client}), device(t, &rdmatcp.Config{TLS: server})).must(t)
	state, err := verbs.TLSStateOf(d.server.qp)
	if err != nil || state.ServerName != "server.example" || state.Protocol != rdmatcp.ALPN || !state.Verified {
		t.Errorf("%+v, %v", state, err)
	}
	if len(chosen.NextProtos) != 0 || chosen.MinVersion != 0 {
		t.Error("the configuration of the caller was changed")
	}
}

// A device resumes sessions of the same server, also with certificates of clients. Each connection
// has its own channel binding.
func TestTLSResumption(t *testing.T) {
	cfg := &rdmatcp.Config{TLS: tlstest.NewAuthority(t).Config()}
	client, server := device(t, cfg), device(t, cfg)
	var last []byte
	for i := range 3 {
		d := connect(t, client, server).must(t)
		exchange(t, d.client, d.server) // the ticket comes before the server's answer
		for _, v := range []*victim{d.client, d.server} {
			state, err := verbs.TLSStateOf(v.qp)
			if err != nil || state.Resumed != (i > 0) || !state.Verified || len(state.PeerCertificates) != 1 {
				t.Errorf("connection %d: %+v, %v", i, state, err)
			}
		}
		b, err := verbs.BindingOf(d.client.qp)
		if err != nil || bytes.Equal(b.Data, last) {
			t.Errorf("connection %d: binding %x, %v, before %x", i, b.Data, err, last)
		}
		last = b.Data
	}
}

// Misuse is an error of Open or Listen, not of each connection.
func TestTLSMisuse(t *testing.T) {
	if _, err := rdmatcp.Open(&rdmatcp.Config{TLS: &tls.Config{MaxVersion: tls.VersionTLS12}}); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("no version: %v", err)
	}
	d := device(t, &rdmatcp.Config{TLS: &tls.Config{}})
	if _, err := d.Listen(context.Background(), local); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Errorf("no certificate: %v", err)
	}
}

// The streams of DialConn and AcceptConn stay as they are: Config.TLS does not apply.
func TestTLSOtherStreams(t *testing.T) {
	a, b := net.Pipe()
	c, s := over(t, &rdmatcp.Config{TLS: tlstest.NewAuthority(t).Config()}, a, b)
	if _, err := verbs.TLSStateOf(c.qp); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("%v, want %v", err, verbs.ErrNotSupported)
	}
	exchange(t, c, s)
}
