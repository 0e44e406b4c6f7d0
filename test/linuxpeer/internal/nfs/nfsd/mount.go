package nfsd

import (
	"context"
	"net"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// maxMountCall is the size in bytes of the longest call to the mount service.
const maxMountCall = 4096

// ServeMount serves the mount protocol on the connections that l accepts, until ctx ends. It closes
// l and the connections.
func (s *Server) ServeMount(ctx context.Context, l net.Listener) {
	server, err := tcp.Serve(l, s.mountHandler(), &tcp.Config{MaxRecord: maxMountCall})
	if err != nil {
		return // there is a handler
	}
	select {
	case <-ctx.Done():
	case <-server.Done():
	}
	_ = server.Close()
}

// mountHandler returns the handler of the mount protocol.
func (s *Server) mountHandler() oncrpc.Handler {
	svc := rpc.NewService(oncrpc.Program{Number: mount3.Program, Version: mount3.Version, Name: "MOUNT3"})
	rpc.Handle(svc, mount3.ProcMount, func(_ *rpc.Request, _ *mount3.DirPath, res *mount3.MountRes) error {
		res.OK = mount3.MountResOK{Handle: s.Root().Data, AuthFlavors: []int32{int32(oncrpc.AuthSys)}}
		return nil
	})
	rpc.Handle(svc, mount3.ProcUnmount, func(*rpc.Request, *mount3.DirPath, *oncrpc.Void) error { return nil })
	rpc.Handle(svc, mount3.ProcUnmountAll, func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error { return nil })
	return rpc.NewHandler(nil, svc)
}
