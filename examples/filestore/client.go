package main

import (
	"context"
	"fmt"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// client reads and writes files of the store.
type client struct{ store *storerpc.Client }

// write stores data in a file at an offset, and returns the number of bytes stored. The data is not
// copied: the server fetches it by RDMA Read.
func (c *client) write(ctx context.Context, name string, offset uint64, data []byte) (int, error) {
	res, err := c.store.Write(ctx, &store.WriteArgs{Name: store.Name(name), Offset: offset, Data: data})
	if err != nil {
		return 0, err
	}
	if res.Status != store.OK {
		return 0, fmt.Errorf("write %s: %v", name, res.Status)
	}
	return int(res.Count), nil
}

// read reads from a file at an offset into buf, and returns the part of buf that was filled. The
// server fills it by RDMA Write.
func (c *client) read(ctx context.Context, name string, offset uint64, buf []byte) ([]byte, error) {
	var res store.ReadRes
	args := store.ReadArgs{Name: store.Name(name), Offset: offset, Count: uint32(len(buf))}
	if err := c.store.ReadInto(ctx, &args, &res, &rpc.Options{Results: [][]byte{buf}}); err != nil {
		return nil, err
	}
	if res.Status != store.OK {
		return nil, fmt.Errorf("read %s: %v", name, res.Status)
	}
	return res.OK.Data, nil
}
