package carriers

import (
	"context"
	"net"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// Server has the methods that all servers have: tcp.Server, udp.Server and rdmaio.Server.
type Server interface {
	// Addr returns the address that clients connect to.
	Addr() string

	// Done returns a channel that is closed when the server takes no more connections or Calls. Err
	// then returns the reason, and nil before.
	Done() <-chan struct{}
	Err() error

	// Shutdown stops listening, and waits until handlers have answered the Calls that they have. If
	// ctx ends first, it returns an error, and Close must be called.
	Shutdown(ctx context.Context) error

	// Close closes everything at once, and waits for the handlers.
	Close() error
}

// Listener starts a server of one carrier for Start and Serve. TCP, UDP, RDMA and Stream return
// one; a carrier of another module can be used in the same way.
type Listener struct {
	// Carrier is the name in errors and in Served: "tcp", "udp", "rdma".
	Carrier string

	// Addr is the address to listen at, for errors.
	Addr string

	// Start starts the server. ctx bounds the call, not the server. The server belongs to Servers.
	// Start is called once at most.
	Start func(ctx context.Context, h oncrpc.Handler) (Server, error)

	// Optional says that the others serve without this one if Start returns ErrNoDevice.
	Optional bool

	// Discard is called in place of Start if a Listener before this one has failed. If nil, nothing
	// is called.
	Discard func() error
}

// TCP returns a Listener for tcp.Listen. cfg may be nil.
func TCP(addr string, cfg *tcp.Config) Listener {
	return Listener{Carrier: "tcp", Addr: addr, Start: func(ctx context.Context, h oncrpc.Handler) (Server, error) {
		return server(tcp.Listen(ctx, addr, h, cfg))
	}}
}

// Stream returns a Listener for tcp.Serve: the connections of ln, for example of a socket in the
// file system, have the records of package tcp. ln belongs to the Servers when Start is called,
// also if that fails. cfg may be nil.
func Stream(ln net.Listener, cfg *tcp.Config) Listener {
	start := func(_ context.Context, h oncrpc.Handler) (Server, error) { return server(tcp.Serve(ln, h, cfg)) }
	return Listener{Carrier: ln.Addr().Network(), Addr: ln.Addr().String(), Start: start, Discard: ln.Close}
}

// UDP returns a Listener for udp.Listen. cfg may be nil.
func UDP(addr string, cfg *udp.Config) Listener {
	return Listener{Carrier: "udp", Addr: addr, Start: func(ctx context.Context, h oncrpc.Handler) (Server, error) {
		return server(udp.Listen(ctx, addr, h, cfg))
	}}
}

// RDMA returns a Listener for rdmaio.Listen on a device of any provider. The device must be open
// until the server is closed; the caller closes it afterwards. cfg may be nil.
func RDMA(dev verbs.Device, addr string, cfg *rdmaio.Config) Listener {
	return Listener{Carrier: "rdma", Addr: addr, Start: func(ctx context.Context, h oncrpc.Handler) (Server, error) {
		return server(rdmaio.Listen(ctx, dev, addr, h, cfg))
	}}
}

// server returns a server, or a nil interface with the error.
func server[S Server](s S, err error) (Server, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
