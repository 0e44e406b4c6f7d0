//go:build unix

package main

import (
	"context"
	"crypto/x509"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
)

// A certificate that replaces the server's is read at SIGHUP, and shown by the next connection. A
// file that is wrong is logged, and changes nothing.
func TestServeReadsCertificatesAgain(t *testing.T) {
	a := tlstest.NewAuthority(t)
	named := func(name string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.Subject.CommonName = name }
	}
	for _, provider := range []string{"rdmatcp", "iwarp"} {
		ca, cert, key := a.Write(named("nas1"))
		addr, errs := servingWith(t, "127.0.0.1:0", "-provider", provider, "-tls", "-cert", cert, "-key", key)
		logged := func(what string) {
			t.Helper()
			if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			for !strings.Contains(errs.String(), what) {
				if t.Context().Err() != nil {
					t.Fatal(errs.String())
				}
				time.Sleep(time.Millisecond)
			}
		}
		shows := func(name string) {
			t.Helper()
			args := []string{"ping", "-provider", provider, "-c", "1", "-tls", "-ca", ca, addr}
			if code, out, errs := try(context.Background(), args...); code != exitDone || !strings.Contains(out, "certificate of CN="+name+"\n") {
				t.Errorf("exit %d:\n%s%s", code, out, errs)
			}
		}
		shows("nas1")
		_, newCert, newKey := a.Write(named("nas2"))
		if err := os.Rename(newCert, cert); err != nil {
			t.Fatal(err)
		}
		logged("certs: a file cannot be used, what it had before stays in use")
		shows("nas1")
		if err := os.Rename(newKey, key); err != nil {
			t.Fatal(err)
		}
		logged("certs: the certificate was replaced")
		shows("nas2")
	}
}
