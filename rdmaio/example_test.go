package rdmaio_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A server that answers every Call, and a client that calls procedure 0 over TCP. The
// program stops at an error, to keep the example short.
func Example() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	dev, err := rdmatcp.Open(nil) // a device for both; nil is all defaults
	must(err)
	defer dev.Close()

	null := func(r *rdmaio.Request) {
		xid, _, _ := oncrpc.Peek(r.Message)
		reply, err := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
		must(err)
		r.Reply(rdmaio.Message{Inline: reply}, nil)
	}
	server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", rdmaio.HandlerFunc(null), nil)
	must(err)
	defer server.Close()

	client, err := rdmaio.NewClient(dev, server.Addr(), nil)
	must(err)
	defer client.Close()

	xid := client.XID()
	call, err := oncrpc.NewCall(xid, 100003, 3, 0, oncrpc.None()).AppendBinary(nil)
	must(err)
	reply, err := client.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: call}})
	must(err)

	var head oncrpc.Header
	must(head.UnmarshalBinary(reply.Message))
	fmt.Println("refused:", oncrpc.CheckReply(&head, xid))
	// Output: refused: <nil>
}
