package tcp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A service of a program is served and called over TCP. The same handler can be passed to
// rdmaio.Listen, and the same rpc.NewClient takes an rdmaio.Client.
func Example() {
	ctx := context.Background()
	program := oncrpc.Program{Number: 400000, Version: 1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = *args * *args
		return nil
	})
	server, err := tcp.Listen(ctx, "127.0.0.1:0", rpc.NewHandler(nil, svc), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	carrier, err := tcp.NewClient(server.Addr(), nil) // connects at the first call
	if err != nil {
		log.Fatal(err)
	}
	defer carrier.Close()
	squares := rpc.NewClient(carrier, program, nil)
	args, res := oncrpc.Uint32(12), oncrpc.Uint32(0)
	if err := squares.Call(ctx, 1, &args, &res, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res)
	// Output: 144
}
