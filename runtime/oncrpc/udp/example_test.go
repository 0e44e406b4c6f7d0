package udp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// A service is served and called over UDP. A Call that is sent again because its reply was lost is
// not executed again: the reply cache sends the first reply.
func Example() {
	ctx := context.Background()
	program := oncrpc.Program{Number: 400000, Version: 1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = *args * *args
		return nil
	})
	server, err := udp.Listen(ctx, "127.0.0.1:0", replycache.New(rpc.NewHandler(nil, svc), nil), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	conn, err := udp.Dial(ctx, server.Addr(), nil)
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
