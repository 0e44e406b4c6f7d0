package tcp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// patience is the time after which a test gives up waiting.
var patience = leak.Patience()

// secured returns a Config with TLS of an authority, for both ends.
func secured(a *tlstest.Authority, mode tcp.TLSMode) *tcp.Config {
	return &tcp.Config{TLS: tcp.TLS{Mode: mode, Config: a.Config()}, Logger: quiet}
}

// certificates makes the files of the example.
func certificates(name string) (dir string, remove func()) {
	var tb exampleTB
	ca, _, _ := tlstest.NewAuthority(&tb).Write(func(c *x509.Certificate) { c.Subject.CommonName = name })
	return filepath.Dir(ca), func() { _ = os.RemoveAll(filepath.Dir(ca)) }
}

// exampleTB is the part of a testing.TB that package tlstest uses.
type exampleTB struct{ testing.TB }

func (*exampleTB) Helper()           {}
func (*exampleTB) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func (tb *exampleTB) TempDir() string {
	dir, err := os.MkdirTemp("", "tls")
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// lines is the destination of a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// dialWithin dials with a time limit.
func dialWithin(t testing.TB, addr string, cfg *tcp.Config) (*tcp.Conn, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	c, err := tcp.Dial(ctx, addr, cfg)
	if err == nil {
		t.Cleanup(func() { leak.Close(t, c) })
	}
	return c, err
}

// Calls over TLS do all that others do: RFC 9289 §5.1.1, reverse Calls in the session included.
func TestCarrierTLS(t *testing.T) {
	a := tlstest.NewAuthority(t)
	carriertest.Run(t, func(t *testing.T, server, client oncrpc.Handler) carriertest.Conn {
		cfg := secured(a, tcp.TLSRequired)
		with := *cfg
		with.ReverseHandler = client
		return dial(t, listen(t, server, cfg).Addr(), &with)
	})
}

// Marked procedures run on the goroutine that reads TLS, too.
func TestMarkedProceduresOverTLS(t *testing.T) {
	a := tlstest.NewAuthority(t)
	carriertest.RunHere(t, func(t *testing.T, server, _ oncrpc.Handler) carriertest.Conn {
		cfg := secured(a, tcp.TLSRequired)
		return dial(t, listen(t, server, cfg).Addr(), cfg)
	})
}

// A *tls.Conn can be given to NewConn and ServeConn. A Call that is cancelled while it is written
// does not close the connection.
func TestCarrierTLSStream(t *testing.T) {
	config := tlstest.NewAuthority(t).Config()
	config.ServerName = "server.example"
	carriertest.Run(t, func(t *testing.T, server, client oncrpc.Handler) carriertest.Conn {
		ours, theirs := net.Pipe()
		s := tcp.ServeConn(tls.Server(theirs, config), server, &tcp.Config{Logger: quiet})
		c := tcp.NewConn(tls.Client(ours, config), &tcp.Config{ReverseHandler: client, Logger: quiet})
		t.Cleanup(func() { _, _ = s.Close(), c.Close() })
		return c
	})
}

// Both ends of a stream that is a *tls.Conn report the peer's alert (RFC 8446 §6.2): the client
// refuses the server's certificate, or the server requires one from the client.
func TestTLSStreamAlert(t *testing.T) {
	a := tlstest.NewAuthority(t)
	wantAlert := func(c *tcp.Conn) {
		t.Helper()
		<-c.Done()
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
			t.Errorf("ended by %v, want an alert", err)
		}
	}
	ours, theirs := net.Pipe()
	s := tcp.ServeConn(tls.Server(ours, a.Config()), newService(), &tcp.Config{Logger: quiet})
	if err := tls.Client(theirs, &tls.Config{ServerName: "other.example"}).Handshake(); err == nil {
		t.Error("a certificate of no authority was accepted")
	}
	wantAlert(s)
	_, _ = theirs.Close(), s.Close()

	strict, client := a.Config(), a.Config()
	strict.ClientAuth, client.Certificates, client.ServerName = tls.RequireAnyClientCert, nil, "server.example"
	ours, theirs = net.Pipe()
	go func() { _ = tls.Server(theirs, strict).Handshake() }()
	c := tcp.NewConn(tls.Client(ours, client), &tcp.Config{Logger: quiet})
	wantAlert(c)
	_, _ = theirs.Close(), c.Close()
}

