package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/internal/nlm"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// service is a registration: a program at an address.
type service struct {
	prog, vers uint32
	netID      string
	at         netip.AddrPort
}

// at returns the registrations of a program at the address of a listener. All IPv6 addresses stand
// for all of IPv4, too.
func at(prog, vers uint32, transport, addr string) []service {
	a, err := netip.ParseAddrPort(addr)
	if err != nil { // an address that rpcbind cannot have
		return nil
	}
	here := netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
	all := []service{{prog, vers, oncrpc.NetID(transport, here.Addr()), here}}
	if here.Addr() == netip.IPv6Unspecified() {
		four := netip.AddrPortFrom(netip.IPv4Unspecified(), here.Port())
		all = append(all, service{prog, vers, oncrpc.NetID(transport, four.Addr()), four})
	}
	return all
}

// find returns the address that a table of rpcbind has for a service.
func (s service) find(table []rpcbind.Mapping) (at netip.AddrPort, ok bool) {
	for _, m := range table {
		if m.Prog == s.prog && m.Vers == s.vers && string(m.NetID) == s.netID {
			at, err := m.AddrPort()
			return at, err == nil
		}
	}
	return at, false
}

// portmap lets clients find the services, as the flag -portmap says. It returns where they ask, or
// "" if they cannot, and the function that ends it.
func portmap(ctx context.Context, o *options, addr string, all []service, warn io.Writer) (where string, end func() error, err error) {
	none := func() error { return nil }
	switch o.portmap {
	case "off":
		return "", none, nil
	case "own":
		return ownPortmapper(ctx, o, addr, all, warn)
	case "system":
		return register(ctx, all, warn)
	}
	where, end, err = ownPortmapper(ctx, o, addr, all, warn)
	if errors.Is(err, syscall.EADDRINUSE) {
		where, end, err = register(ctx, all, warn)
	}
	if err == nil {
		return where, end, nil
	}
	if errors.Is(err, os.ErrPermission) {
		err = errors.New("port 111 needs root or CAP_NET_BIND_SERVICE")
	}
	_, port, _ := net.SplitHostPort(addr)
	fmt.Fprintf(warn, "nfsserve: clients cannot ask for the ports (%v): they must mount with -o vers=3,nolock,tcp,port=%s,mountport=%s,mountproto=tcp\n", err, port, port)
	return "", none, nil
}

// ownPortmapper serves rpcbind at port 111 of the host of an address, over TCP and UDP.
func ownPortmapper(ctx context.Context, o *options, addr string, all []service, warn io.Writer) (where string, end func() error, err error) {
	binder := rpcbind.NewServer(nil)
	handler := o.log(rpc.NewHandler(nil, binder.Services()...))
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", nil, err
	}
	where = net.JoinHostPort(host, fmt.Sprint(rpcbind.Port))
	overTCP, err := tcp.Listen(ctx, where, handler, nil)
	if err != nil {
		return "", nil, err
	}
	end = overTCP.Close
	for vers := uint32(rpcbind.Version2); vers <= rpcbind.Version4; vers++ {
		all = append(all, at(rpcbind.Program, vers, oncrpc.NetIDTCP, where)...)
	}
	switch overUDP, err := udp.Listen(ctx, where, handler, nil); {
	case err == nil:
		end = func() error { return errors.Join(overUDP.Close(), overTCP.Close()) }
		for vers := uint32(rpcbind.Version2); vers <= rpcbind.Version4; vers++ {
			all = append(all, at(rpcbind.Program, vers, oncrpc.NetIDUDP, where)...)
		}
	case !errors.Is(err, errors.ErrUnsupported):
		return "", nil, errors.Join(err, end())
	}
	for _, s := range all {
		if err := binder.Set(s.prog, s.vers, s.netID, s.at, rpcbind.Superuser); err != nil {
			return "", nil, errors.Join(err, end())
		}
	}
	w := watch(all, warn, func(context.Context) (registry, func(), error) { return ownRegistry{binder}, func() {}, nil })
	closeAll := end
	return where, func() error {
		w.halt()
		return closeAll()
	}, nil
}

// patience is the time that the rpcbind of the system has to answer.
const patience = 10 * time.Second

// socket is the address of the system's rpcbind in the file system, where it knows the user.
const socket = "/run/rpcbind.sock"

