package certs_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/certs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A server whose certificate is renewed while it runs. Reload looks at the files at once; without
// it a connection some seconds later would have the new certificate, too.
func ExampleOpen() {
	dir := makeFolder()
	defer os.RemoveAll(dir)
	issue(dir, "monday")
	files, err := certs.Open(&certs.Config{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")})
	if err != nil {
		log.Print(err)
		return
	}
	defer files.ReloadAt()()
	handler := rpc.NewHandler(nil, rpc.NewService(oncrpc.Program{Number: 400000, Version: 1}))
	server, err := tcp.Listen(context.Background(), "127.0.0.1:0", handler, &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: files.TLS()}})
	if err != nil {
		log.Print(err)
		return
	}
	defer server.Close()

	show(dir, server.Addr())
	issue(dir, "tuesday")
	if err := files.Reload(); err != nil {
		log.Print(err)
	}
	show(dir, server.Addr())
	// Output:
	// connected to monday
	// connected to tuesday
}

// A client that lives long asks for its authorities at each connection, so that it follows the file
// of -ca, too.
func ExampleFiles_TLS() {
	dir := makeFolder()
	defer os.RemoveAll(dir)
	issue(dir, "monday")
	files, err := certs.Open(&certs.Config{CA: filepath.Join(dir, "cert.pem")})
	if err != nil {
		log.Print(err)
		return
	}
	client, err := tcp.NewClient("storage.example.net:2049", &tcp.ClientConfig{
		Dial: func(ctx context.Context, addr string, cfg *tcp.Config) (*tcp.Conn, error) {
			var now tcp.Config
			if cfg != nil {
				now = *cfg
			}
			now.TLS.Mode, now.TLS.Config = tcp.TLSRequired, files.TLS()
			return tcp.Dial(ctx, addr, &now)
		},
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer client.Close()
	// Output:
}

// show connects to the server and prints the name in its certificate.
func show(dir, addr string) {
	files, err := certs.Open(&certs.Config{CA: filepath.Join(dir, "cert.pem")})
	if err != nil {
		log.Print(err)
		return
	}
	conn, err := tcp.Dial(context.Background(), addr, &tcp.Config{TLS: tcp.TLS{Mode: tcp.TLSRequired, Config: files.TLS()}})
	if err != nil {
		log.Print(err)
		return
	}
	defer conn.Close()
	if c, err := x509.ParseCertificate(conn.Peer().TLS.PeerCertificates[0]); err == nil {
		fmt.Println("connected to", c.Subject.CommonName)
	}
}

func makeFolder() string {
	dir, err := os.MkdirTemp("", "certs")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// issue writes a certificate that is its own authority, as a program that renews certificates does.
func issue(dir, name string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		log.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			log.Fatal(err)
		}
	}
}
