package rdmaio_test

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth/pubkey"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
)

// A server that accepts one client host, and a client that accepts one server. Each has the public
// key of the other. Over rdmatcp, give Dial and Listen a device with Config.TLS, and set
// RequireBinding: without it, a relay between the two is not detected.
func ExampleHostAuth() {
	serverPublic, serverKey, _ := ed25519.GenerateKey(nil)
	clientPublic, clientKey, _ := ed25519.GenerateKey(nil)
	serverMethod, err := pubkey.New(&pubkey.Config{
		Key: serverKey, Keys: map[string]ed25519.PublicKey{"node7": clientPublic}, RequireBinding: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	clientMethod, err := pubkey.New(&pubkey.Config{
		Key: clientKey, Keys: map[string]ed25519.PublicKey{"nas1": serverPublic}, ServerName: "nas1", RequireBinding: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	net := mem.New(nil) // its connections have channel bindings
	ctx := context.Background()
	dev, err := net.Open("nas1", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	who := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		peer := r.Conn().Peer().Host // known: no Call is served before
		reply := binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(r.Message))
		reply = append(binary.BigEndian.AppendUint32(reply, 1), peer.Name...)
		r.Reply(rdmaio.Message{Inline: append(reply, 0, 0, 0)}, nil)
	})
	server, err := rdmaio.Listen(ctx, dev, "nas1", who, &rdmaio.Config{
		Versions: []int{2}, HostAuth: rdmaio.HostAuth{Mode: rdmaio.HostAuthRequired, Method: serverMethod},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	conn, err := rdmaio.Dial(ctx, dev, server.Addr(), &rdmaio.Config{
		Versions: []int{2}, HostAuth: rdmaio.HostAuth{Mode: rdmaio.HostAuthRequired, Method: clientMethod},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	peer := conn.Peer().Host
	fmt.Println("the client is connected to", peer.Name)

	call := binary.BigEndian.AppendUint32(nil, conn.XID())
	reply, err := conn.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: append(call, make([]byte, 36)...)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("the server serves %s\n", reply.Message[8:13])
	// Output:
	// the client is connected to nas1
	// the server serves node7
}
