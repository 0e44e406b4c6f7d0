package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/activation"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// listen starts a server at an address, or at the socket of systemd that "systemd:" and a name
// stand for, or any without a name.
func listen(ctx context.Context, addr string, h oncrpc.Handler, cfg *tcp.Config) (*tcp.Server, error) {
	name, ok := strings.CutPrefix(addr, "systemd:")
	if !ok {
		return tcp.Listen(ctx, addr, h, cfg)
	}
	all, err := activation.Sockets()
	if err != nil {
		return nil, err
	}
	ln, err := all.Listener(name)
	if err == nil && ln.Addr().Network() != "tcp" {
		err = errors.Join(fmt.Errorf("found a socket of %s, expected TCP", ln.Addr().Network()), ln.Close())
	}
	if err = errors.Join(err, all.Close()); err != nil {
		return nil, err
	}
	return tcp.Serve(ln, h, cfg)
}

// notify reports the state of the server to systemd. A failure is a warning.
func notify(warn io.Writer, state string) {
	if err := activation.Notify(state); err != nil {
		fmt.Fprintln(warn, "nfsserve: systemd does not learn that the state is", state+":", err)
	}
}
