package mem_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// A server and a client of RPC over RDMA in one process, as in tests. The server listens at a name
// in place of an address.
func Example() {
	ctx := context.Background()
	program := oncrpc.Program{Number: 400000, Version: 1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = *args * *args
		return nil
	})
	network := mem.New(nil)
	serverDev, err := network.Open("server", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer serverDev.Close()
	clientDev, err := network.Open("client", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer clientDev.Close()
	server, err := rdmaio.Listen(ctx, serverDev, "squares", rpc.NewHandler(nil, svc), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	conn, err := rdmaio.Dial(ctx, clientDev, "squares", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	args, res := oncrpc.Uint32(12), oncrpc.Uint32(0)
	if err := rpc.NewClient(conn, program, nil).Call(ctx, 1, &args, &res, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res)
	// Output: 144
}
