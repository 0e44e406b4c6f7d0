// Command hello calls a procedure of hello.x over RDMA and over TCP. README.md shows it.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/rpcrdma/rpcrdma/examples/hello/hello"
	"github.com/rpcrdma/rpcrdma/examples/hello/hello/hellorpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// greeter has the method that hellorpc.Server, made from hello.x, asks for.
type greeter struct{}

func (greeter) Greet(_ *rpc.Request, name *hello.Name, res *hello.Greeting) error {
	*res = append(hello.Greeting("hello, "), *name...)
	return nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	handler := rpc.NewHandler(nil, hellorpc.NewService(greeter{}))
	dev := must(rdmatcp.Open(nil)) // a device for RDMA over TCP; ibverbs.Open(nil) for an RDMA card
	overRDMA := must(rdmaio.Listen(ctx, dev, "localhost:0", handler, nil))
	overTCP := must(tcp.Listen(ctx, "localhost:0", handler, nil))
	rdma := must(rdmaio.NewClient(dev, overRDMA.Addr(), nil))
	plain := must(tcp.NewClient(overTCP.Addr(), nil))
	for _, carrier := range []oncrpc.Carrier{rdma, plain} {
		fmt.Printf("%s\n", must(hellorpc.NewClient(carrier, nil).Greet(ctx, hello.Name("world"))))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
