package rpcbind_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A service is registered for RDMA, and found by a client. On a host that runs rpcbind,
// rpcbind.Dial connects to port 111 in place of tcp.Dial.
func Example() {
	ctx := context.Background()
	server, err := tcp.Listen(ctx, "127.0.0.1:0", rpc.NewHandler(nil, rpcbind.NewServer(nil).Services()...), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	conn, err := tcp.Dial(ctx, server.Addr(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	binder := rpcbind.NewClient(conn, nil)
	at := netip.MustParseAddrPort("0.0.0.0:20049") // all addresses of this host
	if err := binder.Set(ctx, 400000, 1, oncrpc.NetIDRDMA, at, ""); err != nil {
		log.Fatal(err)
	}
	found, err := binder.Lookup(ctx, 400000, 1, oncrpc.NetIDRDMA)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found)
	// Output: 127.0.0.1:20049
}
