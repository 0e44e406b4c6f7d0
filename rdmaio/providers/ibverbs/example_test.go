package ibverbs_test

import (
	"context"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// A client of RPC over RDMA with the first RDMA device of this machine. The program is linked to
// the C library (docs/ibverbs.md), and needs rdma-core when it runs.
func Example() {
	ctx := context.Background()
	dev, err := ibverbs.Open(nil)
	if err != nil {
		log.Fatal(err) // which names the missing library or device
	}
	defer dev.Close()
	client, err := rdmaio.NewClient(dev, "garden:20049", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	nfs := oncrpc.Program{Number: 100003, Version: 3}
	if err := rpc.NewClient(client, nfs, nil).Call(ctx, 0, &oncrpc.Void{}, &oncrpc.Void{}, nil); err != nil {
		log.Fatal(err)
	}
}
