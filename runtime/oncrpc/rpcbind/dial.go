package rpcbind

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// Dial connects to the rpcbind server of a host: a name or an IP address, at port 111. cfg may be
// nil. The caller must Close the connection.
func Dial(ctx context.Context, host string, cfg *tcp.Config) (*tcp.Conn, error) {
	return tcp.Dial(ctx, net.JoinHostPort(host, strconv.Itoa(Port)), cfg)
}

// DialUDP returns a connection to the rpcbind server of a host over UDP, as Dial does over TCP.
func DialUDP(ctx context.Context, host string, cfg *udp.Config) (*udp.Conn, error) {
	return udp.Dial(ctx, net.JoinHostPort(host, strconv.Itoa(Port)), cfg)
}

// Resolve asks a host's rpcbind server for the address of a program's version over "tcp", "udp" or
// "rdma". The netid is the one for the address family of the connection to rpcbind. For more than
// one lookup, use Dial and Client.Lookup, whose errors it returns. cfg may be nil.
func Resolve(ctx context.Context, host string, prog, vers uint32, transport string, cfg *tcp.Config) (netip.AddrPort, error) {
	conn, err := Dial(ctx, host, cfg)
	if err != nil {
		return netip.AddrPort{}, err
	}
	defer conn.Close()
	c := NewClient(conn, nil)
	return c.Lookup(ctx, prog, vers, oncrpc.NetID(transport, c.server().Addr()))
}
