package rpcbind

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Set registers a version of a program at an address of the network with this netid, such as
// oncrpc.NetIDRDMA6 for RDMA over IPv6; oncrpc.NetID returns it for an address. owner names the
// owner to the server, which may know better. An address of 0.0.0.0 or :: stands for all addresses
// of the host. Version 2 of the protocol has no more than the port, and only for "tcp" and "udp".
//
// If the service is registered already, the error is ErrRefused: Unset it first.
func (c *Client) Set(ctx context.Context, prog, vers uint32, netID string, at netip.AddrPort, owner string) error {
	m, err := newMapping(prog, vers, netID, at, owner)
	if err != nil {
		return err
	}
	return c.change(m, func(server *rpc.Client, v uint32, done *Done) error {
		if v > Version2 {
			return server.Call(ctx, ProcSet, m, done, nil)
		}
		proto, ok := protoOf(netID)
		if !ok {
			return lacks(v, fmt.Sprintf("netid %q", netID))
		}
		return server.Call(ctx, PortProcSet, &PortMapping{Prog: prog, Vers: vers, Prot: proto, Port: uint32(at.Port())}, done, nil)
	})
}

// Unset removes a registration from one network or, if netID is empty, from all. Version 2 of the
// protocol removes those for "tcp" and "udp" together, so netID must be empty or one of them.
func (c *Client) Unset(ctx context.Context, prog, vers uint32, netID, owner string) error {
	m := &Mapping{Prog: prog, Vers: vers, NetID: String(netID), Owner: String(owner)}
	return c.change(m, func(server *rpc.Client, v uint32, done *Done) error {
		if v > Version2 {
			return server.Call(ctx, ProcUnset, m, done, nil)
		}
		if _, ok := protoOf(netID); !ok && netID != "" {
			return lacks(v, fmt.Sprintf("netid %q", netID))
		}
		return server.Call(ctx, PortProcUnset, &PortMapping{Prog: prog, Vers: vers}, done, nil)
	})
}

// change makes a call that changes the server's table.
func (c *Client) change(m *Mapping, call func(server *rpc.Client, vers uint32, done *Done) error) error {
	return c.ask(func(server *rpc.Client, vers uint32) error {
		var done Done
		if err := call(server, vers, &done); err != nil || bool(done) {
			return err
		}
		return fmt.Errorf("%w: program %d version %d, netid %q (version %d of rpcbind)", ErrRefused, m.Prog, m.Vers, m.NetID, vers)
	})
}

// newMapping returns the registration of an address, which must have a port and be of the netid's
// address family (RFC 5665 §5.2.3, RFC 8166 §5; R317).
func newMapping(prog, vers uint32, netID string, at netip.AddrPort, owner string) (*Mapping, error) {
	if !at.IsValid() || at.Port() == 0 {
		return nil, fmt.Errorf("%w: %v cannot be registered: it must be an IP address and a port", ErrAddress, at)
	}
	addr := oncrpc.UniversalAddr(at)
	if _, err := oncrpc.ParseUniversalAddr(netID, addr); err != nil {
		return nil, fmt.Errorf("%w: %v cannot be registered: %w", ErrAddress, at, err)
	}
	return &Mapping{Prog: prog, Vers: vers, NetID: String(netID), Addr: String(addr), Owner: String(owner)}, nil
}
