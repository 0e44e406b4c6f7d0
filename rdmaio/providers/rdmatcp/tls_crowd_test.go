package rdmatcp_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
)

// A14: half-open connections with TLS cost no more than the others before the client has sent a
// whole ClientHello, whatever it announces. After that they cost the state of crypto/tls.
func TestA14HalfOpenTLS(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector itself needs memory")
	}
	n := 1000
	if testing.Short() {
		n = 200
	}
	config := tlstest.NewAuthority(t).Config()
	config.ClientAuth = tls.NoClientCert
	first := clientHello(t)
	for _, tt := range []struct {
		name    string
		most    int64 // KiB for the device's end and the test's
		answers bool
		script  func(t *testing.T, c net.Conn)
	}{
		{"silent", 8 + 2, false, func(*testing.T, net.Conn) {}},
		{"announces a record", 8 + 2, false, func(_ *testing.T, c net.Conn) { c.Write([]byte{22, 3, 1, 0x40, 0}) }},
		{"half a hello", 8 + 2, false, func(_ *testing.T, c net.Conn) { c.Write(first[:len(first)/2]) }},
		{"only a hello", 40, true, func(_ *testing.T, c net.Conn) { c.Write(first) }},
		{"announces another record", 40, true, func(_ *testing.T, c net.Conn) {
			c.Write(first)
			c.Write([]byte{23, 3, 3, 0x40, 0})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dev := device(t, &rdmatcp.Config{TLS: config, HandshakeTimeout: time.Hour})
			ln := listen(t, dev)
			before := heap()
			conns := make([]net.Conn, n)
			for i := range conns {
				conns[i] = dialFrom(t, "127.0.0.1", ln.Addr())
				tt.script(t, conns[i])
			}
			answered := conns
			if !tt.answers {
				// Connections are accepted in order: one with an answer shows that all are.
				last := dialFrom(t, "127.0.0.1", ln.Addr())
				last.Write(first)
				conns = append(conns, last)
				answered = conns[n:]
			}
			for _, c := range answered {
				c.SetReadDeadline(time.Now().Add(patience))
				if _, err := c.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			each := (heap() - before) / int64(n)
			t.Logf("%d bytes for each of %d half-open connections", each, n)
			if each > tt.most<<10 {
				t.Errorf("%d bytes for each half-open connection, want at most %d KiB", each, tt.most)
			}
			ln.Close()
			for _, c := range conns {
				if err := awaitEnd(c); err != nil {
					t.Fatal(err)
				}
				c.Close()
			}
			await(t, func() bool { return dev.Stats().RefusedHandshake == int64(len(conns)) }, func() string { return "not all were counted" })
		})
	}
}
