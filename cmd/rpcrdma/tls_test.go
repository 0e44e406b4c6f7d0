package main

import (
	"context"
	"crypto/x509"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
)

// ping and perf reach a server over TLS, and both ends check each other with -ca. The commands
// print the session and the server's certificate.
func TestPingAndPerfOverTLS(t *testing.T) {
	a := tlstest.NewAuthority(t)
	ca, cert, key := a.Write(func(c *x509.Certificate) { c.Subject.CommonName = "nas1" })
	for _, provider := range []string{"rdmatcp", "iwarp"} {
		addr := serving(t, "-provider", provider, "-tls", "-cert", cert, "-key", key, "-ca", ca)
		mine := []string{"-provider", provider, "-tls", "-cert", cert, "-key", key, "-ca", ca}
		ctx := context.Background()
		code, out, errs := try(ctx, append(append([]string{"ping", "-c", "1"}, mine...), addr)...)
		if code != exitDone || !strings.Contains(out, "TLS 1.3, TLS_") || !strings.Contains(out, "certificate of CN=nas1\n") {
			t.Errorf("ping: exit %d:\n%s%s", code, out, errs)
		}
		code, out, errs = try(ctx, append(append([]string{"ping", "-json", "-c", "1", "-tls-name", "server.example"}, mine...), addr)...)
		if code != exitDone || objects(t, out)[0]["tls_version"] != "TLS 1.3" || objects(t, out)[0]["tls_server"] != "CN=nas1" {
			t.Errorf("ping -json: exit %d:\n%s%s", code, out, errs)
		}
		code, out, errs = try(ctx, append(append([]string{"perf", "-n", "20", "-P", "2", "-size", "64k", "-verify", "-q"}, mine...), addr)...)
		if code != exitDone {
			t.Errorf("perf: exit %d:\n%s%s", code, out, errs)
		}
	}
	if code, out, errs := try(context.Background(), "perf", "-tls", "-n", "20", "-q"); code != exitDone {
		t.Errorf("perf without a host: exit %d:\n%s%s", code, out, errs)
	}
}

// A connection that TLS refuses is an error with its reason and what to do; flags that contradict
// each other are usage errors.
func TestTLSErrors(t *testing.T) {
	ca, cert, key := tlstest.NewAuthority(t).Write(nil)
	other, _, _ := tlstest.NewAuthority(t).Write(nil)
	addr := serving(t, "-q", "-tls", "-cert", cert, "-key", key)
	mutual := serving(t, "-q", "-tls", "-cert", cert, "-key", key, "-ca", ca)
	plain := serving(t, "-q")
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want []string
	}{
		{"ping -c 1 -tls -ca " + ca + " " + addr, exitDone, nil},
		{"ping -c 1 -tls -insecure " + addr, exitDone, nil},
		{"ping -c 1 " + addr, exitFailed, []string{"the peer speaks TLS", "try: -tls"}},
		{"ping -c 1 -tls -ca " + ca + " " + plain, exitFailed, []string{"it may have no TLS at this address", "try: no -tls, if the server does not have TLS; -provider iwarp"}},
		{"ping -c 1 -tls " + addr, exitFailed, []string{"unknown authority", "try: -ca FILE with the authority"}},
		{"ping -c 1 -tls -ca " + other + " " + addr, exitFailed, []string{"unknown authority"}},
		{"ping -c 1 -tls -tls-name other.example -ca " + ca + " " + addr, exitFailed, []string{"not other.example", "try: the server by a name of its certificate, or -tls-name"}},
		{"ping -c 1 -tls -ca " + ca + " localhost:" + port, exitFailed, []string{"not localhost"}},
		{"ping -c 1 -tls -ca " + key + " " + addr, exitFailed, []string{"authorities:", "has no certificate in PEM"}},
		{"ping -c 1 -tls -cert " + ca + " " + addr, exitFailed, []string{"certificate: " + ca + " has no private key in PEM", "try: -key FILE with the private key"}},
		{"ping -c 1 -tls -cert " + key + " -key " + key + " " + addr, exitFailed, []string{"certificate: " + key + " has no certificate in PEM"}},
		{"ping -c 1 -tls -cert " + ca + " -key " + key + " " + addr, exitFailed, []string{key + " is not the private key of the first certificate in " + ca}},
		{"ping -c 1 -tls -cert missing.pem " + addr, exitFailed, []string{"certificate: open missing.pem:", "try: -cert FILE is a PEM file"}},
		{"ping -c 1 -tls -cert " + cert + " -key missing.pem " + addr, exitFailed, []string{"certificate: open missing.pem:", "try: -key FILE is a PEM file"}},
		{"ping -c 1 -tls -ca " + ca + " " + mutual, exitFailed, []string{"try: -cert and -key with a certificate of an authority that the server accepts"}},
		{"ping -c 1 -ca " + ca + " " + addr, exitUsage, []string{"-ca has no effect without -tls"}},
		{"ping -c 1 -tls -key " + key + " " + addr, exitUsage, []string{"-key needs -cert"}},
		{"perf -provider mem -tls", exitUsage, []string{"mem has no TLS"}},
		{"serve -tls 127.0.0.1:0", exitUsage, []string{"a server with -tls needs a certificate"}},
	} {
		code, out, errs := try(context.Background(), strings.Fields(tt.args)...)
		if code != tt.code {
			t.Errorf("%s: exit %d, want %d:\n%s%s", tt.args, code, tt.code, out, errs)
		}
		for _, want := range tt.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: want %q:\n%s", tt.args, want, errs)
			}
		}
	}
}
