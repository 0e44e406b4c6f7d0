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
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// expect reads exactly want.
func expect(t testing.TB, what string, c io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: found %x, %v; want %x", what, got[:n], err, want)
	}
}

// ended checks that a peer closes a connection without sending a byte.
func ended(t testing.TB, what string, c net.Conn) {
	t.Helper()
	b := make([]byte, 100)
	if n, err := c.Read(b); n > 0 || err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: found %x, %v; want the end", what, b[:n], err)
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Errorf("%s: not closed", what)
	}
}

// Malformed probes are refused (RFC 9289 §4.1), and the connection stays up.
func TestTLSBadProbes(t *testing.T) {
	a := tlstest.NewAuthority(t)
	denied := func(why uint32) []byte { return record(9, 1, 1, 1, why) }
	for _, mode := range []tcp.TLSMode{tcp.TLSOff, tcp.TLSWanted, tcp.TLSRequired} {
		s := listen(t, newService(), secured(a, mode))
		for name, tt := range map[string]struct {
			call, want []byte
			at         tcp.TLSMode // where the answer is differs
			differs    []byte
		}{
			"procedure 1":            {record(9, 0, 2, 400001, 3, 1, 7, 0, 0, 0, 21), denied(1), 0, denied(1)},
			"a credential":           {record(9, 0, 2, 400001, 3, 0, 7, 4, 0, 0, 0), denied(1), 0, denied(1)},
			"a credential of 2 GiB":  {record(9, 0, 2, 400001, 3, 0, 7, 1<<31, 0, 0), denied(1), 0, denied(1)},
			"no verifier":            {record(9, 0, 2, 400001, 3, 0, 7, 0), denied(1), 0, denied(1)},
			"no length":              {record(9, 0, 2, 400001, 3, 0, 7), denied(1), 0, denied(1)},
			"a verifier of AUTH_SYS": {record(9, 0, 2, 400001, 3, 0, 7, 0, 1, 0), denied(3), tcp.TLSOff, denied(2)},
			"a verifier with a body": {record(9, 0, 2, 400001, 3, 0, 7, 0, 0, 4, 0), denied(3), tcp.TLSOff, denied(2)},
			"an argument":            {record(9, 0, 2, 400001, 3, 0, 7, 0, 0, 0, 21), record(9, 1, 0, 0, 0, 4), tcp.TLSOff, denied(2)},
			"RPC version 3":          {record(9, 0, 3, 400001, 3, 0, 7, 0, 0, 0), record(9, 1, 1, 0, 2, 2), 0, record(9, 1, 1, 0, 2, 2)},
		} {
			if mode == tt.at {
				tt.want = tt.differs
			}
			what := mode.String() + ", " + name
			c := raw(t, s.Addr())
			_, _ = c.Write(tt.call)
			expect(t, what, c, tt.want)
			_, _ = c.Write(goodCall(10))
			if mode == tcp.TLSRequired {
				expect(t, what+", then a Call", c, record(10, 1, 1, 1, 5)) // AUTH_TOOWEAK
			} else {
				expect(t, what+", then a Call", c, goodReply(10))
			}
			if mode == tcp.TLSOff {
				_, _ = c.Write(probeCall(9))
				expect(t, what+", then a probe", c, denied(2)) // AUTH_REJECTEDCRED
				continue
			}
			x, err := askTLS(c, ofServer(a))
			if err != nil {
				t.Fatalf("%s, then TLS: %v", what, err)
			}
			_, _ = x.Write(goodCall(11))
			expect(t, what+", then a Call over TLS", x, goodReply(11))
			// RFC 9289 §4.1: no probe within TLS.
			_, _ = x.Write(probeCall(9))
			expect(t, what+", then a probe over TLS", x, denied(1))
			_, _ = x.Write(goodCall(12))
			expect(t, what+", then a Call over TLS", x, goodReply(12))
			_ = c.Close()
		}
	}
}

