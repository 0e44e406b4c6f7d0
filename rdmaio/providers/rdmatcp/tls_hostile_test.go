package rdmatcp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// dialRaw opens a TCP connection that is closed after the test.
func dialRaw(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// clientHello returns the first record of a TLS client.
func clientHello(t testing.TB) []byte {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	go tls.Client(b, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{rdmatcp.ALPN}}).Handshake()
	defer b.Close()
	head := make([]byte, 5)
	if _, err := io.ReadFull(a, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, int(head[3])<<8|int(head[4]))
	if _, err := io.ReadFull(a, body); err != nil {
		t.Fatal(err)
	}
	return append(head, body...)
}

// stalls are the places at which a client can stop in a handshake with TLS.
func stalls(t testing.TB) map[string]func(conn net.Conn) {
	hello := clientHello(t)
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{rdmatcp.ALPN}}
	return map[string]func(conn net.Conn){
		"silent":             func(net.Conn) {},
		"one byte":           func(c net.Conn) { c.Write(hello[:1]) },
		"announces a record": func(c net.Conn) { c.Write([]byte{22, 3, 1, 0x40, 0}) },
		"half a hello":       func(c net.Conn) { c.Write(hello[:len(hello)/2]) },
		"only a hello":       func(c net.Conn) { c.Write(hello) },
		"no profile":         func(c net.Conn) { tls.Client(c, config).Handshake() },
		"half the profile":   func(c net.Conn) { tls.Client(c, config).Write(make([]byte, 2)) },
		"a byte now and then": func(c net.Conn) {
			for i := range hello {
				if _, err := c.Write(hello[i : i+1]); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		},
	}
}

// A client that stops anywhere in the handshake loses its connection after HandshakeTimeout. TLS
// and the profile share that time. The client delays neither the listener nor other clients.
func TestTLSStalls(t *testing.T) {
	for name, script := range stalls(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const limit = 1500 * time.Millisecond
			config := tlstest.NewAuthority(t).Config()
			config.ClientAuth = tls.NoClientCert
			cfg := &rdmatcp.Config{TLS: config, HandshakeTimeout: limit}
			dev := device(t, cfg)
			ln, err := dev.Listen(context.Background(), local)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			start := time.Now()
			conn := dialRaw(t, ln.Addr())
			go script(conn)
			client := device(t, cfg)
			connectTo(t, client, dev, ln, ln.Addr()).must(t)
			if err := awaitEnd(conn); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took < limit {
				t.Errorf("ended after %v, before the limit of %v", took, limit)
			}
			await(t, func() bool { return dev.Stats().RefusedHandshake == 1 }, func() string { return "the handshake was not counted" })
		})
	}
}

// awaitEnd waits until a peer has closed a connection.
func awaitEnd(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
		return errors.New("the connection is still open")
	}
	return nil
}

// Garbage breaks a connection before anything is allocated for it: other protocols, a record that
// is too long, one of another version, and a hello that cannot be decoded.
func TestTLSGarbage(t *testing.T) {
	hello := clientHello(t)
	broken := append([]byte(nil), hello...)
	clear(broken[9:])
	for name, b := range map[string][]byte{
		"HTTP":            []byte("GET / HTTP/1.1\r\n\r\n"),
		"zeros":           make([]byte, 100),
		"long record":     {22, 3, 1, 0x41, 1},
		"other version":   {22, 4},
		"data":            {23, 3, 3, 0, 1, 0},
		"an alert":        {21, 3, 3, 0, 2, 2, 40},
		"no bytes":        {22, 3, 1, 0, 0},
		"broken hello":    broken,
		"hello and zeros": append(hello[:len(hello):len(hello)], make([]byte, 100)...),
	} {
		t.Run(name, func(t *testing.T) {
			log := new(lines)
			dev := device(t, &rdmatcp.Config{TLS: tlstest.NewAuthority(t).Config(), Logger: slog.New(slog.NewTextHandler(log, nil))})
			ln, err := dev.Listen(context.Background(), local)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			conn := dialRaw(t, ln.Addr())
			if _, err := conn.Write(b); err != nil {
				t.Fatal(err)
			}
			if name == "no bytes" { // crypto/tls waits for more
				conn.(*net.TCPConn).CloseWrite()
			}
			if err := awaitEnd(conn); err != nil {
				t.Fatal(err)
			}
			conn.Close()
			log.wants(t, "connection refused")
		})
	}
}

