package rdmaio_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A server calls its client on the connection that the client made. In this program, the client
// calls procedure 1 to report that it is ready, and the server calls procedure 7. The
// program stops at an error, to keep the example short.
func ExampleBackchannel() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	dev, err := rdmatcp.Open(nil)
	must(err)
	defer dev.Close()
	answer := func(r *rdmaio.Request) {
		xid, _, _ := oncrpc.Peek(r.Message)
		reply, err := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
		must(err)
		r.Reply(rdmaio.Message{Inline: reply}, nil)
	}
	call := func(xid, proc uint32) *rdmaio.Call {
		b, err := oncrpc.NewCall(xid, 0x20000099, 1, proc, oncrpc.None()).AppendBinary(nil)
		must(err)
		return &rdmaio.Call{Message: rdmaio.Message{Inline: b}}
	}

	back := rdmaio.NewBackchannel(nil)
	defer back.Close()
	server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if binary.BigEndian.Uint32(r.Message[20:]) == 1 {
			back.Bind(r.Conn().(*rdmaio.Conn)) // the client calls it again on each new connection
		}
		answer(r)
	}), &rdmaio.Config{ReverseCredits: 4})
	must(err)
	defer server.Close()

	client, err := rdmaio.Dial(ctx, dev, server.Addr(), &rdmaio.Config{
		ReverseHandler: rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			fmt.Println("the client was called: procedure", binary.BigEndian.Uint32(r.Message[20:]))
			answer(r)
		}),
	})
	must(err)
	defer client.Close()

	_, err = client.Call(ctx, call(1, 1))
	must(err)
	_, err = back.Call(ctx, call(back.XID(), 7))
	fmt.Println("the server has its answer:", err)
	// Output:
	// the client was called: procedure 7
	// the server has its answer: <nil>
}
