package rpcbind

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Superuser is the owner that may remove all registrations.
const Superuser = "superuser"

// ServerConfig configures NewServer. A nil *ServerConfig has the default in every field.
type ServerConfig struct {
	// MaxRegistrations is the largest number of registrations. If zero, the default is 1024. If
	// negative, there is no limit. Further ones are refused. One has up to 510 bytes.
	MaxRegistrations int

	// Owner returns the name of the user that calls SET or UNSET, or an error that refuses the
	// call: oncrpc.Refused makes one. A caller can remove its own registrations, and Superuser can
	// remove all. The name that the caller itself gives has no effect.
	//
	// If nil, the default allows only calls from a loopback address to one, and at a socket in the
	// file system. The callers there are Superuser or the number of their user. Others are
	// Superuser if their port is below 1024, which systems reserve for the superuser, and "unknown"
	// otherwise.
	Owner func(r *rpc.Request) (string, error)
}

// Server is an rpcbind server with its table in memory: for tests, and for hosts without another
// one. Its methods may be called concurrently.
//
//	binder := rpcbind.NewServer(nil)
//	err := binder.Set(100003, 4, oncrpc.NetIDRDMA, addr, rpcbind.Superuser)
//	handler := rpc.NewHandler(nil, binder.Services()...)
//	overTCP, err := tcp.Listen(ctx, ":111", handler, nil)
//	overUDP, err := udp.Listen(ctx, ":111", handler, nil)
//
// It serves versions 2, 3 and 4: SET, UNSET, GETADDR, GETPORT, DUMP, GETTIME, GETVERSADDR
// and GETADDRLIST. It answers others with PROC_UNAVAIL: it calls no other server for a client
// (CALLIT, BCAST, INDIRECT), counts no calls (GETSTAT) and converts no addresses of a kernel.
// Registrations have an IP address and the netid of TCP, UDP or RDMA, and are not removed when
// their owner's process exits.
type Server struct {
	most  int
	owner func(r *rpc.Request) (string, error)

	mu    sync.Mutex
	table Mappings // in the order of registration; the strings are never changed
}

// NewServer returns a Server whose table is empty. cfg may be nil.
func NewServer(cfg *ServerConfig) *Server {
	s := &Server{most: 1024, owner: localOwner}
	if cfg != nil && cfg.MaxRegistrations != 0 {
		s.most = cfg.MaxRegistrations
	}
	if s.most < 0 {
		s.most = math.MaxInt
	}
	if cfg != nil && cfg.Owner != nil {
		s.owner = cfg.Owner
	}
	return s
}

// Set registers a version of a program, as Client.Set does, for an owner.
func (s *Server) Set(prog, vers uint32, netID string, at netip.AddrPort, owner string) error {
	m, err := newMapping(prog, vers, netID, at, owner)
	if err == nil && !s.add(m, owner) {
		err = fmt.Errorf("%w: program %d version %d is registered on netid %q, or the table is full", ErrRefused, prog, vers, netID)
	}
	return err
}

// Unset removes a registration from one network or, if netID is empty, from all. owner must be the
// owner of the registration, or Superuser.
func (s *Server) Unset(prog, vers uint32, netID, owner string) error {
	if !s.unset(prog, vers, netID, owner) {
		return fmt.Errorf("%w: program %d version %d is not registered on netid %q, or not by %q", ErrRefused, prog, vers, netID, owner)
	}
	return nil
}

func (s *Server) unset(prog, vers uint32, netID, owner string) bool {
	if netID == "" {
		return s.remove(prog, vers, owner)
	}
	return s.remove(prog, vers, owner, netID)
}

// Services returns the services of versions 2, 3 and 4 for rpc.NewHandler.
func (s *Server) Services() []*rpc.Service {
	return []*rpc.Service{s.portMapper(), s.binder(Version3), s.binder(Version4)}
}

// portMapper returns the service of version 2 (RFC 1833 §3.2). It has the registrations of TCP and
// UDP over IPv4.
func (s *Server) portMapper() *rpc.Service {
	svc := rpc.NewService(program(Version2))
	svc.Idempotent(PortProcGetPort, PortProcDump)
	rpc.Handle(svc, PortProcSet, func(r *rpc.Request, args *PortMapping, res *Done) error {
		owner, err := s.owner(r)
		if err == nil {
			m := args.mapping() // a port beyond 16 bits has an address that add refuses
			*res = Done(s.add(&m, owner))
		}
		return err
	})
	rpc.Handle(svc, PortProcUnset, func(r *rpc.Request, args *PortMapping, res *Done) error {
		owner, err := s.owner(r)
		if err == nil {
			*res = Done(s.remove(args.Prog, args.Vers, owner, oncrpc.NetIDTCP, oncrpc.NetIDUDP))
		}
		return err
	})
	rpc.Handle(svc, PortProcGetPort, func(_ *rpc.Request, args *PortMapping, res *oncrpc.Uint32) error {
		if m, ok := s.find(args.Prog, args.Vers, string(args.mapping().NetID), true); ok {
			at, err := m.AddrPort()
			*res = oncrpc.Uint32(at.Port())
			return err
		}
		return nil
	})
	rpc.Handle(svc, PortProcDump, func(_ *rpc.Request, _ *oncrpc.Void, res *PortMappings) error {
		for _, m := range s.all() {
			proto, ok := protoOf(string(m.NetID))
			if at, err := m.AddrPort(); ok && err == nil {
				*res = append(*res, PortMapping{Prog: m.Prog, Vers: m.Vers, Prot: proto, Port: uint32(at.Port())})
			}
		}
		return nil
	})
	return svc
}