// A probe in fragments of a byte, each sent alone, is a probe.
func TestTLSProbeByByte(t *testing.T) {
	a := tlstest.NewAuthority(t)
	s := listen(t, newService(), secured(a, tcp.TLSRequired))
	c := raw(t, s.Addr())
	probe := probeCall(77)[4:]
	for i := range probe {
		mark := []byte{0, 0, 0, 1}
		if i == len(probe)-1 {
			mark[0] = 0x80
		}
		for _, b := range append(mark, probe[i]) {
			if _, err := c.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect(t, "the reply", c, startTLS(77))
	x := tls.Client(c, ofServer(a))
	_, _ = x.Write(goodCall(1))
	expect(t, "a Call", x, goodReply(1))
}

// Plaintext after the probe, whether before or after the reply, is not taken for data that came in
// TLS: it is discarded without an answer, and the connection is closed (RFC 9289 §5.1.1).
func TestTLSInjectionAtServer(t *testing.T) {
	a := tlstest.NewAuthority(t)
	var calls atomic.Int32
	h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		calls.Add(1)
		r.Drop(nil)
	})
	for _, together := range []bool{true, false} {
		c, theirs := tcpPair(t)
		s := tcp.ServeConn(theirs, h, secured(a, tcp.TLSWanted))
		want := "48 bytes of plaintext follow the AUTH_TLS probe"
		if together {
			_, _ = c.Write(append(probeCall(1), goodCall(2)...))
		} else {
			want = "the peer speaks no TLS"
			_, _ = c.Write(probeCall(1))
			expect(t, "the reply", c, startTLS(1))
			_, _ = c.Write(goodCall(2))
		}
		ended(t, want, c)
		if err := s.Err(); !errors.Is(err, tcp.ErrTLS) || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, want %q", err, want)
		}
		_, _ = s.Close(), c.Close()
	}
	if n := calls.Load(); n > 0 {
		t.Errorf("%d Calls were executed", n)
	}
}

// The same at a client.
func TestTLSInjectionAtClient(t *testing.T) {
	a := tlstest.NewAuthority(t)
	for _, together := range []bool{true, false} {
		addr := scripted(t, func(c net.Conn) {
			xid, _, _, err := readProbe(c)
			if err != nil {
				t.Error(err)
			}
			if together {
				_, _ = c.Write(append(startTLS(xid), goodReply(1)...))
			} else {
				_, _ = c.Write(startTLS(xid))
				_, _ = io.ReadFull(c, make([]byte, 5)) // of the ClientHello
				_, _ = c.Write(goodReply(1))
			}
			_, _ = io.Copy(io.Discard, c)
		})
		_, err := dialWithin(t, addr, secured(a, tcp.TLSWanted))
		want := map[bool]string{true: "32 bytes of plaintext follow the reply to the AUTH_TLS probe", false: "the peer speaks no TLS"}[together]
		if !errors.Is(err, tcp.ErrTLS) || !strings.Contains(err.Error(), want) {
			t.Errorf("together %v: found %v, want %q", together, err, want)
		}
	}
}

