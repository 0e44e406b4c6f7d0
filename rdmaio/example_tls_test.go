package rdmaio_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A server and a client that check each other's certificates, and a handler that decides by the
// client's certificate. Both ends have one configuration here, which is possible where each trusts
// the same authority.
func ExampleConn_Peer() {
	cert, authority, err := certificate("host7")
	if err != nil {
		fmt.Println(err)
		return
	}
	dev, err := rdmatcp.Open(&rdmatcp.Config{TLS: &tls.Config{
		Certificates: []tls.Certificate{cert},        // of this host
		RootCAs:      authority,                      // for the servers that it dials
		ClientCAs:    authority,                      // for its clients
		ClientAuth:   tls.RequireAndVerifyClientCert, // a client without a certificate is refused
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()

	handler := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if host, ok := clientHost(r.Conn()); ok {
			fmt.Println("a call of", host)
		}
		reply := binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(r.Message))
		r.Reply(rdmaio.Message{Inline: append(reply, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)}, nil)
	})
	ctx := context.Background()
	server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", handler, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	client, err := rdmaio.NewClient(dev, server.Addr(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	call := binary.BigEndian.AppendUint32(nil, client.XID())
	if _, err := client.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: append(call, make([]byte, 36)...)}}); err != nil {
		fmt.Println(err)
	}
	// Output: a call of host7
}

// clientHost returns the name in the client's certificate.
func clientHost(conn oncrpc.Conn) (name string, ok bool) {
	state := conn.Peer().TLS
	if state == nil || !state.Verified {
		return "", false
	}
	cert, err := x509.ParseCertificate(state.PeerCertificates[0])
	if err != nil {
		return "", false
	}
	return cert.Subject.CommonName, true
}

// certificate returns a certificate for 127.0.0.1 that is its own authority. A program reads the
// files of its administrator instead, with tls.LoadX509KeyPair and x509.CertPool.
func certificate(name string) (tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool, nil
}