// binder returns the service of version 3 or 4 (RFC 1833 §2.2).
func (s *Server) binder(vers uint32) *rpc.Service {
	svc := rpc.NewService(program(vers))
	svc.Idempotent(ProcGetAddr, ProcDump, ProcGetTime, ProcGetVersAddr, ProcGetAddrList)
	rpc.Handle(svc, ProcSet, func(r *rpc.Request, args *Mapping, res *Done) error {
		owner, err := s.owner(r)
		if err == nil {
			*res = Done(s.add(args, owner))
		}
		return err
	})
	rpc.Handle(svc, ProcUnset, func(r *rpc.Request, args *Mapping, res *Done) error {
		owner, err := s.owner(r)
		if err == nil {
			*res = Done(s.unset(args.Prog, args.Vers, string(args.NetID), owner))
		}
		return err
	})
	rpc.Handle(svc, ProcGetAddr, func(r *rpc.Request, args *Mapping, res *String) error {
		*res = s.addr(r, args, true)
		return nil
	})
	rpc.Handle(svc, ProcDump, func(_ *rpc.Request, _ *oncrpc.Void, res *Mappings) error {
		*res = s.all()
		return nil
	})
	rpc.Handle(svc, ProcGetTime, func(_ *rpc.Request, _ *oncrpc.Void, res *oncrpc.Uint32) error {
		*res = oncrpc.Uint32(time.Now().Unix())
		return nil
	})
	if vers == Version3 {
		return svc
	}
	rpc.Handle(svc, ProcGetVersAddr, func(r *rpc.Request, args *Mapping, res *String) error {
		*res = s.addr(r, args, false)
		return nil
	})
	rpc.Handle(svc, ProcGetAddrList, func(r *rpc.Request, args *Mapping, res *Entries) error {
		for _, m := range s.all() {
			if !m.is(args.Prog, args.Vers, "") {
				continue
			}
			if addr := merge(&m, local(r).Addr()); len(addr) > 0 {
				*res = append(*res, entry(string(m.NetID), addr))
			}
		}
		return nil
	})
	return svc
}

// addr answers GETADDR and GETVERSADDR. RFC 1833 §2.2.1: the network is the one that the call came
// over, whatever the arguments say, if the connection shows it.
func (s *Server) addr(r *rpc.Request, args *Mapping, any bool) String {
	here, netID := local(r), string(args.NetID)
	if here.IsValid() {
		netID = oncrpc.NetID(network(r.Conn()), here.Addr())
	}
	m, ok := s.find(args.Prog, args.Vers, netID, any)
	if !ok || netID == "" {
		return nil
	}
	return merge(&m, here.Addr())
}

// network returns a connection's network: the result of its method Network, which package udp's
// connections have, or else "tcp".
func network(c oncrpc.Conn) string {
	if n, ok := c.(interface{ Network() string }); ok {
		return n.Network()
	}
	return oncrpc.NetIDTCP
}

// local returns the address at which a client reached the server. It is not valid if the connection
// does not have one.
func local(r *rpc.Request) netip.AddrPort {
	c, ok := r.Conn().(interface{ LocalAddr() string })
	if !ok {
		return netip.AddrPort{}
	}
	at, err := netip.ParseAddrPort(c.LocalAddr())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

// localOwner is the default of ServerConfig.Owner. RFC 1833 §2.2.2: only clients on the same host
// may call SET and UNSET.
func localOwner(r *rpc.Request) (string, error) {
	if process := r.Peer().Local; process != nil {
		if process.UID == 0 {
			return Superuser, nil
		}
		return strconv.FormatUint(uint64(process.UID), 10), nil
	}
	at, err := netip.ParseAddrPort(r.Peer().Addr)
	switch {
	case err != nil || !at.Addr().Unmap().IsLoopback():
		return "", oncrpc.Refused(oncrpc.AuthStatTooWeak)
	case !local(r).Addr().IsLoopback(): // over UDP, the former is a claim
		return "", oncrpc.Refused(oncrpc.AuthStatTooWeak)
	case at.Port() < 1024:
		return Superuser, nil
	}
	return "unknown", nil
}

// entry describes an address of GETADDRLIST, with the values of RFC 1833 §2.1 and of netconfig.
func entry(netID string, addr String) Entry {
	e := Entry{Addr: addr, NetID: String(netID), Family: String("inet")}
	transport := netID
	if last := len(netID) - 1; netID[last] == '6' {
		e.Family, transport = String("inet6"), netID[:last]
	}
	switch transport {
	case "tcp":
		e.Semantics, e.Proto = 3, String("tcp") // NC_TPI_COTS_ORD
	case "udp":
		e.Semantics, e.Proto = 1, String("udp") // NC_TPI_CLTS
	default:
		e.Semantics, e.Proto = 2, String("-") // NC_TPI_COTS, NC_NOPROTO
	}
	return e
}
