// Package mem carries RPC messages within a process, without a network: for tests of services, and
// for programs whose parts call each other. Everything is encoded, sent as records and decoded, as
// over package tcp, which does the work.
//
//	conn := mem.New(rpc.NewHandler(nil, svc), nil)
//	defer conn.Close()
//	files := rpc.NewClient(conn, program, nil)
//
// It works with testing/synctest, whose clock advances when all goroutines wait.
//
// # Faults
//
// A [Network] has clients that connect again, and injects faults: lost connections, cut, repeated,
// late and split records, and peers that do not read. A test says which record has which fault, or
// uses [Random] with a seed:
//
//	faults := &mem.NetworkConfig{Fault: mem.Random(seed, 0.2)}
//	network, err := mem.NewNetwork(replycache.New(handler, nil), faults)
//	defer network.Close()
//	client, err := network.NewClient(nil)
//	defer client.Close()
//	files := rpc.NewClient(client, program, nil)
package mem

import (
	"net"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Conn is the client's end of a connection.
type Conn struct {
	*tcp.Conn
	server *tcp.Conn
}

// New returns a connection whose Calls h serves. Calls of h to the client go to the ReverseHandler
// of cfg. Both ends use cfg without its TLS; it may be nil. The caller must Close the connection.
func New(h oncrpc.Handler, cfg *tcp.Config) *Conn {
	var set tcp.Config
	if cfg != nil {
		set = *cfg
	}
	set.FirstCallTimeout = -1 // the client is known
	set.TLS = tcp.TLS{}       // nothing leaves the process
	ours, theirs := net.Pipe()
	return &Conn{tcp.NewConn(ours, &set), tcp.ServeConn(theirs, h, &set)}
}

// Close closes both ends, and waits for the handlers as tcp.Conn.Close does.
func (c *Conn) Close() error {
	_ = c.Conn.Close() // returns nil, as does the other
	return c.server.Close()
}
