package rdmaio_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// A client that prefers version 2 calls an old server and a new one. A Call of 10,000 bytes needs
// no registered memory in version 2: it goes in several Sends. In version 1 the server reads it
// from the client's memory. The program exits at the first error, to keep the example short.
func ExampleConfig_versions() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	network := mem.New(nil)
	dev, err := network.Open("server", nil)
	must(err)
	defer dev.Close()
	own, err := network.Open("client", nil)
	must(err)
	defer own.Close()

	null := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		xid, _, _ := oncrpc.Peek(r.Message)
		reply, err := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
		must(err)
		r.Reply(rdmaio.Message{Inline: reply}, nil)
	})
	for _, versions := range [][]int{{1}, {1, 2}} {
		server, err := rdmaio.Listen(ctx, dev, fmt.Sprint("server of ", versions), null, &rdmaio.Config{Versions: versions})
		must(err)
		conn, err := rdmaio.Dial(ctx, own, server.Addr(), &rdmaio.Config{Versions: []int{2, 1}})
		must(err)
		call, err := oncrpc.NewCall(conn.XID(), 0x20000099, 1, 0, oncrpc.None()).AppendBinary(nil)
		must(err)
		_, err = conn.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: append(call, make([]byte, 10_000)...)}})
		must(err)
		s := conn.Stats()
		fmt.Printf("%s: version %d, %d registrations, %d parts\n", server.Addr(), s.Version, s.Registrations, s.PartsSent)
		must(conn.Close())
		must(server.Close())
	}
	// Output:
	// server of [1]: version 1, 1 registrations, 0 parts
	// server of [1 2]: version 2, 0 registrations, 2 parts
}
