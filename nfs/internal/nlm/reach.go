package nlm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// errGrace means that a client is in its own grace period, and is called again.
var errGrace = errors.New("nlm: the client has a grace period")

// Address is where a client is called.
type Address struct {
	Host string // the client's
	From string // this host's, which the client called, or "" if that is not known
}

// otherVersion is a version of the lock manager that this server does not have.
const otherVersion = 3

// Carrier is a connection to a client.
type Carrier interface {
	oncrpc.Carrier
	io.Closer
}

// address returns where the client of a call is called.
func address(r *rpc.Request) Address {
	host, _ := oncrpc.HostOf(r.Peer().Addr)
	at := Address{Host: host}
	if c, ok := r.Conn().(interface{ LocalAddr() string }); ok {
		if own, err := netip.ParseAddrPort(c.LocalAddr()); err == nil && !own.Addr().IsUnspecified() {
			at.From = own.Addr().String()
		}
	}
	return at
}

// dial connects over TCP from the address that the client called.
func dial(ctx context.Context, at Address, port string) (*tcp.Conn, error) {
	var d net.Dialer
	if ip := net.ParseIP(at.From); ip != nil {
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	nc, err := d.DialContext(ctx, "tcp", net.JoinHostPort(at.Host, port))
	if err != nil {
		return nil, err
	}
	return tcp.NewConn(nc, nil), nil
}

// Dial asks rpcbind at the host of a client for the port of a program, and connects to it over TCP,
// or over UDP if the program is not registered for TCP. rpcbind may name no other host. On the
// server's own host this server is registered for version 4 of the lock manager: the kernel's,
// which has one port for all versions, is found by version 3.
func Dial(ctx context.Context, at Address, program, version uint32) (Carrier, error) {
	binder, err := dial(ctx, at, strconv.Itoa(rpcbind.Port))
	if err != nil {
		return nil, err
	}
	defer binder.Close()
	host, err := netip.ParseAddr(at.Host)
	if err != nil {
		return nil, err
	}
	c := rpcbind.NewClient(binder, nil)
	if program == nlm4.Program && at.Host == at.From {
		version = otherVersion
	}
	found, err := c.Lookup(ctx, program, version, oncrpc.NetID(oncrpc.NetIDTCP, host))
	if err == nil {
		return dial(ctx, at, strconv.Itoa(int(found.Port())))
	}
	if !errors.Is(err, rpcbind.ErrNotRegistered) {
		return nil, err
	}
	if found, err = c.Lookup(ctx, program, version, oncrpc.NetID(oncrpc.NetIDUDP, host)); err != nil {
		return nil, err
	}
	return udp.Dial(ctx, net.JoinHostPort(at.Host, strconv.Itoa(int(found.Port()))), nil)
}
