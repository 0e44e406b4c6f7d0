package rdmatcp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// lines is the destination of a device's log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// wants waits for a text in the log.
func (l *lines) wants(t testing.TB, text string) {
	t.Helper()
	await(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.b.String(), text)
	}, func() string {
		l.mu.Lock()
		defer l.mu.Unlock()
		return "log has no " + text + ":\n" + l.b.String()
	})
}

// escaped returns a text as the log quotes it.
func escaped(text string) string {
	text = strconv.Quote(text)
	return text[1 : len(text)-1]
}

// await waits until a condition holds.
func await(t testing.TB, is func() bool, otherwise func() string) {
	t.Helper()
	for limit := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(otherwise())
		}
	}
}

// Where the two ends do not agree on TLS, each says what it has found and what to do.
func TestTLSDisagreements(t *testing.T) {
	a, other := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	with := func(change func(*tls.Config)) *rdmatcp.Config {
		c := a.Config()
		change(c)
		return &rdmatcp.Config{TLS: c}
	}
	good := with(func(*tls.Config) {})
	issued := func(a *tlstest.Authority, change func(*x509.Certificate)) func(*tls.Config) {
		return func(c *tls.Config) { c.Certificates = []tls.Certificate{a.Issue(change)} }
	}
	expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	for _, tt := range []struct {
		name           string
		client, server *rdmatcp.Config
		dial, log      []string
		not            error // that Dial must not return
	}{
		{
			"client without TLS", nil, good,
			[]string{`the peer speaks TLS, and this side does not: its first bytes are "\x15\x03\x03\x00\x02\x02\n", a TLS record (RFC 8446 §5.1): set Config.TLS here, or unset it there`},
			[]string{`the peer speaks no TLS: its first bytes are`, `set it there`},
			nil,
		},
		{
			"server without TLS", good, &rdmatcp.Config{},
			[]string{"the peer closed the connection without an answer: it may have no TLS at this address"},
			[]string{`the peer speaks TLS, and this side does not: its first bytes are "\x16\x03\x01`, `a TLS record (RFC 8446 §5.1): set Config.TLS here, or unset it there`},
			verbs.ErrTLS,
		},
		{
			"other application protocol", with(func(c *tls.Config) { c.NextProtos = []string{"h2"} }), good,
			[]string{"no application protocol", `the peer speaks none of the application protocols ["h2"]`},
			[]string{"client requested unsupported application protocols"},
			nil,
		},
		{
			"server's authority", good, with(issued(other, nil)),
			[]string{"unknown authority", "Config.TLS.RootCAs must have the authority"},
			[]string{"bad certificate", "the peer does not accept the certificate of this side"},
			nil,
		},
		{
			"server's name", with(func(c *tls.Config) { c.ServerName = "other.example" }), good,
			[]string{"valid for server.example, not other.example", "Config.TLS.ServerName must be a name of the certificate"},
			[]string{"bad certificate"},
			nil,
		},
		{
			"server's certificate expired", good, with(issued(a, expired)),
			[]string{"expired", "needs a certificate that is valid now"},
			[]string{"bad certificate"},
			nil,
		},
		{
			"client's certificate missing", with(func(c *tls.Config) { c.Certificates = nil }), good,
			[]string{"certificate required", "set Config.TLS.Certificates: the peer requires a certificate"},
			[]string{"client didn't provide a certificate"},
			nil,
		},
		{
			"client's certificate expired", with(issued(a, expired)), good,
			[]string{"expired certificate", "the peer does not accept the certificate of this side"},
			[]string{"has expired"},
			nil,
		},
		{
			"client's authority", with(func(c *tls.Config) {
				cert := other.Issue(nil)
				c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
			}), good,
			[]string{"unknown certificate authority", "the peer does not accept the certificate of this side"},
			[]string{"unknown authority", "Config.TLS.ClientCAs must have the authority"},
			nil,
		},
		{
			"version", good, with(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }),
			[]string{"protocol version not supported", "does not have TLS 1.3"},
			[]string{"client offered only unsupported versions"},
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := new(lines)
			server := *tt.server
			server.Logger = slog.New(slog.NewTextHandler(log, nil))
			dev := device(t, &server)
			d := connect(t, device(t, tt.client), dev)
			if d.dialErr == nil {
				t.Fatal("connected")
			}
			t.Log(d.dialErr)
			if is := errors.Is(d.dialErr, verbs.ErrTLS); is != (tt.not == nil) {
				t.Errorf("error of verbs.ErrTLS: %v", is)
			}
			for _, want := range tt.dial {
				if !strings.Contains(d.dialErr.Error(), want) {
					t.Errorf("dial: %v, want %q", d.dialErr, want)
				}
			}
			for _, want := range tt.log {
				log.wants(t, escaped(want))
			}
			// A rule of the format would mislead.
			if log.mu.Lock(); strings.Contains(log.b.String(), "segment:") {
				t.Errorf("log: %s", log.b.String())
			}
			log.mu.Unlock()
			if got := dev.Stats(); got.RefusedHandshake != 1 || got.Connections != 0 {
				t.Errorf("stats %+v, want one failed handshake", got)
			}
		})
	}
}

