package strangertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
)

// secure returns both ends of a stream in TLS.
func secure(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"host"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	a, b := tcp(t)
	return tls.Client(a, &tls.Config{ServerName: "host", RootCAs: roots}),
		tls.Server(b, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
}

// The vectors are the same inside TLS.
func TestVectorsTLS(t *testing.T) {
	all, err := stranger.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		for i, initiator := range []bool{false, true} {
			if v.Choice[i] {
				continue
			}
			t.Run(fmt.Sprintf("%s, initiator %t", v.Name, initiator), func(t *testing.T) {
				cfg := config()
				vectorConfig(cfg, v.Frames[i])
				s := &side{host: newHost(t, open(t, cfg))}
				conn, theirs := secure(t)
				defer conn.Close()
				if err := v.Play(s, initiator, conn, theirs); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
