package carriers_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/netip"
	"strings"

	"github.com/rpcrdma/rpcrdma/carriers"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// One handler, with one reply cache, serves TCP, UDP and RDMA. A client uses two of the addresses:
// RDMA, and TCP while RDMA is down.
func Example() {
	ctx := context.Background()
	program := oncrpc.Program{Number: 400000, Version: 1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = *args * *args
		return nil
	})
	handler := replycache.New(rpc.NewHandler(nil, svc), nil)

	device, err := rdmatcp.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	servers, err := carriers.Start(ctx, handler,
		carriers.TCP("127.0.0.1:0", nil), carriers.UDP("127.0.0.1:0", nil), carriers.RDMA(device, "127.0.0.1:0", nil))
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	list := servers.List()
	fmt.Println(list[0].Carrier, list[1].Carrier, list[2].Carrier)

	overRDMA, err := carriers.RDMAAddresses(ctx, device, []string{list[2].Addr}, nil)
	if err != nil {
		log.Fatal(err)
	}
	overTCP, err := carriers.TCPAddresses(ctx, []string{list[0].Addr}, nil)
	if err != nil {
		log.Fatal(err)
	}
	client, err := carriers.NewClient(append(overRDMA, overTCP...), &carriers.ClientConfig{Order: carriers.InOrder})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	squares := rpc.NewClient(client, program, nil)
	args, res := oncrpc.Uint32(12), oncrpc.Uint32(0)
	if err := squares.Call(ctx, 1, &args, &res, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res)
	if err := servers.Shutdown(ctx); err != nil { // handlers answer what they have
		log.Fatal(err)
	}
	// Output:
	// tcp udp rdma
	// 144
}

// A server listens over RDMA where it has a device, and over TCP. A client uses RDMA where a device
// reaches the server, and otherwise TCP. Here Open fails, as it does on a machine without a device.
func ExampleDial() {
	ctx := context.Background()
	program := oncrpc.Program{Number: 400000, Version: 1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = *args * *args
		return nil
	})
	choice := &carriers.Choice{Open: func(context.Context, netip.Addr) (verbs.Device, error) {
		return nil, errors.New("no card in this machine") // nil instead of this function: ibverbs
	}}
	servers, err := carriers.Listen(ctx, "127.0.0.1:0", rpc.NewHandler(nil, svc), choice)
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	for _, why := range servers.Skipped() {
		fmt.Println(why.Carrier, "is left out:", why.Err)
	}

	client, err := carriers.Dial(ctx, servers.List()[0].Addr, choice)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for _, a := range client.Stats().Addresses {
		fmt.Println(strings.Fields(a.Name)[0], a.Up, a.Reason)
	}
	args, res := oncrpc.Uint32(12), oncrpc.Uint32(0)
	if err := rpc.NewClient(client, program, nil).Call(ctx, 1, &args, &res, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res)
	// Output:
	// rdma is left out: carriers: no RDMA device: no card in this machine
	// rdma false carriers: no RDMA device: no card in this machine
	// tcp true <nil>
	// 144
}
