package tcp_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// openssl starts a command of OpenSSL, which ends with the test. Its standard input and output are
// the stream that is returned: plaintext that OpenSSL sends and receives over TLS.
func openssl(t testing.TB, args ...string) net.Conn {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, witness.Program(t, "openssl"), args...)
	mine, its := net.Pipe()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs := new(lines)
	cmd.Stdout, cmd.Stderr = its, errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(stdin, its)
		_ = stdin.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_ = mine.Close()
		_ = its.Close()
		_ = cmd.Wait()
		<-done
		if t.Failed() {
			t.Logf("openssl %v: %s", args, errs)
		}
	})
	_ = mine.SetDeadline(time.Now().Add(patience))
	return mine
}

// ownPort returns an address with a free port, for a program that cannot choose one. On Linux all
// of 127.0.0.0/8 is the loopback interface, and this process takes its own address: at 127.0.0.1
// the port could be given to another program before this one uses it, or get a connection meant for
// the program that had it before.
func ownPort(t testing.TB) string {
	t.Helper()
	pid := os.Getpid()
	ln, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>16&63, pid>>8&255, pid&255))
	if err != nil {
		ln, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// relay copies between two streams until one ends.
func relay(a, b net.Conn) {
	done := make(chan struct{}, 2)
	for _, ends := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1])
			done <- struct{}{}
		}()
	}
	<-done
	_, _ = a.Close(), b.Close()
	<-done
}

// OpenSSL as the client's end of TLS (RFC 9289 §5): the test sends the probe, and OpenSSL the
// handshake on the same connection, by a relay. Both ends check the other's certificate. Then RPC
// records go through OpenSSL.
func TestOpenSSLClientRPC(t *testing.T) {
	a := tlstest.NewAuthority(t)
	ca, cert, key := a.Write(func(c *x509.Certificate) { c.Subject.CommonName = "host7" })
	peers := make(chan oncrpc.Peer, 10)
	svc := newService()
	s := listen(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		peers <- r.Conn().Peer()
		svc.ServeRPC(r)
	}), secured(a, tcp.TLSRequired))
	addr := scripted(t, func(c net.Conn) {
		up := raw(t, s.Addr())
		_, _ = up.Write(probeCall(9))
		reply := make([]byte, len(startTLS(9)))
		if _, err := io.ReadFull(up, reply); err != nil || !bytes.Equal(reply, startTLS(9)) {
			t.Errorf("the reply is %x, %v", reply, err)
			return
		}
		relay(c, up)
	})
	stream := openssl(t, "s_client", "-quiet", "-connect", addr, "-alpn", "sunrpc", "-tls1_3", "-servername", "server.example",
		"-verify_hostname", "server.example", "-CAfile", ca, "-cert", cert, "-key", key, "-verify_return_error")
	for xid := range uint32(3) {
		if _, err := stream.Write(goodCall(xid)); err != nil {
			t.Fatal(err)
		}
		expect(t, "the answer", stream, goodReply(xid))
		p := <-peers
		if p.TLS == nil || p.TLS.Version != "TLS 1.3" || p.TLS.Protocol != "sunrpc" || p.TLS.ServerName != "server.example" || !p.TLS.Verified {
			t.Fatalf("found %+v", p.TLS)
		}
		if c, err := x509.ParseCertificate(p.TLS.PeerCertificates[0]); err != nil || c.Subject.CommonName != "host7" {
			t.Errorf("client %v, %v", c, err)
		}
	}
}

// OpenSSL as the server's end of TLS: the test answers the probe, and OpenSSL does the handshake on
// the same connection, by a relay.
func TestOpenSSLServerRPC(t *testing.T) {
	a := tlstest.NewAuthority(t)
	ca, cert, key := a.Write(nil)
	behind := ownPort(t)
	stream := openssl(t, "s_server", "-quiet", "-accept", behind, "-naccept", "1", "-alpn", "sunrpc", "-tls1_3",
		"-CAfile", ca, "-cert", cert, "-key", key, "-Verify", "1", "-verify_return_error")
	addr := scripted(t, func(c net.Conn) {
		xid, _, _, err := readProbe(c)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = c.Write(startTLS(xid))
		up, err := net.Dial("tcp", behind)
		for limit := time.Now().Add(patience); errors.Is(err, syscall.ECONNREFUSED) && time.Now().Before(limit); up, err = net.Dial("tcp", behind) {
			time.Sleep(time.Millisecond) // until OpenSSL listens
		}
		if err != nil {
			t.Error(err)
			return
		}
		relay(c, up)
	})
	c, err := dialWithin(t, addr, secured(a, tcp.TLSRequired))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			b := make([]byte, len(goodCall(0)))
			if _, err := io.ReadFull(stream, b); err != nil {
				return
			}
			_, _ = stream.Write(goodReply(uint32(b[6])<<8 | uint32(b[7])))
		}
	}()
	for xid := range uint32(3) {
		if _, err := c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: goodCall(xid)[4:]}}); err != nil {
			t.Error(err)
		}
	}
	if p := c.Peer(); p.TLS == nil || p.TLS.Version != "TLS 1.3" || p.TLS.Protocol != "sunrpc" || !p.TLS.Verified {
		t.Errorf("found %+v", p.TLS)
	}
}
