package rpc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// collector is a store that takes no data from the arguments of Write. It reads the file from the
// client instead, by a call in the other direction.
type collector struct{ oneFile }

// Write reads a file from the client that called.
func (c *collector) Write(r *rpc.Request, args *store.WriteArgs, res *store.WriteRes) error {
	conn := r.Conn()
	conn.AllowReverse() // the clients of this service are known to serve calls
	client := storerpc.NewClient(conn, nil)
	file, err := client.Read(r.Context(), &store.ReadArgs{Name: args.Name, Count: 1 << 20})
	if err != nil {
		return err
	}
	c.data = file.OK.Data
	res.Count = uint32(len(c.data))
	return nil
}

// A server calls the client back on the connection of the client's call. The client gives its
// connections a handler of its own. Over RDMA that is rdmaio.Config.ReverseHandler, and both ends
// set ReverseCredits.
func Example_callback() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	server, err := tcp.Listen(ctx, "127.0.0.1:0", rpc.NewHandler(nil, storerpc.NewService(&collector{})), nil)
	must(err)
	defer server.Close()

	mine := &oneFile{data: []byte("the client's file")}
	conn, err := tcp.NewClient(server.Addr(), &tcp.ClientConfig{Conn: &tcp.Config{
		ReverseHandler: rpc.NewHandler(nil, storerpc.NewService(mine)),
	}})
	must(err)
	defer conn.Close()
	files := storerpc.NewClient(conn, nil)

	written, err := files.Write(ctx, &store.WriteArgs{Name: store.Name("a")})
	must(err)
	read, err := files.Read(ctx, &store.ReadArgs{Name: store.Name("a"), Count: 1 << 20})
	must(err)
	fmt.Printf("%d bytes: %s\n", written.Count, read.OK.Data)
	// Output: 17 bytes: the client's file
}
