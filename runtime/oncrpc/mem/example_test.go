package mem_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

var counting = oncrpc.Program{Number: 400000, Version: 1}

// counter counts its calls.
func counter() oncrpc.Handler {
	svc, n := rpc.NewService(counting), oncrpc.Uint32(0)
	rpc.Handle(svc, 1, func(_ *rpc.Request, _, res *oncrpc.Uint32) error {
		n++
		*res = n
		return nil
	})
	return rpc.NewHandler(nil, svc)
}

// A test calls a service without a network.
func Example() {
	conn := mem.New(counter(), nil)
	defer conn.Close()
	var args, res oncrpc.Uint32
	if err := rpc.NewClient(conn, counting, nil).Call(context.Background(), 1, &args, &res, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res)
	// Output: 1
}

// The connection is lost before the first reply. The client connects again and sends the Call
// again, and the reply cache does not let it count twice.
func ExampleNetwork() {
	lost := false
	network, err := mem.NewNetwork(replycache.New(counter(), nil), &mem.NetworkConfig{
		Fault: func(r mem.Record) (f mem.Fault) {
			if r.Reply && !lost {
				lost, f.Kind = true, mem.Lose
			}
			return f
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer network.Close()
	client, err := network.NewClient(&tcp.ClientConfig{Retransmits: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	var args, res oncrpc.Uint32
	if err := rpc.NewClient(client, counting, nil).Call(context.Background(), 1, &args, &res, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res)
	// Output: 1
}