// dialRPCBind connects to the rpcbind of the system.
func dialRPCBind(ctx context.Context) (*tcp.Conn, error) {
	var d net.Dialer
	if nc, err := d.DialContext(ctx, "unix", socket); err == nil {
		return tcp.NewConn(nc, nil), nil
	}
	return rpcbind.Dial(ctx, "127.0.0.1", nil)
}

// register registers services at the rpcbind of the system. end removes them. A host that uses NFS
// itself has the lock manager of the kernel: it stays, and answers that it does not know the files.
func register(ctx context.Context, all []service, warn io.Writer) (where string, end func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := dialRPCBind(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("the rpcbind of the system: %w", err)
	}
	defer conn.Close()
	c := rpcbind.NewClient(conn, nil)
	var set []service
	for _, s := range all {
		switch err := setOne(ctx, c, s); {
		case err == nil:
			set = append(set, s)
		case errors.Is(err, errRuns) && s.prog == nlm.MonitorProgram:
			fmt.Fprintf(warn, "nfsserve: %v: locks of clients that start again are kept until they lock again\n", err)
		case errors.Is(err, errRuns) && s.prog == nlm4.Program:
			fmt.Fprintf(warn, "nfsserve: %v: clients must mount with -o nolock\n", err)
		case !errors.Is(err, rpcbind.ErrVersion): // version 2 knows TCP and UDP alone
			return "", nil, errors.Join(err, unset(ctx, c, set))
		}
	}
	open := func(ctx context.Context) (registry, func(), error) {
		conn, err := dialRPCBind(ctx)
		if err != nil {
			return nil, nil, err
		}
		return rpcbind.NewClient(conn, nil), func() { _ = conn.Close() }, nil
	}
	w := watch(set, warn, open)
	return conn.RemoteAddr(), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return w.end(ctx, func(ctx context.Context, reg registry) error { return unset(ctx, reg, set) })
	}, nil
}

// errRuns means that another server of a program is registered, and runs.
var errRuns = errors.New("it runs")

// setOne registers a service. It replaces a registration that a server has left behind: one of this
// server's own port, which no other server can have, and one of a port where none answers.
func setOne(ctx context.Context, c registry, s service) error {
	err := c.Set(ctx, s.prog, s.vers, s.netID, s.at, "")
	if !errors.Is(err, rpcbind.ErrRefused) {
		return err
	}
	table, failed := c.Dump(ctx)
	old, registered := s.find(table)
	if !registered {
		return errors.Join(err, failed)
	}
	if old.Port() != s.at.Port() && answers(ctx, s, old) {
		return fmt.Errorf("another server of program %d is registered at %s %v: %w: %w", s.prog, s.netID, old, errRuns, err)
	}
	if err := c.Unset(ctx, s.prog, s.vers, s.netID, ""); err != nil {
		return fmt.Errorf("the registration of a former server at %s %v cannot be removed: %w", s.netID, old, err)
	}
	return c.Set(ctx, s.prog, s.vers, s.netID, s.at, "")
}

// answers reports whether a server accepts connections at an address, or answers over UDP.
func answers(ctx context.Context, s service, addr netip.AddrPort) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if addr.Addr().IsUnspecified() {
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
	}
	if s.netID != oncrpc.NetIDUDP && s.netID != oncrpc.NetIDUDP6 {
		var d net.Dialer
		nc, err := d.DialContext(ctx, "tcp", addr.String())
		if err != nil {
			return false
		}
		return nc.Close() == nil
	}
	conn, err := udp.Dial(ctx, addr.String(), nil)
	if err != nil {
		return false
	}
	defer conn.Close()
	return rpc.NewClient(conn, oncrpc.Program{Number: s.prog, Version: s.vers}, nil).Call(ctx, 0, nil, nil, nil) == nil
}

// unset removes registrations. It leaves those that another server has replaced: the kernel does so
// with the lock manager when the host begins to use NFS itself.
func unset(ctx context.Context, c registry, all []service) error {
	table, err := c.Dump(ctx)
	errs := []error{err}
	for _, s := range all {
		if old, registered := s.find(table); registered && old.Port() == s.at.Port() {
			errs = append(errs, c.Unset(ctx, s.prog, s.vers, s.netID, ""))
		}
	}
	return errors.Join(errs...)
}
