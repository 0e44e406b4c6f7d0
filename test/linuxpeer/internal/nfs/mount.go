package nfs

import (
	"context"
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Mount returns the file handle of an exported folder. It asks the mount service at addr, a TCP
// address.
func Mount(ctx context.Context, addr, path string, cred oncrpc.OpaqueAuth) (nfs3.Handle, error) {
	conn, err := tcp.Dial(ctx, addr, nil)
	if err != nil {
		return nfs3.Handle{}, err
	}
	defer conn.Close()
	dir, res := mount3.DirPath(path), mount3.MountRes{}
	mounts := rpc.NewClient(conn, oncrpc.Program{Number: mount3.Program, Version: mount3.Version, Name: "MOUNT3"}, &rpc.ClientConfig{Cred: cred})
	if err := mounts.Call(ctx, mount3.ProcMount, &dir, &res, nil); err != nil {
		return nfs3.Handle{}, fmt.Errorf("nfs: MNT of %q at %s: %w", path, addr, err)
	}
	if res.Status != mount3.StatusOK {
		return nfs3.Handle{}, fmt.Errorf("nfs: MNT of %q at %s: %v", path, addr, res.Status)
	}
	return nfs3.Handle{Data: res.OK.Handle}, nil
}
