package replycache_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// A Call that comes twice is executed once: both get the reply of the first.
func Example() {
	program := oncrpc.Program{Number: 400000, Version: 1}
	svc, orders := rpc.NewService(program), oncrpc.Uint32(0)
	rpc.Handle(svc, 1, func(_ *rpc.Request, _, res *oncrpc.Uint32) error {
		orders++
		*res = orders
		return nil
	})
	cache := replycache.New(rpc.NewHandler(nil, svc), nil) // pass it to any carrier's Listen
	conn := mem.New(cache, nil)
	defer conn.Close()

	call, err := oncrpc.NewCall(1001, program.Number, program.Version, 1, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		log.Fatal(err)
	}
	call = append(call, 0, 0, 0, 7) // the arguments
	for range 2 {                   // the same XID
		reply, err := conn.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: call}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("orders:", reply.Message[len(reply.Message)-1])
	}
	// Output:
	// orders: 1
	// orders: 1
}
