package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/certs"
)

// host has the files of one host.
type host struct {
	t             *testing.T
	ca, cert, key string
}

// newHost writes the files of a host with a certificate of an authority.
func newHost(t *testing.T, a *tlstest.Authority, name string) *host {
	h := &host{t: t}
	h.ca, h.cert, h.key = a.Write(named(name))
	return h
}

func named(name string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.Subject.CommonName = name }
}

// renew replaces the certificate and the key by others of an authority.
func (h *host) renew(a *tlstest.Authority, name string) {
	_, cert, key := a.Write(named(name))
	h.copy(cert, h.cert)
	h.copy(key, h.key)
}

// trust replaces the authorities.
func (h *host) trust(a *tlstest.Authority) {
	ca, _, _ := a.Write(nil)
	h.copy(ca, h.ca)
}

func (h *host) copy(from, to string) {
	h.t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) write(to, content string) {
	h.t.Helper()
	if err := os.WriteFile(to, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// open opens the files, with both roles.
func (h *host) open(change func(*certs.Config)) *certs.Files {
	h.t.Helper()
	cfg := &certs.Config{Cert: h.cert, Key: h.key, CA: h.ca, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(cfg)
	}
	f, err := certs.Open(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	return f
}

// ends is the outcome of a handshake.
type ends struct {
	server, client tls.ConnectionState
	err            error // of either
}

// peers returns the names in the certificates that the client and the server have seen.
func (e *ends) peers() string {
	name := func(s tls.ConnectionState) string {
		if len(s.PeerCertificates) == 0 {
			return "none"
		}
		return s.PeerCertificates[0].Subject.CommonName
	}
	return name(e.client) + " " + name(e.server)
}

// handshake makes a connection over TCP.
func handshake(t *testing.T, server, client *tls.Config) *ends {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	a, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return handshakeOver(a, b, server, client)
}

// handshakeOver makes a connection over a stream, and sends a byte to the client so that it gets
// its ticket. A net.Pipe has no room for the alerts of handshakes that fail.
func handshakeOver(a, b net.Conn, server, client *tls.Config) *ends {
	client = client.Clone()
	client.ServerName = "server.example"
	defer a.Close()
	served := make(chan error, 1)
	s, c := tls.Server(b, server), tls.Client(a, client)
	go func() {
		defer b.Close()
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte{1})
		}
		served <- err
	}()
	err := c.Handshake()
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	a.Close()
	e := &ends{err: errors.Join(err, <-served)}
	e.server, e.client = s.ConnectionState(), c.ConnectionState()
	return e
}

// piped makes a connection that works on the clock of synctest.
func piped(server, client *tls.Config) *ends {
	a, b := net.Pipe()
	return handshakeOver(a, b, server, client)
}

// A server takes a certificate that replaces its own when Interval is over, and not before, and
// Reload takes it at once. A client does the same.
func TestCertificateIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := tlstest.NewAuthority(t)
		s, c := newHost(t, a, "server1"), newHost(t, a, "client1")
		sf, cf := s.open(nil), c.open(func(cfg *certs.Config) { cfg.Interval = time.Minute })
		server, client := sf.TLS(), cf.TLS()
		check := func(want string) {
			t.Helper()
			if e := piped(server, client); e.err != nil || e.peers() != want {
				t.Errorf("client and server see %s, want %s: %v", e.peers(), want, e.err)
			}
		}
		check("server1 client1")
		s.renew(a, "server2")
		c.renew(a, "client2")
		time.Sleep(5*time.Second - 1)
		check("server1 client1")
		time.Sleep(1)
		check("server2 client1")
		if err := cf.Reload(); err != nil {
			t.Error(err)
		}
		check("server2 client2")
		c.renew(a, "client3")
		time.Sleep(time.Minute - 1) // Reload has postponed the next look
		check("server2 client2")
		time.Sleep(1)
		check("server2 client3")
	})
}

// With a negative Interval only Reload looks at the files.
func TestOnlyReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := tlstest.NewAuthority(t)
		s, c := newHost(t, a, "server1"), newHost(t, a, "client1")
		files := s.open(func(cfg *certs.Config) { cfg.Interval = -1 })
		s.renew(a, "server2")
		time.Sleep(time.Hour / 2)
		if e := piped(files.TLS(), c.open(nil).TLS()); e.peers() != "server1 client1" {
			t.Errorf("%s, %v", e.peers(), e.err)
		}
		if err := files.Reload(); err != nil {
			t.Error(err)
		}
		if e := piped(files.TLS(), c.open(nil).TLS()); e.peers() != "server2 client1" {
			t.Errorf("%s, %v", e.peers(), e.err)
		}
	})
}