// Each mode of a client meets each mode of a server (RFC 9289 §4.1, §6.1).
func TestEachTLSModeMeetsEachOther(t *testing.T) {
	a := tlstest.NewAuthority(t)
	for _, tt := range []struct {
		client, server tcp.TLSMode
		tls            bool
		fails          error // of Dial, or of the first Call
	}{
		{tcp.TLSOff, tcp.TLSOff, false, nil},
		{tcp.TLSOff, tcp.TLSWanted, false, nil},
		{tcp.TLSOff, tcp.TLSRequired, false, oncrpc.ErrAuth},
		{tcp.TLSWanted, tcp.TLSOff, false, nil},
		{tcp.TLSWanted, tcp.TLSWanted, true, nil},
		{tcp.TLSWanted, tcp.TLSRequired, true, nil},
		{tcp.TLSRequired, tcp.TLSOff, false, tcp.ErrNoTLS},
		{tcp.TLSRequired, tcp.TLSWanted, true, nil},
		{tcp.TLSRequired, tcp.TLSRequired, true, nil},
	} {
		t.Run(tt.client.String()+" at "+tt.server.String(), func(t *testing.T) {
			peers := make(chan oncrpc.Peer, 1)
			svc := newService()
			s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				peers <- r.Conn().Peer()
				svc.ServeRPC(r)
			}), secured(a, tt.server))
			c, err := dialWithin(t, s.Addr(), secured(a, tt.client))
			if err == nil && tt.fails != nil {
				args, res := oncrpc.Uint32(21), oncrpc.Uint32(0)
				err = rpc.NewClient(c, program, nil).Call(context.Background(), 1, &args, &res, nil)
			}
			if tt.fails != nil {
				if !errors.Is(err, tt.fails) || !errors.Is(err, oncrpc.ErrAuth) {
					t.Errorf("found %v, want %v", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			double(t, c)
			for _, peer := range []oncrpc.Peer{c.Peer(), <-peers} {
				if (peer.TLS != nil) != tt.tls {
					t.Fatalf("TLS is %+v, want it: %v", peer.TLS, tt.tls)
				}
				if tt.tls && (peer.TLS.Version != "TLS 1.3" || peer.TLS.Protocol != "sunrpc" || !peer.TLS.Verified || len(peer.TLS.PeerCertificates) == 0) {
					t.Errorf("found %+v", peer.TLS)
				}
			}
		})
	}
}

// scripted runs a script on each connection that it accepts, until the end of the test.
func scripted(t testing.TB, script func(net.Conn)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(patience))
				script(c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return ln.Addr().String()
}

// probeCall is the probe of a client for TLS, and startTLS the reply that offers it (RFC 9289
// §4.1).
func probeCall(xid uint32) []byte { return record(xid, 0, 2, 400001, 3, 0, 7, 0, 0, 0) }

func startTLS(xid uint32) []byte {
	b := record(xid, 1, 0, 0, 8, 0, 0, 0)
	copy(b[24:], "STARTTLS")
	return b
}

// readProbe reads the probe of a client. It returns its XID, program and version.
func readProbe(c net.Conn) (xid, prog, vers uint32, err error) {
	b := make([]byte, 44)
	if _, err = io.ReadFull(c, b); err != nil {
		return 0, 0, 0, err
	}
	xid, prog, vers = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:])
	want := record(xid, 0, 2, prog, vers, 0, 7, 0, 0, 0)
	if !bytes.Equal(b, want) {
		err = fmt.Errorf("the probe is %x, want %x", b, want)
	}
	return xid, prog, vers, err
}

// offerTLS does the server's side up to the end of the handshake, by crypto/tls alone.
func offerTLS(c net.Conn, cfg *tls.Config) (*tls.Conn, error) {
	xid, _, _, err := readProbe(c)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(startTLS(xid)); err != nil {
		return nil, err
	}
	s := tls.Server(c, cfg)
	return s, s.Handshake()
}

// askTLS does the client's side up to the end of the handshake, by crypto/tls alone.
func askTLS(c net.Conn, cfg *tls.Config) (*tls.Conn, error) {
	if _, err := c.Write(probeCall(77)); err != nil {
		return nil, err
	}
	b := make([]byte, len(startTLS(77)))
	if _, err := io.ReadFull(c, b); err != nil || !bytes.Equal(b, startTLS(77)) {
		return nil, fmt.Errorf("the reply is %x, %v", b, err)
	}
	s := tls.Client(c, cfg)
	return s, s.Handshake()
}

