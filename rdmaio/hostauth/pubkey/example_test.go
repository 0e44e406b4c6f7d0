package pubkey_test

import (
	"crypto/ed25519"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth/pubkey"
)

// Both ends in memory. On a connection, each Message goes to the other end in property 6 of
// RDMA2_CONNPROP.
func Example() {
	clientPublic, clientKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	serverPublic, serverKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	start := func(role hostauth.Role, sent, received string, cfg *pubkey.Config) *hostauth.Session {
		method, err := pubkey.New(cfg)
		if err != nil {
			panic(err)
		}
		info := hostauth.Info{
			Role:     role,
			Binding:  hostauth.Binding{Type: "tls-exporter", Data: []byte("from the TLS connection below")},
			Sent:     []byte(sent),
			Received: []byte(received),
		}
		session, err := hostauth.NewSession(method, info, hostauth.Limits{})
		if err != nil {
			panic(err)
		}
		return session
	}
	client := start(hostauth.Client, "properties of the client", "properties of the server", &pubkey.Config{
		Key: clientKey, Keys: map[string]ed25519.PublicKey{"nas1": serverPublic}, ServerName: "nas1",
	})
	server := start(hostauth.Server, "properties of the server", "properties of the client", &pubkey.Config{
		Key: serverKey, Keys: map[string]ed25519.PublicKey{"node7": clientPublic},
	})

	if _, err := server.Begin(); err != nil {
		panic(err)
	}
	step, err := client.Begin()
	for from, to := client, server; err == nil && step.Send; from, to = to, from {
		fmt.Println(len(step.Message), "bytes")
		step, err = to.Receive(step.Message)
	}
	if err != nil {
		panic(err)
	}
	peer, ok := client.Peer()
	fmt.Println("client:", peer.Name, ok)
	peer, ok = server.Peer()
	fmt.Println("server:", peer.Name, ok)
	// Output:
	// 74 bytes
	// 238 bytes
	// 168 bytes
	// client: nas1 true
	// server: node7 true
}