// A client continues in plaintext only where the server has answered the probe without an offer,
// and where TLS is wanted and not required (RFC 9289 §4.1, §6.1.1). An attacker on the path can
// forge that answer: TLSWanted does not withstand a downgrade, and TLSRequired does.
func TestTLSAnswersToProbe(t *testing.T) {
	a := tlstest.NewAuthority(t)
	words := func(words ...uint32) func(uint32) []byte {
		return func(xid uint32) []byte { return record(append([]uint32{xid}, words...)...) }
	}
	const star, ttls = 0x53544152, 0x54544c53
	for name, tt := range map[string]struct {
		reply    func(xid uint32) []byte
		fallBack bool
		says     string
	}{
		"AUTH_REJECTEDCRED":        {words(1, 1, 1, 2), true, "AUTH_REJECTEDCRED"},
		"AUTH_BADCRED":             {words(1, 1, 1, 1), true, "AUTH_BADCRED"},
		"RPC_MISMATCH":             {words(1, 1, 0, 2, 2), true, "has version 2 (RFC"},
		"a plain reply":            {words(1, 0, 0, 0, 0), true, `verifier AUTH_NONE ""`},
		"PROG_UNAVAIL":             {words(1, 0, 0, 0, 1), true, `verifier AUTH_NONE ""`},
		"a verifier of AUTH_SHORT": {words(1, 0, 2, 8, star, ttls, 0), true, `verifier AUTH_SHORT "STARTTLS"`},
		"a longer verifier":        {words(1, 0, 0, 12, star, ttls, 0, 0), true, `verifier AUTH_NONE "STARTTLS\x00`},
		"a shorter verifier":       {words(1, 0, 0, 7, star, ttls&^0xff, 0), true, `verifier AUTH_NONE "STARTTL"`},
		"small letters":            {words(1, 0, 0, 8, star|0x20202020, ttls|0x20202020, 0), true, `"starttls"`},
		"another XID":              {func(xid uint32) []byte { return startTLS(xid + 1) }, false, "reply has XID"},
		"a Call":                   {words(0, 2, 400001, 3, 0, 0, 0, 0, 0), false, "message is CALL"},
		"half a reply":             {words(1, 0, 0, 8, star), false, "not an RPC message"},
		"no reply":                 {func(uint32) []byte { return nil }, false, "reply to the AUTH_TLS probe: record mark: EOF"},
		"a part of a mark":         {func(uint32) []byte { return []byte{0x80, 0} }, false, "unexpected EOF"},
		"2 GiB":                    {func(uint32) []byte { return []byte{0xff, 0xff, 0xff, 0xff} }, false, "record refused"},
		"empty fragments":          {func(uint32) []byte { return make([]byte, 8<<10) }, false, "record refused"},
		"an alert of TLS":          {func(uint32) []byte { return []byte{21, 3, 3, 0, 2, 2, 10} }, false, "TLS from the first byte on"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := scripted(t, func(c net.Conn) {
				xid, _, _, err := readProbe(c)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = c.Write(tt.reply(xid))
				_ = c.(*net.TCPConn).CloseWrite()
				b, _ := io.ReadAll(c)
				if tt.fallBack && len(b) == len(goodCall(0)) {
					return // the Call of a client that wants TLS
				}
				if len(b) > 0 {
					t.Errorf("after the reply the client sent %x", b)
				}
			})
			for _, mode := range []tcp.TLSMode{tcp.TLSWanted, tcp.TLSRequired} {
				log := new(lines)
				cfg := secured(a, mode)
				cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
				c, err := dialWithin(t, addr, cfg)
				if mode == tcp.TLSWanted && tt.fallBack {
					if err != nil || c.Peer().TLS != nil || !strings.Contains(log.String(), "the connection has no TLS") {
						t.Errorf("%v: %v, log %s", mode, err, log)
					}
					if err == nil {
						_ = c.Close()
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), tt.says) || errors.Is(err, tcp.ErrNoTLS) != tt.fallBack || tt.fallBack && !errors.Is(err, tcp.ErrTLS) {
					t.Errorf("%v: found %v, want %q", mode, err, tt.says)
				}
			}
		})
	}
}

// The reply may refuse the procedure and offer TLS (RFC 9289 §4.1): the client takes the offer.
func TestTLSOfferWithoutProgram(t *testing.T) {
	a := tlstest.NewAuthority(t)
	addr := scripted(t, func(c net.Conn) {
		xid, _, _, err := readProbe(c)
		reply := startTLS(xid)
		reply[len(reply)-1] = 1 // PROG_UNAVAIL
		_, _ = c.Write(reply)
		x := tls.Server(c, ofServer(a))
		if _, err2 := io.ReadFull(x, make([]byte, 48)); err != nil || err2 != nil {
			t.Error(err, err2)
		}
		_, _ = x.Write(goodReply(1))
		_, _ = io.Copy(io.Discard, x)
	})
	c := dial(t, addr, secured(a, tcp.TLSWanted))
	if _, err := c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: goodCall(1)[4:]}}); err != nil {
		t.Error(err)
	}
}

// expired and elsewhere alter a certificate.
func expired(c *x509.Certificate)   { c.NotAfter = time.Now().Add(-time.Minute) }
func elsewhere(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"other.example"}, nil }

