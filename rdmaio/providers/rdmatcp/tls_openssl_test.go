package rdmatcp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// openssl starts a command of OpenSSL, which ends with the test. Its standard input and output are
// the stream that is returned, and its standard error the log.
func openssl(t testing.TB, args ...string) (net.Conn, *lines) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, witness.Program(t, "openssl"), args...)
	mine, its := net.Pipe()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = its
	errs := new(lines)
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(stdin, its)
		stdin.Close()
	}()
	t.Cleanup(func() {
		cancel()
		mine.Close()
		its.Close()
		cmd.Wait()
		<-done
		if t.Failed() {
			t.Logf("openssl %v: %s", args, errs.b.String())
		}
	})
	return mine, errs
}

// OpenSSL as the client's end of TLS: a device without TLS speaks through it to a listener with
// TLS. Both ends check the other's certificate. The second connection resumes the session.
func TestOpenSSLClient(t *testing.T) {
	a := tlstest.NewAuthority(t)
	ca, cert, key := a.Write(func(c *x509.Certificate) { c.Subject.CommonName = "host7" })
	server, client := device(t, &rdmatcp.Config{TLS: a.Config()}), device(t, nil)
	ln, err := server.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	session := filepath.Join(t.TempDir(), "session")
	for i := range 2 {
		args := []string{
			"s_client", "-quiet", "-connect", ln.Addr(), "-alpn", rdmatcp.ALPN, "-servername", "server.example", "-verify_hostname", "server.example",
			"-CAfile", ca, "-cert", cert, "-key", key, "-verify_return_error", "-sess_out", session,
		}
		if i > 0 {
			args = append(args, "-sess_in", session)
		}
		stream, _ := openssl(t, args...)
		c, s := &victim{newSide(t, client), t}, &victim{newSide(t, server), t}
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		defer cancel()
		dialed := make(chan error, 1)
		go func() {
			_, err := client.DialConn(ctx, stream, c.qp, nil)
			dialed <- err
		}()
		req, err := ln.Accept(ctx)
		if err == nil {
			_, err = req.Accept(ctx, s.qp, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := <-dialed; err != nil {
			t.Fatal(err)
		}
		state, err := verbs.TLSStateOf(s.qp)
		if err != nil || state.Version != "TLS 1.3" || state.ServerName != "server.example" || !state.Verified || state.Resumed != (i > 0) {
			t.Errorf("%+v, %v", state, err)
		}
		if peer, err := x509.ParseCertificate(state.PeerCertificates[0]); err != nil || peer.Subject.CommonName != "host7" {
			t.Errorf("client %v, %v", peer, err)
		}
		exchange(t, c, s)
	}
}

// OpenSSL as the server's end of TLS.
func TestOpenSSLServer(t *testing.T) {
	a := tlstest.NewAuthority(t)
	ca, cert, key := a.Write(nil)
	server, client := device(t, nil), device(t, &rdmatcp.Config{TLS: a.Config()})
	addr := freeAddress(t)
	stream, _ := openssl(t, "s_server", "-quiet", "-accept", addr, "-naccept", "1", "-alpn", rdmatcp.ALPN,
		"-CAfile", ca, "-cert", cert, "-key", key, "-Verify", "1", "-verify_return_error")
	c, s := &victim{newSide(t, client), t}, &victim{newSide(t, server), t}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	accepted := make(chan error, 1)
	go func() {
		req, err := server.AcceptConn(ctx, stream)
		if err == nil {
			_, err = req.Accept(ctx, s.qp, nil)
		}
		accepted <- err
	}()
	awaitListener(t, client, c, addr)
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	state, err := verbs.TLSStateOf(c.qp)
	if err != nil || state.Version != "TLS 1.3" || state.Protocol != rdmatcp.ALPN || !state.Verified {
		t.Errorf("%+v, %v", state, err)
	}
	exchange(t, c, s)
}

// Neither end can make the other renegotiate, with a version of TLS that has renegotiation.
func TestOpenSSLRenegotiation(t *testing.T) {
	a := tlstest.NewAuthority(t)
	ca, cert, key := a.Write(nil)
	config := a.Config()
	config.MinVersion, config.MaxVersion, config.Renegotiation = tls.VersionTLS12, tls.VersionTLS12, tls.RenegotiateFreelyAsClient
	config.ClientAuth = tls.NoClientCert
	t.Run("server asks", func(t *testing.T) {
		client := device(t, &rdmatcp.Config{TLS: config})
		addr := freeAddress(t)
		stream, _ := openssl(t, "s_server", "-tls1_2", "-accept", addr, "-naccept", "1", "-alpn", rdmatcp.ALPN, "-CAfile", ca, "-cert", cert, "-key", key)
		go func() {
			out := bufio.NewScanner(stream)
			for out.Scan() {
				if strings.HasPrefix(out.Text(), "CIPHER is") { // the handshake is complete
					go io.WriteString(stream, "r\n")
				}
			}
		}()
		v := &victim{newSide(t, client), t}
		if err := dialListener(t, client, v, addr); err == nil || !strings.Contains(err.Error(), "no renegotiation") {
			t.Errorf("%v, want an error that says so", err)
		}
	})
	t.Run("client asks", func(t *testing.T) {
		log := new(lines)
		server := device(t, &rdmatcp.Config{TLS: config, Logger: slog.New(slog.NewTextHandler(log, nil))})
		ln, err := server.Listen(context.Background(), local)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		stream, _ := openssl(t, "s_client", "-tls1_2", "-connect", ln.Addr(), "-alpn", rdmatcp.ALPN, "-CAfile", ca)
		go io.Copy(io.Discard, stream)
		go io.WriteString(stream, "R\n")
		log.wants(t, "connection refused")
		log.wants(t, "tls: ")
	})
}

// freeAddress returns an address at which no program listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// dialListener dials until a program listens at the address, and returns the error after that.
func dialListener(t testing.TB, client *rdmatcp.Device, v *victim, addr string) error {
	t.Helper()
	for limit := time.Now().Add(2 * patience); ; time.Sleep(time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		_, err := client.Dial(ctx, addr, v.qp, nil)
		cancel()
		if !errors.Is(err, verbs.ErrConnectionRefused) || time.Now().After(limit) {
			return err
		}
		v.side = newSide(t, client)
	}
}

func awaitListener(t testing.TB, client *rdmatcp.Device, v *victim, addr string) {
	t.Helper()
	if err := dialListener(t, client, v, addr); err != nil {
		t.Fatal(err)
	}
}

// A peer may ask for new keys at any time. The answer to that, which the reader sends, does not
// come between the records of a batch.
func TestOpenSSLKeyUpdate(t *testing.T) {
	a := tlstest.NewAuthority(t)
	ca, cert, key := a.Write(nil)
	server := device(t, &rdmatcp.Config{TLS: a.Config()})
	ln, err := server.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	stream, log := openssl(t, "s_client", "-connect", ln.Addr(), "-alpn", rdmatcp.ALPN, "-CAfile", ca, "-cert", cert, "-key", key, "-verify_return_error")
	go io.Copy(io.Discard, stream) // it also prints the session
	p, v := &peer{t: t, conn: stream, id: 1}, &victim{newSide(t, server), t}
	p.hello(hello(16, 16, nil))
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	req, err := ln.Accept(ctx)
	if err == nil {
		_, err = req.Accept(ctx, v.qp, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		v.recv(t, 8, 1)
		for range 8 {
			v.send(t, []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: v.sge(300_000)}})
		}
		io.WriteString(stream, "K\n")
		log.wants(t, strings.Repeat("KEYUPDATE\n", i+1))
		for range 8 {
			if wc := v.next(); wc.Err() != nil || wc.Opcode != verbs.WCSend {
				t.Fatalf("%+v, %v", wc, v.qp.Err())
			}
		}
		p.put(segment.Header{}, nil, []byte("hi"))
		if wc := v.next(); wc.Err() != nil || wc.Opcode != verbs.WCRecv || wc.ByteLen != 2 {
			t.Fatalf("%+v, %v", wc, v.qp.Err())
		}
	}
}
