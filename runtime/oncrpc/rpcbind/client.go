package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The sentinels for errors.Is.
var (
	// ErrNotRegistered is returned if the server has no registration of the service on that
	// network.
	ErrNotRegistered = errors.New("rpcbind: not registered")
	// ErrRefused is returned if the server did not change its table: another owner has registered
	// the service, there is no registration, or this user has no permission.
	ErrRefused = errors.New("rpcbind: the server refused to change its table")
)

// Config is the configuration of a Client.
type Config struct {
	// Cred is the credential of requests. If zero, the default is AUTH_NONE.
	Cred oncrpc.OpaqueAuth
}

// Client sends requests to one rpcbind server. It may be used concurrently.
type Client struct {
	conn        oncrpc.Conn
	four, three *rpc.Client // of each version
	only3       atomic.Bool // the server has version 3 and not 4
}

// NewClient returns a Client that uses a connection. The caller closes conn. If cfg is nil, the
// configuration is the default.
func NewClient(conn oncrpc.Conn, cfg *Config) *Client {
	var calls rpc.ClientConfig
	if cfg != nil {
		calls.Cred = cfg.Cred
	}
	version := func(vers uint32) *rpc.Client {
		return rpc.NewClient(conn, oncrpc.Program{Number: Program, Version: vers, Name: "RPCBIND"}, &calls)
	}
	return &Client{conn: conn, four: version(Version4), three: version(Version3)}
}

// Set registers a version of a program at an address, under the name of an owner. The network is
// "rdma" for IPv4 and "rdma6" for IPv6.
func (c *Client) Set(ctx context.Context, prog, vers uint32, at netip.AddrPort, owner string) error {
	if !at.IsValid() || at.Port() == 0 {
		return fmt.Errorf("rpcbind: %v cannot be registered: it must be an IP address and a port", at)
	}
	netID, addr := oncrpc.UniversalAddr(at) // RFC 8166 §5; R317
	return c.change(ctx, ProcSet, &Mapping{Prog: prog, Vers: vers, NetID: String(netID), Addr: String(addr), Owner: String(owner)})
}

// Unset removes a registration from one network or, if netID is empty, from all.
func (c *Client) Unset(ctx context.Context, prog, vers uint32, netID, owner string) error {
	return c.change(ctx, ProcUnset, &Mapping{Prog: prog, Vers: vers, NetID: String(netID), Owner: String(owner)})
}

func (c *Client) change(ctx context.Context, proc uint32, m *Mapping) error {
	var done Done
	err := c.call(ctx, proc, m, &done)
	if err == nil && !done {
		err = fmt.Errorf("%w: program %d version %d, netid %q", ErrRefused, m.Prog, m.Vers, m.NetID)
	}
	return err
}

// Lookup returns the address of a version of a program on the network "rdma" or "rdma6". A server
// that listens on all its addresses registers 0.0.0.0 or ::. In that case, Lookup returns the
// server's address on this connection. The error is ErrNotRegistered if there is no registration.
// Lookup also fails if the registered address is not a universal address of that network, or has
// no port.
func (c *Client) Lookup(ctx context.Context, prog, vers uint32, netID string) (netip.AddrPort, error) {
	// RFC 1833 §2.2.1: GETADDR returns addresses of the network on which the request
	// arrived. That is never RDMA, so read the whole table.
	var all Mappings
	if err := c.call(ctx, ProcDump, nil, &all); err != nil {
		return netip.AddrPort{}, err
	}
	for i := range all {
		m := &all[i]
		if m.Prog != prog || m.Vers != vers || string(m.NetID) != netID {
			continue
		}
		at, err := oncrpc.ParseUniversalAddr(netID, string(m.Addr)) // RFC 8166 §5: strictly; R317
		if err == nil && at.Port() == 0 {
			err = fmt.Errorf("rpcbind: program %d version %d is registered at %q: port 0 cannot be reached", prog, vers, m.Addr)
		}
		if err == nil && at.Addr().IsUnspecified() {
			at = c.host(at)
		}
		return at, err
	}
	return netip.AddrPort{}, fmt.Errorf("%w: program %d version %d, netid %q", ErrNotRegistered, prog, vers, netID)
}

// host returns at with the server's address for the unspecified one, if the connection has the same
// address family.
func (c *Client) host(at netip.AddrPort) netip.AddrPort {
	server, err := netip.ParseAddrPort(c.conn.RemoteAddr())
	if addr := server.Addr().Unmap(); err == nil && addr.Is4() == at.Addr().Is4() {
		return netip.AddrPortFrom(addr, at.Port())
	}
	return at
}

// call calls a procedure of version 4, or of version 3 if the server does not support version 4.
// args is nil if the procedure has no argument.
func (c *Client) call(ctx context.Context, proc uint32, args, res xdr.Value) error {
	if !c.only3.Load() {
		err := c.four.Call(ctx, proc, args, res, nil)
		var refused *oncrpc.ReplyError
		if !errors.As(err, &refused) || !refused.Is(oncrpc.ErrProgMismatch) || refused.Range.Low > Version3 || refused.Range.High < Version3 {
			return wrap(err)
		}
		c.only3.Store(true)
	}
	return wrap(c.three.Call(ctx, proc, args, res, nil))
}

// wrap adds the name of the package to an error.
func wrap(err error) error {
	if err != nil {
		err = fmt.Errorf("rpcbind: %w", err)
	}
	return err
}