// ofServer returns the client's configuration of an authority for the tests that use crypto/tls.
func ofServer(a *tlstest.Authority) *tls.Config {
	c := a.Config()
	c.ServerName, c.NextProtos = "server.example", []string{"sunrpc"}
	return c
}

// The probe names the program that the client is about to use (RFC 9289 §5.1.1), and the
// configuration can name another. A Client resumes the session.
func TestTLSProbeProgram(t *testing.T) {
	a := tlstest.NewAuthority(t)
	config := ofServer(a)
	probed := make(chan [2]uint32, 10)
	addr := scripted(t, func(c net.Conn) {
		xid, prog, vers, err := readProbe(c)
		if err != nil {
			t.Error(err)
			return
		}
		probed <- [2]uint32{prog, vers}
		_, _ = c.Write(startTLS(xid))
		s := tls.Server(c, config)
		b := make([]byte, len(goodCall(0)))
		if _, err := io.ReadFull(s, b); err == nil {
			_, _ = s.Write(goodReply(binary.BigEndian.Uint32(b[4:])))
		}
		_ = s.CloseWrite()
	})
	client, err := tcp.NewClient(addr, &tcp.ClientConfig{Conn: secured(a, tcp.TLSRequired), MinBackoff: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	double(t, client)
	double(t, client)
	named := secured(a, tcp.TLSWanted)
	named.TLS.Program, named.TLS.Version = 100003, 4
	dial(t, addr, named)
	dial(t, addr, secured(a, tcp.TLSWanted))
	for i, want := range [][2]uint32{{400001, 3}, {400001, 3}, {100003, 4}, {100000, 2}} {
		if got := <-probed; got != want {
			t.Errorf("probe %d names %v, want %v", i, got, want)
		}
	}
}

// A Client that connects again resumes the session, with the certificates of the first.
func TestClientResumesItsSession(t *testing.T) {
	a := tlstest.NewAuthority(t)
	resumed := make(chan bool, 2)
	svc := newService()
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		p := r.Conn().Peer()
		resumed <- p.TLS.Resumed && p.TLS.Verified && len(p.TLS.PeerCertificates) == 1
		svc.ServeRPC(r)
	}), secured(a, tcp.TLSRequired))
	client, err := tcp.NewClient(s.Addr(), &tcp.ClientConfig{Conn: secured(a, tcp.TLSRequired), MinBackoff: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, want := range []bool{false, true} {
		double(t, client)
		if got := <-resumed; got != want {
			t.Errorf("resumed: %v, want %v", got, want)
		}
		for _, c := range s.Conns() {
			_ = c.Close()
		}
	}
}

// A handshake that fails after the offer is reported as a refused credential is (RFC 9289 §4.1). If
// the server just closes the connection, as Linux does without tlshd, another attempt may succeed.
func TestTLSHandshakeFails(t *testing.T) {
	a := tlstest.NewAuthority(t)
	for _, answer := range []string{"", "no TLS record"} {
		addr := scripted(t, func(c net.Conn) {
			if xid, _, _, err := readProbe(c); err == nil {
				_, _ = c.Write(startTLS(xid))
				_, _ = io.ReadFull(c, make([]byte, 1)) // the answer must not come with the offer
				_, _ = c.Write([]byte(answer))
				_ = c.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, c)
			}
		})
		for _, mode := range []tcp.TLSMode{tcp.TLSWanted, tcp.TLSRequired} {
			_, err := dialWithin(t, addr, secured(a, mode))
			if !errors.Is(err, oncrpc.ErrAuth) || errors.Is(err, tcp.ErrTLS) != (answer != "") {
				t.Errorf("mode %v, the server sends %q: %v", mode, answer, err)
			}
		}
	}
}

// A server's log says that a client left in the handshake, as the kernel's client does without an
// alert if it refuses the certificate, and not only that it left.
func TestTLSHandshakeLeft(t *testing.T) {
	ours, theirs := net.Pipe()
	log := new(lines)
	cfg := secured(tlstest.NewAuthority(t), tcp.TLSRequired)
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	s := tcp.ServeConn(ours, newService(), cfg)
	defer s.Close()
	if _, err := theirs.Write(probeCall(77)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(theirs, make([]byte, len(startTLS(77)))); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	<-s.Done()
	if !errors.Is(s.Err(), tcp.ErrPeerClosed) || !strings.Contains(s.Err().Error(), "TLS handshake") {
		t.Errorf("found %v, want ErrPeerClosed in the TLS handshake", s.Err())
	}
	_ = s.Close()
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "TLS handshake") {
		t.Errorf("the log is %q, want a warning of the handshake", text)
	}
}