// A peer without ALPN is refused by either end, unless TLSWithoutALPN accepts it.
func TestTLSWithoutALPN(t *testing.T) {
	a := tlstest.NewAuthority(t)
	refuses := "names no application protocol (ALPN), must be one of [\"rdmatcp\"]"
	t.Run("server", func(t *testing.T) {
		for _, optional := range []bool{false, true} {
			log := new(lines)
			cfg := &rdmatcp.Config{TLS: a.Config(), TLSWithoutALPN: optional, Logger: slog.New(slog.NewTextHandler(log, nil))}
			ln, err := device(t, cfg).Listen(context.Background(), local)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			config := a.Config()
			config.ServerName = "server.example"
			conn, err := tls.Dial("tcp", ln.Addr(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			p := &peer{t: t, conn: conn, id: 1}
			p.hello(hello(16, 16, nil))
			if !optional {
				p.ended()
				log.wants(t, escaped(refuses))
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			req, err := ln.Accept(ctx)
			if err == nil {
				err = req.Reject(nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			if h, _, _ := p.get(); h.Type != segment.Write {
				t.Errorf("answer %+v, want a hello", h)
			}
		}
	})
	t.Run("client", func(t *testing.T) {
		for _, optional := range []bool{false, true} {
			ln, err := tls.Listen("tcp", local, a.Config())
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				if conn, err := ln.Accept(); err == nil {
					io.Copy(io.Discard, io.LimitReader(conn, 16))
					conn.Close()
				}
			}()
			client := device(t, &rdmatcp.Config{TLS: a.Config(), TLSWithoutALPN: optional})
			_, err = client.Dial(context.Background(), ln.Addr().String(), newSide(t, client).qp, nil)
			if err == nil || strings.Contains(err.Error(), refuses) == optional || errors.Is(err, verbs.ErrTLS) == optional {
				t.Errorf("optional %v: %v", optional, err)
			}
		}
	})
}

// A server that answers a ClientHello in another protocol is named by its first bytes.
func TestTLSOtherServer(t *testing.T) {
	ln, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		if conn, err := ln.Accept(); err == nil {
			io.WriteString(conn, "SSH-2.0-OpenSSH_9.2\r\n")
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	}()
	client := device(t, &rdmatcp.Config{TLS: tlstest.NewAuthority(t).Config()})
	_, err = client.Dial(context.Background(), ln.Addr().String(), newSide(t, client).qp, nil)
	if !errors.Is(err, verbs.ErrTLS) || !strings.Contains(err.Error(), `the peer speaks no TLS: its first bytes are "SSH-2.0-OpenSSH_"`) {
		t.Error(err)
	}
}
