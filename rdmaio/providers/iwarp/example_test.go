package iwarp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// A server and a client over iWARP. Linux with an RNIC or siw can be the peer of either.
func Example() {
	ctx := context.Background()
	program := oncrpc.Program{Number: 400000, Version: 1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = *args * *args
		return nil
	})
	dev, err := iwarp.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", rpc.NewHandler(nil, svc), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	conn, err := rdmaio.Dial(ctx, dev, server.Addr(), nil)
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
