package tcp_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A server at a local socket, which every user can connect to, and which serves root and
// its own user alone.
func ExampleListen_local() {
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		log.Print(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "notes.sock")
	if runtime.GOOS != "linux" { // elsewhere Peer.Local is nil
		fmt.Println("served: <nil>")
		return
	}
	if err := localServer(context.Background(), path); err != nil {
		log.Print(err)
	}
	// Output: served: <nil>
}

func localServer(ctx context.Context, path string) error {
	program := oncrpc.Program{Number: 400000, Version: 1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = *args
		return nil
	})
	svc.Allow = func(r *rpc.Request) error {
		user := r.Peer().Local // nil over a network
		if user == nil || user.UID != 0 && user.UID != uint32(os.Getuid()) {
			return oncrpc.Refused(oncrpc.AuthStatTooWeak)
		}
		return nil
	}
	server, err := tcp.Listen(ctx, "unix:"+path, rpc.NewHandler(nil, svc), &tcp.Config{SocketMode: 0o666})
	if err != nil {
		return err
	}
	defer server.Close()

	conn, err := tcp.Dial(ctx, server.Addr(), nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	n := oncrpc.Uint32(42)
	fmt.Println("served:", rpc.NewClient(conn, program, nil).Call(ctx, 1, &n, &n, nil))
	return nil
}
