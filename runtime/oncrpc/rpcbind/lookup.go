package rpcbind

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Lookup returns the address of a program's version on the network with this netid. If the service
// is registered for all addresses of the server (0.0.0.0 or ::), Lookup returns the server's
// address on this connection. The server decides what it answers: the address may be one of another
// host.
//
// The error is ErrNotRegistered if there is no registration. It is ErrAddress if the registered
// address is not a universal address of that network, has no port, or cannot be reached from here:
// the loopback address of another host, or all addresses of the other address family.
//
// With version 2 and 3 of the protocol, a server may answer with another version's address. Version
// 2 knows only "tcp" and "udp".
func (c *Client) Lookup(ctx context.Context, prog, vers uint32, netID string) (netip.AddrPort, error) {
	want := &Mapping{Prog: prog, Vers: vers, NetID: String(netID)}
	var at netip.AddrPort
	err := c.ask(func(server *rpc.Client, v uint32) error {
		var find func(context.Context, *rpc.Client, uint32, *Mapping) error
		// RFC 1833 §2.2.1: GETADDR returns addresses of the network on which the request
		// arrived. For the others the whole table is read.
		switch own := c.server(); {
		case v == Version2:
			find = byPort
		case own.IsValid() && netID == oncrpc.NetID(network(c.conn), own.Addr()):
			find = c.byAddr
		default:
			find = byTable
		}
		found := *want
		err := find(ctx, server, v, &found)
		if err == nil && len(found.Addr) == 0 {
			err = fmt.Errorf("%w: program %d version %d, netid %q (version %d of rpcbind)", ErrNotRegistered, prog, vers, netID, v)
		}
		if err == nil {
			at, err = c.reach(&found)
		}
		return err
	})
	return at, err
}

// byPort asks for the port with version 2, and sets m.Addr if there is one.
func byPort(ctx context.Context, server *rpc.Client, vers uint32, m *Mapping) error {
	proto, ok := protoOf(string(m.NetID))
	if !ok {
		return lacks(vers, fmt.Sprintf("netid %q", m.NetID))
	}
	var port oncrpc.Uint32
	pm := PortMapping{Prog: m.Prog, Vers: m.Vers, Prot: proto}
	if err := server.Call(ctx, PortProcGetPort, &pm, &port, nil); err != nil || port == 0 {
		return err
	}
	pm.Port = uint32(port)
	*m = pm.mapping()
	return nil
}

// byAddr asks for the address on the network of the connection, and sets m.Addr if there is one.
// RFC 1833 §2.2.2: only version 4 can ask for a version of the program and no other.
func (c *Client) byAddr(ctx context.Context, server *rpc.Client, vers uint32, m *Mapping) error {
	args, proc := *m, uint32(ProcGetAddr)
	if vers >= Version4 {
		proc = ProcGetVersAddr
	}
	// A server with several addresses prefers this one.
	args.Addr = String(oncrpc.UniversalAddr(c.server()))
	return server.Call(ctx, proc, &args, &m.Addr, nil)
}

// byTable reads the whole table, and sets m.Addr to the first address that it has.
func byTable(ctx context.Context, server *rpc.Client, _ uint32, m *Mapping) error {
	var all Mappings
	if err := server.Call(ctx, ProcDump, nil, table{&all}, nil); err != nil {
		return err
	}
	for i := range all {
		if r := &all[i]; r.Prog == m.Prog && r.Vers == m.Vers && string(r.NetID) == string(m.NetID) {
			*m = *r
			return nil
		}
	}
	return nil
}

// reach returns the address of a registration as this host can use it.
func (c *Client) reach(m *Mapping) (netip.AddrPort, error) {
	at, err := m.AddrPort()
	own := c.server().Addr()
	switch {
	case err != nil:
		return netip.AddrPort{}, err
	case at.Addr().IsUnspecified():
		if !own.IsValid() || own.Is4() != at.Addr().Is4() {
			return netip.AddrPort{}, fmt.Errorf("%w: program %d version %d is registered at %s, all addresses of a family that the connection to %s does not have: connect to rpcbind over that family",
				ErrAddress, m.Prog, m.Vers, m.Addr, c.conn.RemoteAddr())
		}
		return netip.AddrPortFrom(own, at.Port()), nil
	case at.Addr().Unmap().IsLoopback() && own.IsValid() && !own.IsLoopback():
		return netip.AddrPort{}, fmt.Errorf("%w: program %d version %d is registered at %s, a loopback address, which other hosts than that of the server at %s cannot reach",
			ErrAddress, m.Prog, m.Vers, m.Addr, c.conn.RemoteAddr())
	}
	return at, nil
}

// Dump returns all registrations of the server. Their addresses are not checked: see
// Mapping.AddrPort. With version 2 of the protocol, the table has only "tcp" and "udp", no owners,
// and address 0.0.0.0 everywhere. The error is ErrTooLong if the table has more than 1 MiB.
func (c *Client) Dump(ctx context.Context) (Mappings, error) {
	var all Mappings
	err := c.ask(func(server *rpc.Client, vers uint32) error {
		if vers > Version2 {
			return server.Call(ctx, ProcDump, nil, table{&all}, nil)
		}
		var ports PortMappings
		if err := server.Call(ctx, PortProcDump, nil, table{&ports}, nil); err != nil {
			return err
		}
		for i := range ports {
			all = append(all, ports[i].mapping())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
