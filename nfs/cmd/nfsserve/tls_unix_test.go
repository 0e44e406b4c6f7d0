//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// With -tls required a client without TLS is refused. A certificate that replaces the server's is
// used after SIGHUP, and old connections stay up.
func TestCertificateIsReplacedAtHangup(t *testing.T) {
	a := tlstest.NewAuthority(t)
	ca, cert, key := a.Write(func(c *x509.Certificate) { c.Subject.CommonName = "nas1" })
	o := options{files: "mem", tcp: "127.0.0.1:0", portmap: "off", provider: "rdmatcp", tls: tlsFlags{"required", cert, key, ca}}
	o.Export = "/export"
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- serve(ctx, o, write, io.Discard)
		write.Close()
	}()
	lines := bufio.NewReader(read)
	ready, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err, <-done)
	}
	if advice, _ := lines.ReadString('\n'); !strings.Contains(advice, "mountproto=tcp,xprtsec=mtls 127.0.0.1:/export") {
		t.Errorf("advice %q", advice)
	}
	_, addr, _ := strings.Cut(strings.TrimSpace(ready), ": tcp ")
	dial := func(mode tcp.TLSMode) (*tcp.Conn, string) {
		t.Helper()
		conn, err := tcp.Dial(ctx, addr, &tcp.Config{TLS: tcp.TLS{Mode: mode, Config: a.Config()}})
		check(t, err)
		t.Cleanup(func() { conn.Close() })
		state := conn.Peer().TLS
		if state == nil {
			return conn, ""
		}
		leaf, err := x509.ParseCertificate(state.PeerCertificates[0])
		check(t, err)
		return conn, leaf.Subject.CommonName
	}
	works := func(conn *tcp.Conn) error {
		_, err := mount3rpc.NewClient(conn, nil).Mount(ctx, mount3.DirPath("/export"))
		return err
	}
	first, name := dial(tcp.TLSRequired)
	if err := works(first); err != nil || name != "nas1" {
		t.Errorf("%v, certificate of %s", err, name)
	}
	plain, _ := dial(tcp.TLSOff)
	if err := rpc.NewClient(plain, mount3rpc.Program(), nil).Call(ctx, 0, nil, nil, nil); !oncrpcTooWeak(err) {
		t.Errorf("a client without TLS: %v", err)
	}
	_, newCert, newKey := a.Write(func(c *x509.Certificate) { c.Subject.CommonName = "nas2" })
	check(t, os.Rename(newCert, cert))
	check(t, os.Rename(newKey, key))
	check(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	for name != "nas2" && ctx.Err() == nil {
		_, name = dial(tcp.TLSRequired)
	}
	if err := works(first); err != nil {
		t.Error(err)
	}
	stop()
	check(t, <-done)
}

func oncrpcTooWeak(err error) bool {
	refused, ok := err.(interface{ Unwrap() error })
	return ok && strings.Contains(refused.Unwrap().Error(), oncrpc.AuthStatTooWeak.String())
}

// Flags of TLS that contradict each other are errors of usage, and files that cannot be used name
// their flag.
func TestFlagsOfTLS(t *testing.T) {
	ca, cert, key := tlstest.NewAuthority(t).Write(nil)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"-tls on", 2, `found -tls "on", expected off, wanted or required`},
		{"-cert " + cert, 2, "-cert, -key and -ca have no effect without -tls"},
		{"-tls wanted", 2, "a server with -tls needs a certificate"},
		{"-tls required -cert " + cert + " -key " + key, 2, "add -rdma ''"},
		{"-tls wanted -cert " + ca + " -key " + key, 1, "-key: " + key + " is not the private key of the first certificate in " + ca},
		{"-tls wanted -cert missing.pem", 1, "-cert: open missing.pem"},
		{"-tls wanted -ca " + key + " -cert " + cert + " -key " + key, 1, "-ca: " + key + " has no certificate in PEM"},
	} {
		args := append(strings.Fields(tt.args), "-fs", "mem", "-portmap", "off", "-tcp", "127.0.0.1:0")
		if _, errs, code := try(t, args...); code != tt.code || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exit code %d, %s", tt.args, code, errs)
		}
	}
}