// Servers whose TLS breaks RFC 9289 §5 or §5.2: Dial fails, and nothing is sent in plaintext, also
// where TLS is only wanted.
func TestTLSBadServers(t *testing.T) {
	a, other := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	issued := func(by *tlstest.Authority, change func(*x509.Certificate)) func(server, client *tls.Config) {
		return func(server, _ *tls.Config) { server.Certificates = []tls.Certificate{by.Issue(change)} }
	}
	wildcard := func(c *x509.Certificate) { c.DNSNames = []string{"*.example"} }
	for name, tt := range map[string]struct {
		change  func(server, client *tls.Config)
		without bool // WithoutALPN
		says    string
	}{
		"the address":                    {func(_, _ *tls.Config) {}, false, ""},
		"a name":                         {func(_, client *tls.Config) { client.ServerName = "server.example" }, false, ""},
		"another name":                   {issued(a, elsewhere), false, "127.0.0.1"},
		"another address":                {issued(a, func(c *x509.Certificate) { c.IPAddresses = []net.IP{{127, 0, 0, 2}} }), false, "valid for 127.0.0.2, not 127.0.0.1"},
		"expired":                        {issued(a, expired), false, "needs a certificate that is valid now"},
		"another authority":              {issued(other, nil), false, "Config.TLS.Config.RootCAs must have the authority"},
		"a name by wildcard":             {func(s, c *tls.Config) { issued(a, wildcard)(s, c); c.ServerName = "server.example" }, false, "no wildcard (RFC 9289 §5.2.1)"},
		"TLS 1.2":                        {func(s, _ *tls.Config) { s.MaxVersion = tls.VersionTLS12 }, false, "protocol version"},
		"another protocol":               {func(s, _ *tls.Config) { s.NextProtos = []string{"h2"} }, false, "speaks none of the application protocols"},
		"no protocol":                    {func(s, _ *tls.Config) { s.NextProtos = nil }, false, "Config.TLS.WithoutALPN accepts it"},
		"no protocol, as Debian's tlshd": {func(s, _ *tls.Config) { s.NextProtos = nil }, true, ""},
		"another protocol, WithoutALPN":  {func(s, _ *tls.Config) { s.NextProtos = []string{"h2"} }, true, "speaks none of the application protocols"},
	} {
		t.Run(name, func(t *testing.T) {
			server, cfg := ofServer(a), secured(a, tcp.TLSWanted)
			server.ClientAuth = tls.NoClientCert
			cfg.TLS.WithoutALPN = tt.without
			cfg.TLS.Config.MinVersion = tls.VersionTLS10 // has no effect
			tt.change(server, cfg.TLS.Config)
			addr := scripted(t, func(c net.Conn) {
				x, err := offerTLS(c, server)
				if err == nil {
					_, err = io.ReadFull(x, make([]byte, 48))
				}
				if err == nil {
					_, _ = x.Write(goodReply(1))
				}
				rest, _ := io.ReadAll(c)
				if bytes.Contains(rest, goodCall(1)[8:]) {
					t.Error("the Call came in plaintext")
				}
			})
			c, err := dialWithin(t, addr, cfg)
			if tt.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: goodCall(1)[4:]}}); err != nil {
					t.Error(err)
				}
				_ = c.Close()
			} else if !errors.Is(err, tcp.ErrTLS) || !strings.Contains(err.Error(), tt.says) || errors.Is(err, tcp.ErrNoTLS) {
				t.Errorf("found %v, want %q", err, tt.says)
			}
		})
	}
}

