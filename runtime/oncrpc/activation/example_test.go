package activation_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/activation"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A service that systemd has started with a socket of the name notes. Here the socket is missing.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	handler := rpc.NewHandler(nil, rpc.NewService(oncrpc.Program{Number: 400000, Version: 1}))
	if err := serve(ctx, handler); errors.Is(err, activation.ErrNone) {
		fmt.Println("start it by systemd")
	} else if err != nil {
		log.Print(err)
	}
	// Output: start it by systemd
}

func serve(ctx context.Context, handler oncrpc.Handler) error {
	sockets, err := activation.Sockets()
	if err != nil {
		return err
	}
	ln, err := sockets.Listener("notes")
	if err != nil {
		return errors.Join(err, sockets.Close())
	}
	server, err := tcp.Serve(ln, handler, nil)
	if err != nil {
		return errors.Join(err, sockets.Close())
	}
	defer server.Close()
	if err := activation.Notify("READY=1"); err != nil {
		log.Print(err) // it serves all the same
	}
	<-ctx.Done()
	return errors.Join(activation.Notify("STOPPING=1"), server.Shutdown(context.Background()), sockets.Close())
}
