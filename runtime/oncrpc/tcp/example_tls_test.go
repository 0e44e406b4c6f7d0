package tcp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A server that serves only clients with a certificate of its authority, and answers them by their
// name. Server and client are one host here, with one configuration.
func ExampleTLS() {
	dir, remove := certificates("host7") // ca.pem, cert.pem and key.pem
	defer remove()
	ctx := context.Background()
	program := oncrpc.Program{Number: 400000, Version: 1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(r *rpc.Request, _, res *oncrpc.Uint32) error {
		host, ok := hostOf(r.Peer())
		if !ok {
			return oncrpc.Refused(oncrpc.AuthStatTooWeak)
		}
		fmt.Println("a call of", host)
		*res = 1
		return nil
	})

	config, err := loadTLS(dir)
	if err != nil {
		log.Print(err)
		return
	}
	cfg := &tcp.Config{TLS: tcp.TLS{
		Mode:   tcp.TLSRequired, // nothing in plaintext except the probe
		Config: config,
	}}
	server, err := tcp.Listen(ctx, "127.0.0.1:0", rpc.NewHandler(nil, svc), cfg)
	if err != nil {
		log.Print(err)
		return
	}
	defer server.Close()

	carrier, err := tcp.NewClient(server.Addr(), &tcp.ClientConfig{Conn: cfg})
	if err != nil {
		log.Print(err)
		return
	}
	defer carrier.Close()
	res := new(oncrpc.Uint32)
	if err := rpc.NewClient(carrier, program, nil).Call(ctx, 1, res, res, nil); err != nil {
		log.Print(err) // an oncrpc.ErrAuth, if the ends do not agree on TLS
	}
	// Output: a call of host7
}

// loadTLS reads the certificates of a host that is server and client.
func loadTLS(dir string) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &tls.Config{
		Certificates: []tls.Certificate{cert},
		RootCAs:      pool, // for the servers that it dials
		ClientCAs:    pool, // for its clients
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}, nil
}

// hostOf returns the name in a host's certificate. It says nothing about the user of a Call.
func hostOf(peer oncrpc.Peer) (name string, ok bool) {
	if peer.TLS == nil || !peer.TLS.Verified {
		return "", false
	}
	cert, err := x509.ParseCertificate(peer.TLS.PeerCertificates[0])
	if err != nil {
		return "", false
	}
	return cert.Subject.CommonName, true
}