// Clients whose TLS breaks RFC 9289 §5 or §5.2, at a server with mutual authentication.
func TestTLSBadClients(t *testing.T) {
	a, other := tlstest.NewAuthority(t), tlstest.NewAuthority(t)
	issued := func(by *tlstest.Authority, change func(*x509.Certificate)) func(*tls.Config) {
		return func(c *tls.Config) {
			cert := by.Issue(change)
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil }
		}
	}
	for name, tt := range map[string]struct {
		change  func(*tls.Config)
		without bool // WithoutALPN
		says    string
	}{
		"good": {func(*tls.Config) {}, false, ""},
		// RFC 9289 §5.2.1: a client's name says nothing.
		"another name":                  {issued(a, elsewhere), false, ""},
		"no certificate":                {func(c *tls.Config) { c.Certificates = nil }, false, "client didn't provide a certificate"},
		"expired":                       {issued(a, expired), false, "has expired"},
		"another authority":             {issued(other, nil), false, "Config.TLS.Config.ClientCAs must have the authority"},
		"TLS 1.2":                       {func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, false, "client offered only unsupported versions"},
		"another protocol":              {func(c *tls.Config) { c.NextProtos = []string{"h2"} }, false, "unsupported application protocols"},
		"no protocol":                   {func(c *tls.Config) { c.NextProtos = nil }, false, "Config.TLS.WithoutALPN accepts it"},
		"no protocol, as Debian's":      {func(c *tls.Config) { c.NextProtos = nil }, true, ""},
		"another protocol, WithoutALPN": {func(c *tls.Config) { c.NextProtos = []string{"h2"} }, true, "unsupported application protocols"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := secured(a, tcp.TLSWanted)
			cfg.TLS.WithoutALPN = tt.without
			nc, theirs := tcpPair(t)
			defer nc.Close()
			s := tcp.ServeConn(theirs, newService(), cfg)
			defer s.Close()
			client := ofServer(a)
			tt.change(client)
			c, err := askTLS(nc, client)
			got := make([]byte, len(goodReply(1)))
			if err == nil {
				_, _ = c.Write(goodCall(1))
				_, err = io.ReadFull(c, got)
			}
			if tt.says == "" {
				if err != nil || !bytes.Equal(got, goodReply(1)) {
					t.Errorf("%x, %v", got, err)
				}
				return
			}
			if err == nil {
				t.Error("the Call was executed")
			}
			_ = nc.Close()
			<-s.Done()
			if err := s.Err(); !errors.Is(err, tcp.ErrTLS) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("found %v, want %q", err, tt.says)
			}
		})
	}
}

// A server asks for certificates without requiring them (RFC 9289 §4.2): it knows the clients that
// have one.
func TestTLSAnonymousClients(t *testing.T) {
	a := tlstest.NewAuthority(t)
	for _, authorities := range []bool{true, false} {
		cfg := secured(a, tcp.TLSRequired)
		cfg.TLS.Config.ClientAuth = tls.NoClientCert
		if !authorities {
			cfg.TLS.Config.ClientCAs = nil
		}
		peers := make(chan oncrpc.Peer, 1)
		svc := newService()
		s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
			peers <- r.Conn().Peer()
			svc.ServeRPC(r)
		}), cfg)
		for _, anonymous := range []bool{true, false} {
			client := secured(a, tcp.TLSRequired)
			if anonymous {
				client.TLS.Config.Certificates = nil
			}
			double(t, dial(t, s.Addr(), client))
			p := <-peers
			if p.TLS == nil || (len(p.TLS.PeerCertificates) == 0) != anonymous || p.TLS.Verified != (authorities && !anonymous) {
				t.Errorf("anonymous %v, authorities %v: found %+v", anonymous, authorities, p.TLS)
			}
		}
	}
}

// A Client fails its Calls at once where another attempt would fail, too: the verdict on its
// certificate comes after its handshake.
func TestTLSClientRefused(t *testing.T) {
	a := tlstest.NewAuthority(t)
	for name, change := range map[string]func(server, client *tcp.Config){
		"no certificate": func(_, client *tcp.Config) { client.TLS.Config.Certificates = nil },
		"no TLS there":   func(server, _ *tcp.Config) { server.TLS.Mode = tcp.TLSOff },
		"another name":   func(_, client *tcp.Config) { client.TLS.Config.ServerName = "other.example" },
	} {
		server, client := secured(a, tcp.TLSWanted), secured(a, tcp.TLSRequired)
		change(server, client)
		s := listen(t, newService(), server)
		c, err := tcp.NewClient(s.Addr(), &tcp.ClientConfig{Conn: client})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(context.Background(), patience)
		args, res := oncrpc.Uint32(21), oncrpc.Uint32(0)
		err = rpc.NewClient(c, program, nil).Call(ctx, 1, &args, &res, nil)
		if !errors.Is(err, tcp.ErrTLS) || !errors.Is(err, oncrpc.ErrAuth) || ctx.Err() != nil {
			t.Errorf("%s: found %v", name, err)
		}
		stop()
		_ = c.Close()
	}
}