// A server whose authorities are replaced refuses the clients of the old ones, those that resume a
// session too, and accepts clients of the new ones.
func TestAuthoritiesAreReplaced(t *testing.T) {
	a, b := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	s, c := newHost(t, a, "server"), newHost(t, a, "client")
	files := s.open(nil)
	server, client := files.TLS(), c.open(nil).TLS()
	client.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	if e := handshake(t, server, client); e.err != nil || e.server.DidResume || len(e.server.VerifiedChains) == 0 {
		t.Fatalf("%v, resumed %v", e.err, e.server.DidResume)
	}
	if e := handshake(t, server, client); e.err != nil || !e.server.DidResume || !e.client.DidResume {
		t.Errorf("not resumed: %v", e.err)
	}
	s.trust(b)
	if err := files.Reload(); err != nil {
		t.Fatal(err)
	}
	if e := handshake(t, server, client); e.err == nil || !strings.Contains(e.err.Error(), "certificate") {
		t.Errorf("a client of the old authority: %v, resumed %v", e.err, e.server.DidResume)
	}
	c.renew(b, "client2")
	if e := handshake(t, server, c.open(nil).TLS()); e.err != nil || e.peers() != "server client2" {
		t.Errorf("a client of the new authority: %v", e.err)
	}
	if e := handshake(t, files.TLS(), server); e.err == nil { // RootCAs as before the change
		t.Error("a client that trusts the old authority reached a server of the new one")
	}
}

// lines is a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// take returns the messages of the log, and empties it.
func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	var all []string
	for line := range strings.Lines(l.b.String()) {
		_, msg, _ := strings.Cut(line, "certs: ")
		msg, _, _ = strings.Cut(msg, `"`)
		all = append(all, msg)
	}
	return strings.Join(all, "|")
}

const (
	kept  = "a file cannot be used, what it had before stays in use"
	again = "the files can be used again"
	fresh = "the certificate was replaced"
)

// A file that is missing, half written or wrong leaves the certificate and the authorities as they
// were. It is logged once, and so is the end.
func TestWrongFilesChangeNothing(t *testing.T) {
	a, other := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	_, otherCert, otherKey := other.Write(named("other"))
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	half := func(s string) string { return s[:len(s)/2] }
	for name, spoil := range map[string]func(h *host) (field string){
		"certificate of another key": func(h *host) string { h.write(h.cert, read(otherCert)); return "Key" },
		"key of another certificate": func(h *host) string { h.write(h.key, read(otherKey)); return "Key" },
		"no certificate":             func(h *host) string { os.Remove(h.cert); return "Cert" },
		"no key":                     func(h *host) string { os.Remove(h.key); return "Key" },
		"empty certificate":          func(h *host) string { h.write(h.cert, ""); return "Cert" },
		"half a certificate":         func(h *host) string { h.write(h.cert, half(read(h.cert))); return "Cert" },
		"half a key":                 func(h *host) string { h.write(h.key, half(read(h.key))); return "Cert" },
		"half a chain": func(h *host) string {
			h.write(h.cert, read(h.cert)+half(read(h.ca)))
			return "Cert"
		},
		"no authorities":    func(h *host) string { os.Remove(h.ca); return "CA" },
		"empty authorities": func(h *host) string { h.write(h.ca, "\n"); return "CA" },
		"half an authority": func(h *host) string { h.write(h.ca, read(h.ca)+half(read(h.ca))); return "CA" },
		"wrong authority": func(h *host) string {
			h.write(h.ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})))
			return "CA"
		},
		"a folder":     func(h *host) string { os.Remove(h.cert); os.Mkdir(h.cert, 0o700); return "Cert" },
		"far too long": func(h *host) string { h.write(h.ca, read(h.ca)+strings.Repeat("\n", 1<<20)); return "CA" },
	} {
		t.Run(name, func(t *testing.T) {
			h, c := newHost(t, a, "server1"), newHost(t, a, "client")
			whole := map[string]string{h.cert: read(h.cert), h.key: read(h.key), h.ca: read(h.ca)}
			log := new(lines)
			files := h.open(func(cfg *certs.Config) { cfg.Logger = slog.New(slog.NewTextHandler(log, nil)) })
			field := spoil(h)
			var fault *certs.Error
			for range 3 {
				if err := files.Reload(); !errors.As(err, &fault) || fault.Field != field || files.Err() == nil {
					t.Errorf("%v, field %+v, want %s", err, fault, field)
				}
			}
			if got := log.take(); got != kept {
				t.Errorf("logged %q", got)
			}
			if e := handshake(t, files.TLS(), c.open(nil).TLS()); e.err != nil || e.peers() != "server1 client" {
				t.Errorf("%v, %s", e.err, e.peers())
			}
			os.Remove(h.cert)
			for path, content := range whole {
				h.write(path, content)
			}
			if err := files.Reload(); err != nil || files.Err() != nil {
				t.Error(err)
			}
			if got := log.take(); got != again {
				t.Errorf("logged %q", got)
			}
			h.renew(a, "server2")
			if err := files.Reload(); err != nil {
				t.Error(err)
			}
			if got := log.take(); got != fresh {
				t.Errorf("logged %q", got)
			}
		})
	}
}