// The end of a session is announced (RFC 9289 §5.1.1). An end of the TCP connection alone is an
// error.
func TestEndOfASessionIsAnnounced(t *testing.T) {
	a := tlstest.NewAuthority(t)
	s := listen(t, newService(), secured(a, tcp.TLSRequired))
	for _, announced := range []bool{true, false} {
		nc := raw(t, s.Addr())
		c, err := askTLS(nc, ofServer(a))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(goodCall(1))
		if _, err := io.ReadFull(c, make([]byte, len(goodReply(1)))); err != nil {
			t.Fatal(err)
		}
		conn := s.Conns()[0]
		if announced {
			_ = c.CloseWrite()
		}
		_ = nc.Close()
		<-conn.Done()
		if err := conn.Err(); errors.Is(err, tcp.ErrPeerClosed) != announced {
			t.Errorf("announced %v: %v", announced, err)
		}
		_ = conn.Close()
	}
	for _, orderly := range []func(*tcp.Conn) error{(*tcp.Conn).Close, func(*tcp.Conn) error { return s.Close() }} {
		waitFor(t, func() bool { return len(s.Conns()) == 0 }) // the server forgets them later
		c := dial(t, s.Addr(), secured(a, tcp.TLSRequired))
		double(t, c)
		peer := s.Conns()[0]
		_ = orderly(c)
		for _, end := range []*tcp.Conn{c, peer} {
			<-end.Done()
			if err := end.Err(); !errors.Is(err, oncrpc.ErrClosed) && !errors.Is(err, tcp.ErrPeerClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
		_ = peer.Close()
	}
}

// Both ends have the same channel binding, and no two sessions have (RFC 9289 §4.2.1, RFC 9266).
func TestTLSChannelBinding(t *testing.T) {
	a := tlstest.NewAuthority(t)
	s := listen(t, newService(), secured(a, tcp.TLSWanted))
	var last []byte
	for range 2 {
		c := dial(t, s.Addr(), secured(a, tcp.TLSRequired))
		double(t, c)
		typ, ours, err := c.ChannelBinding()
		if err != nil || typ != "tls-exporter" || len(ours) != 32 || bytes.Equal(ours, last) {
			t.Errorf("%q %x, %v", typ, ours, err)
		}
		peer := s.Conns()[0]
		if _, theirs, err := peer.ChannelBinding(); err != nil || !bytes.Equal(ours, theirs) {
			t.Errorf("%x and %x, %v", ours, theirs, err)
		}
		_, _ = c.Close(), peer.Close()
		last = ours
	}
	plain := dial(t, s.Addr(), nil)
	if _, _, err := plain.ChannelBinding(); err == nil {
		t.Error("a connection without TLS has a binding")
	}
}

// Configurations that cannot work are refused at once. NewConn does not continue in plaintext where
// TLS is required.
func TestConfigThatCannotWorkIsRefused(t *testing.T) {
	a := tlstest.NewAuthority(t)
	with := func(mode tcp.TLSMode, change func(*tls.Config)) *tcp.Config {
		cfg := secured(a, mode)
		change(cfg.TLS.Config)
		return cfg
	}
	old := with(tcp.TLSRequired, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })
	for want, err := range map[string]error{
		"Config.TLS.Config has no certificate": func() error {
			_, err := tcp.Listen(context.Background(), "127.0.0.1:0", newService(), with(tcp.TLSWanted, func(c *tls.Config) { c.Certificates = nil }))
			return err
		}(),
		"MaxVersion is TLS 1.2, less than MinVersion, TLS 1.3": func() error {
			_, err := tcp.Dial(context.Background(), "127.0.0.1:1", old)
			return err
		}(),
		"Config.TLS.Mode is 7": func() error {
			_, err := tcp.Dial(context.Background(), "127.0.0.1:1", &tcp.Config{TLS: tcp.TLS{Mode: 7}})
			return err
		}(),
		"NewConn sends no AUTH_TLS probe": func() error {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			c := tcp.NewConn(ours, secured(a, tcp.TLSRequired))
			defer c.Close()
			_, err := c.Call(context.Background(), callOf(1, 0))
			return err
		}(),
		"less than MinVersion": func() error {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			c := tcp.ServeConn(ours, newService(), old)
			defer c.Close()
			return c.Err()
		}(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, want %q", err, want)
		}
	}
}

// A Call that is cancelled while it is written gives its memory back at once, over TLS too, and the
// connection stays up. With crypto/tls alone it would be lost after a write deadline.
func TestTLSCancelledHalfSent(t *testing.T) {
	a := tlstest.NewAuthority(t)
	for _, given := range []bool{true, false} {
		accepted := make(chan net.Conn, 1)
		addr := scripted(t, func(c net.Conn) {
			var x *tls.Conn
			var err error
			if given {
				x = tls.Server(c, ofServer(a))
				err = x.Handshake()
			} else {
				x, err = offerTLS(c, ofServer(a))
			}
			if err != nil {
				t.Error(err)
				close(accepted)
				return
			}
			accepted <- x
			<-t.Context().Done()
		})
		var c *tcp.Conn
		if given {
			nc, err := tls.Dial("tcp", addr, ofServer(a))
			if err != nil {
				t.Fatal(err)
			}
			c = tcp.NewConn(nc, &tcp.Config{NoCancel: true})
		} else {
			cfg := secured(a, tcp.TLSRequired)
			cfg.NoCancel = true
			c = dial(t, addr, cfg)
		}
		theirs, ok := <-accepted
		if !ok {
			t.FailNow()
		}
		const size = 16 << 20
		call := callOf(1, size)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, call)
			clear(call.Inline)
			for i := range call.Items[0].Data {
				call.Items[0].Data[i] = 0xff
			}
			ended <- err
		}()
		mark := make([]byte, 44)
		if _, err := io.ReadFull(theirs, mark); err != nil {
			t.Fatal(err)
		}
		cancel()
		wantError(t, <-ended, context.Canceled, true)
		go func() { _, _ = c.Call(context.Background(), callOf(2, 0)) }()
		rest := make([]byte, size+44)
		if _, err := io.ReadFull(theirs, rest); err != nil {
			t.Fatalf("given %v: %v, connection %v", given, err, c.Err())
		}
		if !bytes.Equal(rest[:size], make([]byte, size)) || binary.BigEndian.Uint32(rest[size+4:]) != 2 {
			t.Errorf("given %v: the message changed after its Call had returned; the next is %x", given, rest[size:])
		}
		_, _ = theirs.Write(goodReply(2))
		_ = c.Close()
	}
}

