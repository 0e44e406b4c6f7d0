package certs_test

import (
	"crypto/tls"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/certs"
)

// What a handshake pays for a choice without a look, and the one that looks at unchanged files.
func BenchmarkLook(b *testing.B) {
	ca, cert, key := tlstest.NewAuthority(b).Write(nil)
	files, err := certs.Open(&certs.Config{Cert: cert, Key: key, CA: ca})
	if err != nil {
		b.Fatal(err)
	}
	choose := files.TLS().GetConfigForClient
	b.Run("not yet", func(b *testing.B) {
		for b.Loop() {
			if _, err := choose(new(tls.ClientHelloInfo)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			if err := files.Reload(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