// A fault of the pair does not keep the authorities from being replaced, nor the other way round.
func TestPairAndAuthoritiesAreSeparate(t *testing.T) {
	a, b := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	h, c := newHost(t, a, "server1"), newHost(t, b, "client")
	c.trust(a)
	files := h.open(nil)
	h.write(h.key, "")
	h.trust(b)
	if err := files.Reload(); err == nil {
		t.Error("no error")
	}
	if e := handshake(t, files.TLS(), c.open(nil).TLS()); e.err != nil || e.peers() != "server1 client" {
		t.Errorf("%v, %s", e.err, e.peers())
	}
	h.renew(a, "server2")
	h.write(h.ca, "")
	if err := files.Reload(); err == nil {
		t.Error("no error")
	}
	if e := handshake(t, files.TLS(), c.open(nil).TLS()); e.err != nil || e.peers() != "server2 client" {
		t.Errorf("%v, %s", e.err, e.peers())
	}
}

// Without a logger, errors alone go to the default one.
func TestDefaultLogger(t *testing.T) {
	log := new(lines)
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(was)
	a := tlstest.NewAuthority(t)
	h := newHost(t, a, "server1")
	files := h.open(func(cfg *certs.Config) { cfg.Logger = nil })
	h.renew(a, "server2")
	_ = files.Reload()
	os.Remove(h.key)
	_ = files.Reload()
	if got := log.take(); got != kept {
		t.Errorf("logged %q", got)
	}
}

// Open refuses files that are wrong, and settings that would have no effect.
func TestOpenRefuses(t *testing.T) {
	ca, cert, key := tlstest.NewAuthority(t).Write(nil)
	missing := filepath.Join(t.TempDir(), "missing.pem")
	pool := x509.NewCertPool()
	for _, tt := range []struct {
		cfg         certs.Config
		field, want string
	}{
		{certs.Config{Cert: missing, Key: key}, "Cert", "open " + missing},
		{certs.Config{Cert: cert, Key: missing}, "Key", "open " + missing},
		{certs.Config{Cert: cert}, "Key", cert + " has no private key in PEM"},
		{certs.Config{Cert: key}, "Cert", key + " has no certificate in PEM"},
		{certs.Config{Cert: ca, Key: key}, "Key", key + " is not the private key of the first certificate in " + ca},
		{certs.Config{CA: key}, "CA", key + " has no certificate in PEM"},
		{certs.Config{Key: key}, "", "a key needs its certificate"},
		{certs.Config{Base: &tls.Config{Certificates: make([]tls.Certificate, 1)}}, "", "Config.Cert does that"},
		{certs.Config{CA: ca, Base: &tls.Config{RootCAs: pool}}, "", "Config.CA does that"},
		{certs.Config{CA: ca, Base: &tls.Config{ClientCAs: pool}}, "", "Config.CA does that"},
	} {
		_, err := certs.Open(&tt.cfg)
		var fault *certs.Error
		field := ""
		if errors.As(err, &fault) {
			field = fault.Field
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || field != tt.field {
			t.Errorf("%+v: %v, field %q", tt.cfg, err, field)
		}
	}
}

// Base keeps its settings, and the caller's copy does not change. Nothing at all is a configuration
// of a client that trusts the system.
func TestBaseKeepsItsSettings(t *testing.T) {
	a := tlstest.NewAuthority(t)
	h := newHost(t, a, "server1")
	base := &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS13}
	files := h.open(func(cfg *certs.Config) { cfg.Base = base })
	if e := handshake(t, files.TLS(), &tls.Config{RootCAs: a.Pool}); e.err != nil || e.peers() != "server1 none" {
		t.Errorf("%v, %s", e.err, e.peers())
	}
	if base.ClientCAs != nil || len(base.Certificates) > 0 || files.TLS().MinVersion != tls.VersionTLS13 {
		t.Error("Base has changed, or has no effect")
	}
	none, err := certs.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := none.TLS(); c.RootCAs != nil || c.ClientAuth != tls.NoClientCert || c.GetClientCertificate != nil {
		t.Errorf("%+v", c)
	}
	if err := none.Reload(); err != nil {
		t.Error(err)
	}
}

// A client sends no certificate that the server says it would not accept.
func TestUnwantedCertificate(t *testing.T) {
	a, b := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	c := newHost(t, b, "client")
	c.trust(a)
	server := a.Config()
	server.ClientAuth = tls.RequestClientCert
	if e := handshake(t, server, c.open(nil).TLS()); e.err != nil || e.peers() != "test none" {
		t.Errorf("%v, %s", e.err, e.peers())
	}
}

// Handshakes at the same time as changes have one of the certificates, and never a mixture.
func TestConcurrentHandshakes(t *testing.T) {
	a := tlstest.NewAuthority(t)
	h := newHost(t, a, "server0")
	files := h.open(func(cfg *certs.Config) { cfg.Interval = 1 })
	client := &tls.Config{RootCAs: a.Pool, Certificates: []tls.Certificate{a.Issue(nil)}}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer stop()
		for i := range 8 {
			h.renew(a, "server"+string(rune('a'+i)))
			_ = files.Reload()
		}
	})
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if e := handshake(t, files.TLS(), client); e.err != nil {
					t.Error(e.err)
					return
				}
			}
		})
	}
	wg.Wait()
}
