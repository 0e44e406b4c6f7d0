package xchar_test

import (
	"context"
	"encoding/binary"
	"fmt"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/xchar"
)

// A server has Receives of 4096 bytes at first, and memory for 16384. The client asks for that. The
// server announces it when its small Receives are used up, here by Calls.
func ExampleExtension() {
	ctx := context.Background()
	fabric := mem.New(nil)
	serverDev, _ := fabric.Open("server", nil)
	clientDev, _ := fabric.Open("client", nil)
	defer serverDev.Close()
	defer clientDev.Close()
	config := func(x *xchar.Config) *rdmaio.Config {
		ext, err := xchar.Extension(x)
		if err != nil {
			panic(err)
		}
		return &rdmaio.Config{Versions: []int{2}, InlineSend: 16384, InlineRecv: 16384, Extensions: []rdmaio.Extension{ext}}
	}

	echo := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		reply := make([]byte, 24)
		copy(reply, r.Message[:4])
		reply[7] = 1
		r.Reply(rdmaio.Message{Inline: reply}, nil)
	})
	small := xchar.Characteristics{ReceiveSize: 4096}
	server, err := rdmaio.Listen(ctx, serverDev, "there", echo, config(&xchar.Config{Local: small, Policy: generous{}}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	conn, err := rdmaio.Dial(ctx, clientDev, "there", config(nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	x, ok := xchar.Of(conn)
	fmt.Println("version 2 with the extension:", ok)
	results, err := x.Request(ctx, xchar.ReceiveSize(16384))
	fmt.Println(results, err)
	for x.PeerState(wire.IDReceiveBufferSize) == xchar.StatePending {
		call := make([]byte, 40)
		binary.BigEndian.PutUint32(call, conn.XID())
		if _, err := conn.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: call}}); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("receive size of the server:", x.Peer().ReceiveSize)
	// Output:
	// version 2 with the extension: true
	// [pending] <nil>
	// receive size of the server: 16384
}