// Peers that stop in the handshake hold neither the listener nor an honest neighbour. With
// MaxHandshakes the oldest such connection is closed.
func TestTLSSlowHandshakes(t *testing.T) {
	a := tlstest.NewAuthority(t)
	cfg := secured(a, tcp.TLSRequired)
	cfg.TLS.MaxHandshakes, cfg.TLS.HandshakeTimeout = 8, -1
	s := listen(t, newService(), cfg)
	var slow []net.Conn
	for i := range 30 {
		c := raw(t, s.Addr())
		_, _ = c.Write(probeCall(1))
		expect(t, "the reply", c, startTLS(1))
		switch i % 3 {
		case 1:
			_, _ = c.Write([]byte{22, 3, 1, 0x40, 0})
		case 2:
			_, _ = c.Write([]byte{22})
		}
		slow = append(slow, c)
		if i%5 == 0 {
			c := dial(t, s.Addr(), secured(a, tcp.TLSRequired))
			double(t, c)
			_ = c.Close()
		}
	}
	for i, c := range slow[:22] {
		ended(t, fmt.Sprint("slow peer ", i), c)
	}
	double(t, dial(t, s.Addr(), secured(a, tcp.TLSRequired)))
}

// A connection whose handshake is over does not count for MaxHandshakes.
func TestTLSHandshakesThatAreOverDoNotCount(t *testing.T) {
	a := tlstest.NewAuthority(t)
	cfg := secured(a, tcp.TLSRequired)
	cfg.TLS.MaxHandshakes = 1
	s := listen(t, newService(), cfg)
	var conns []*tcp.Conn
	for range 3 {
		conns = append(conns, dial(t, s.Addr(), secured(a, tcp.TLSRequired)))
		for i, c := range conns {
			if double(t, c); c.Err() != nil {
				t.Errorf("connection %d of %d: %v", i+1, len(conns), c.Err())
			}
		}
	}
}

// A handshake has HandshakeTimeout, and the wait for the probe has FirstCallTimeout, which
// plaintext Calls do not prolong.
func TestTLSHandshakeTimeout(t *testing.T) {
	a := tlstest.NewAuthority(t)
	config, client, now := a.Config(), ofServer(a), time.Now()
	config.Time = func() time.Time { return now } // of the certificates
	client.Time = config.Time
	for name, tt := range map[string]struct {
		send  [][]byte // one a second
		after time.Duration
	}{
		"nothing in TLS":        {nil, 5 * time.Second},
		"nothing":               {nil, 5 * time.Second},
		"plaintext Calls":       {[][]byte{goodCall(1), goodCall(2), goodCall(3)}, 5 * time.Second},
		"a probe":               {[][]byte{probeCall(1)}, 7 * time.Second},
		"a probe after a while": {[][]byte{nil, nil, probeCall(1)}, 9 * time.Second},
		"half a record":         {[][]byte{probeCall(1), {22, 3, 1, 2, 0}, {1}, {0}, {1}, {0xfc}}, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			s := tcp.ServeConn(ours, newService(), &tcp.Config{
				FirstCallTimeout: 5 * time.Second, Logger: quiet,
				TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: config, HandshakeTimeout: 7 * time.Second},
			})
			start := time.Now()
			if name == "nothing in TLS" {
				x, err := askTLS(theirs, client)
				if err != nil {
					t.Fatal(err)
				}
				go func() { _, _ = io.Copy(io.Discard, x) }()
			} else {
				go func() { _, _ = io.Copy(io.Discard, theirs) }()
			}
			go func() {
				for _, b := range tt.send {
					_, _ = theirs.Write(b)
					time.Sleep(time.Second)
				}
			}()
			<-s.Done()
			limit := "Config.FirstCallTimeout (5s)"
			if tt.after > 5*time.Second {
				limit = "Config.TLS.HandshakeTimeout (7s)"
			}
			if d := time.Since(start); d != tt.after || !errors.Is(s.Err(), tcp.ErrTimeout) || !strings.Contains(s.Err().Error(), limit) {
				t.Errorf("%s: ended after %v: %v, want %v for %s", name, d, s.Err(), tt.after, limit)
			}
			_, _ = s.Close(), theirs.Close()
		})
	}
}