// A peer that reads nothing is cut off by SendTimeout, and Close does not wait for it.
func TestTLSPeerNeverReads(t *testing.T) {
	a := tlstest.NewAuthority(t)
	for _, closes := range []bool{true, false} {
		addr := scripted(t, func(c net.Conn) {
			if _, err := offerTLS(c, ofServer(a)); err != nil {
				t.Error(err)
			}
			<-t.Context().Done()
		})
		cfg := secured(a, tcp.TLSRequired)
		if !closes {
			cfg.SendTimeout = 100 * time.Millisecond
		}
		c := dial(t, addr, cfg)
		ended := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), callOf(1, 32<<20))
			ended <- err
		}()
		want := tcp.ErrTimeout
		if closes {
			want = oncrpc.ErrClosed
			_ = c.Close()
		}
		if err := <-ended; !errors.Is(err, want) {
			t.Errorf("found %v, want %v", err, want)
		}
	}
}

// Close over TLS gives a reply that is being written a moment to get to its peer, and no more,
// whatever SendTimeout is.
func TestTLSCloseDuringAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := tlstest.NewAuthority(t)
		cfg := secured(a, tcp.TLSRequired)
		cfg.SendTimeout = -1
		cfg.TLS.Config.SessionTicketsDisabled = true // the client does not read them
		ours, theirs := net.Pipe()
		s := tcp.ServeConn(theirs, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			r.Reply(oncrpc.Message{Inline: append(goodReply(xidOf(r))[4:], make([]byte, 1<<20)...)}, nil)
		}), cfg)
		x, err := askTLS(ours, ofServer(a))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Write(goodCall(1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the reply fills the pipe
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		time.Sleep(time.Second)
		if len(closed) == 0 {
			t.Error("Close waits for a peer that does not read")
		}
		_ = ours.Close()
		<-closed
	})
}
