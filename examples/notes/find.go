package main

import (
	"context"
	"errors"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// withBinder calls use with the rpcbind of this host. It is asked over its socket in the file
// system, where it knows the user.
func withBinder(ctx context.Context, use func(*rpcbind.Client) error) error {
	conn, err := tcp.Dial(ctx, "unix:/run/rpcbind.sock", nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	return use(rpcbind.NewClient(conn, nil))
}

// announce registers the addresses of the server with rpcbind.
func announce(ctx context.Context, tcpAddr, rdmaAddr string) error {
	return withBinder(ctx, func(binder *rpcbind.Client) error {
		if err := forget(ctx, binder); err != nil { // what a killed server has left
			return err
		}
		return errors.Join(register(ctx, binder, "tcp", tcpAddr), register(ctx, binder, "rdma", rdmaAddr))
	})
}

// register registers an address for "tcp" or "rdma". A server that listens on all addresses of IPv6
// has those of IPv4, too.
func register(ctx context.Context, binder *rpcbind.Client, transport, addr string) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return err
	}
	if at.Addr() == netip.IPv6Unspecified() {
		four := netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port())
		if err := binder.Set(ctx, notes.Notes, notes.NotesV1, transport, four, ""); err != nil {
			return err
		}
	}
	return binder.Set(ctx, notes.Notes, notes.NotesV1, oncrpc.NetID(transport, at.Addr()), at, "")
}

// withdraw removes the registrations of the server.
func withdraw(ctx context.Context) error {
	return withBinder(ctx, func(binder *rpcbind.Client) error { return forget(ctx, binder) })
}

// forget removes all registrations of the program.
func forget(ctx context.Context, binder *rpcbind.Client) error {
	err := binder.Unset(ctx, notes.Notes, notes.NotesV1, "", "")
	if errors.Is(err, rpcbind.ErrRefused) { // there are none
		return nil
	}
	return err
}

// find returns the address of the server on a host, over "tcp" or "rdma".
func find(ctx context.Context, host, transport string) (string, error) {
	at, err := rpcbind.Resolve(ctx, host, notes.Notes, notes.NotesV1, transport, nil)
	return at.String(), err
}