// A server that answers the probe and then nothing holds Dial for HandshakeTimeout, or until its
// context is done.
func TestTLSSlowServer(t *testing.T) {
	a := tlstest.NewAuthority(t)
	for _, answers := range []bool{true, false} {
		addr := scripted(t, func(c net.Conn) {
			xid, _, _, _ := readProbe(c)
			if answers {
				_, _ = c.Write(startTLS(xid))
			}
			_, _ = io.Copy(io.Discard, c)
		})
		cfg := secured(a, tcp.TLSRequired)
		ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if _, err := tcp.Dial(ctx, addr, cfg); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("answers %v: %v", answers, err)
		}
		stop()
		cfg.TLS.HandshakeTimeout = 50 * time.Millisecond
		if _, err := tcp.Dial(context.Background(), addr, cfg); !errors.Is(err, tcp.ErrTimeout) || !strings.Contains(err.Error(), "HandshakeTimeout (50ms)") {
			t.Errorf("answers %v: %v", answers, err)
		}
	}
}

// Requests that came before the probe are answered in plaintext before its reply.
func TestTLSProbeBehindCalls(t *testing.T) {
	a := tlstest.NewAuthority(t)
	held := make(chan *oncrpc.Request, 1)
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) { held <- r }), secured(a, tcp.TLSWanted))
	c := raw(t, s.Addr())
	_, _ = c.Write(append(goodCall(1), probeCall(2)...))
	r := <-held
	r.Conn().AllowReverse()
	r.Reply(oncrpc.Message{Inline: goodReply(1)[4:]}, nil)
	expect(t, "in order", c, append(goodReply(1), startTLS(2)...))
	// A callback that begins during the handshake goes over TLS.
	done := make(chan error, 1)
	go func() {
		_, err := s.Conns()[0].Call(context.Background(), callOf(5, 0))
		done <- err
	}()
	x := tls.Client(c, ofServer(a))
	got := make([]byte, 8)
	if _, err := io.ReadFull(x, got); err != nil || binary.BigEndian.Uint32(got[4:]) != 5 {
		t.Errorf("the callback is %x, %v", got, err)
	}
	_, _ = x.Write(goodReply(5))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A client that closes while its probe waits for a handler is noticed, and Shutdown does not wait
// for a handshake.
func TestTLSEndDuringProbe(t *testing.T) {
	a := tlstest.NewAuthority(t)
	held := make(chan *oncrpc.Request, 1)
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) { held <- r }), secured(a, tcp.TLSWanted))
	c := raw(t, s.Addr())
	_, _ = c.Write(append(goodCall(1), probeCall(2)...))
	r := <-held
	_ = c.Close()
	select {
	case <-r.Context().Done():
	case <-time.After(patience):
		t.Error("the end of the client was not noticed")
	}
	r.Drop(nil)
	c = raw(t, s.Addr())
	_, _ = c.Write(probeCall(1))
	expect(t, "the reply", c, startTLS(1))
	// HandshakeTimeout is twice as long.
	ctx, stop := context.WithTimeout(context.Background(), patience/4)
	defer stop()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// While this side waits for a reply in plaintext, TLS cannot begin.
func TestTLSProbeDuringCallback(t *testing.T) {
	a := tlstest.NewAuthority(t)
	s := listen(t, newService(), secured(a, tcp.TLSWanted))
	c := raw(t, s.Addr())
	_, _ = c.Write(goodCall(1))
	expect(t, "a Call", c, goodReply(1))
	conn := s.Conns()[0]
	conn.AllowReverse()
	done := make(chan error, 1)
	go func() {
		_, err := conn.Call(context.Background(), callOf(5, 0))
		done <- err
	}()
	mark := make([]byte, 4)
	if _, err := io.ReadFull(c, mark); err != nil {
		t.Fatal(err)
	}
	_, _ = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(mark)&^(1<<31)))
	_, _ = c.Write(probeCall(2))
	expect(t, "the probe", c, record(2, 1, 1, 1, 2)) // AUTH_REJECTEDCRED
	_, _ = c.Write(goodReply(5))
	if err := <-done; err != nil {
		t.Error(err)
	}
	// Where TLS is required, there are no callbacks before it.
	s = listen(t, newService(), secured(a, tcp.TLSRequired))
	c = raw(t, s.Addr())
	_, _ = c.Write(goodCall(1))
	expect(t, "a Call", c, record(1, 1, 1, 1, 5))
	conn = s.Conns()[0]
	conn.AllowReverse()
	_, err := conn.Call(context.Background(), callOf(5, 0))
	wantError(t, err, tcp.ErrTLS, false)
}
