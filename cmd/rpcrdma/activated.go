package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/activation"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// activatedPrefix begins an address of serve that stands for a socket of systemd. Its name follows,
// or nothing for any.
const activatedPrefix = "systemd:"

// streamServer starts a server at an address, or at a socket of systemd.
func streamServer(ctx context.Context, addr string, h oncrpc.Handler, cfg *tcp.Config) (*tcp.Server, error) {
	name, ok := strings.CutPrefix(addr, activatedPrefix)
	if !ok {
		return tcp.Listen(ctx, addr, h, cfg)
	}
	var server *tcp.Server
	err := withSockets(func(all *activation.Set) error {
		ln, err := all.Listener(name)
		if err == nil {
			server, err = tcp.Serve(ln, h, cfg)
		}
		return err
	})
	return server, err
}

// packetServer is streamServer for datagrams.
func packetServer(ctx context.Context, addr string, h oncrpc.Handler, cfg *udp.Config) (*udp.Server, error) {
	name, ok := strings.CutPrefix(addr, activatedPrefix)
	if !ok {
		return udp.Listen(ctx, addr, h, cfg)
	}
	var server *udp.Server
	err := withSockets(func(all *activation.Set) error {
		pc, err := all.PacketConn(name)
		if err != nil {
			return err
		}
		sock, ok := pc.(*net.UDPConn)
		if !ok {
			return errors.Join(fmt.Errorf("found a socket of %s, expected UDP", pc.LocalAddr().Network()), pc.Close())
		}
		server, err = udp.Serve(sock, h, cfg)
		return err
	})
	return server, err
}

// withSockets calls use with the sockets of systemd, and closes those that are left.
func withSockets(use func(*activation.Set) error) error {
	all, err := activation.Sockets()
	if err != nil {
		return err
	}
	return errors.Join(use(all), all.Close())
}

// notify reports the state of the server to systemd. A failure is a warning.
func notify(warn io.Writer, state string) {
	if err := activation.Notify(state); err != nil {
		fmt.Fprintln(warn, "rpcrdma: systemd does not learn that the state is", state+":", err)
	}
}