// MaxHandshakes closes the oldest connection in the handshake, and MaxPerSource counts all: they
// apply before TLS.
func TestTLSHandshakeLimits(t *testing.T) {
	cfg := &rdmatcp.Config{TLS: tlstest.NewAuthority(t).Config(), MaxHandshakes: 2, MaxPerSource: 3}
	dev := device(t, cfg)
	ln, err := dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var conns []net.Conn
	for range 3 {
		conns = append(conns, dialRaw(t, ln.Addr()))
		await(t, func() bool { return dev.Stats().RefusedHandshake == int64(max(0, len(conns)-2)) }, func() string { return "not closed" })
	}
	if err := awaitEnd(conns[0]); err != nil {
		t.Errorf("the oldest: %v", err)
	}
	conns = append(conns, dialRaw(t, ln.Addr()), dialRaw(t, ln.Addr()), dialRaw(t, ln.Addr()))
	await(t, func() bool { s := dev.Stats(); return s.RefusedSource+s.RefusedHandshake >= 3 }, func() string { return "no limit" })
}

// Dial ends with its context, with its queue pair, with the device, and after HandshakeTimeout,
// while the server is silent.
func TestTLSDialEnds(t *testing.T) {
	silent, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	config := tlstest.NewAuthority(t).Config()
	errCause := errors.New("the caller's reason")
	for _, tt := range []struct {
		name string
		end  func(d *rdmatcp.Device, v *victim, cancel func(error))
		want error
	}{
		{"context", func(_ *rdmatcp.Device, _ *victim, cancel func(error)) { cancel(errCause) }, errCause},
		{"queue pair", func(_ *rdmatcp.Device, v *victim, _ func(error)) { v.qp.Disconnect() }, verbs.ErrDisconnected},
		{"device", func(d *rdmatcp.Device, _ *victim, _ func(error)) { d.Remove() }, verbs.ErrDeviceRemoved},
		{"time", func(*rdmatcp.Device, *victim, func(error)) {}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := &rdmatcp.Config{TLS: config}
			if tt.want == nil {
				cfg.HandshakeTimeout = 50 * time.Millisecond
			}
			dev := device(t, cfg)
			v := &victim{newSide(t, dev), t}
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			done := make(chan error, 1)
			go func() {
				_, err := dev.Dial(ctx, silent.Addr().String(), v.qp, nil)
				done <- err
			}()
			conn, err := silent.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil { // it waits for the answer
				t.Fatal(err)
			}
			tt.end(dev, v, cancel)
			select {
			case err = <-done:
			case <-time.After(patience):
				t.Fatal("Dial still waits")
			}
			if tt.want == nil && !isTimeout(err) || !errors.Is(err, tt.want) && tt.want != nil || errors.Is(err, verbs.ErrTLS) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// Closing a listener, and removing its device, end handshakes.
func TestTLSListenerEnds(t *testing.T) {
	for name, end := range map[string]func(d *rdmatcp.Device, ln verbs.Listener){
		"listener": func(_ *rdmatcp.Device, ln verbs.Listener) { ln.Close() },
		"device":   func(d *rdmatcp.Device, _ verbs.Listener) { d.Remove() },
	} {
		t.Run(name, func(t *testing.T) {
			dev := device(t, &rdmatcp.Config{TLS: tlstest.NewAuthority(t).Config()})
			ln, err := dev.Listen(context.Background(), local)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			var conns []net.Conn
			for _, script := range []func(net.Conn){stalls(t)["silent"], stalls(t)["only a hello"]} {
				conn := dialRaw(t, ln.Addr())
				script(conn)
				conns = append(conns, conn)
			}
			if _, err := io.ReadFull(conns[1], make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			end(dev, ln)
			for _, conn := range conns {
				if err := awaitEnd(conn); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
