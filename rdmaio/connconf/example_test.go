package connconf_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/connconf"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// The first call over version 1 negotiates the limits of its connection.
func Example() {
	ctx := context.Background()
	network := mem.New(nil)
	serverDev, err := network.Open("server", nil)
	if err != nil {
		log.Fatal(err)
	}
	clientDev, err := network.Open("client", nil)
	if err != nil {
		log.Fatal(err)
	}
	service := rpc.NewHandler(nil, rpc.NewService(oncrpc.Program{Number: 400000, Version: 1}))
	server, err := rdmaio.Listen(ctx, serverDev, "here", connconf.Handler(service, nil), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	conn, err := rdmaio.Dial(ctx, clientDev, "here", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	served, err := connconf.Configure(ctx, conn, nil)
	fmt.Println(served, err)
	// Output: true <nil>
}
