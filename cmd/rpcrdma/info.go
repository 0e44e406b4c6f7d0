package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

type infoCmd struct {
	Timeout time.Duration `short:"W" default:"5s"`
	Port    uint16        `name:"port"`
	JSON    bool          `name:"json"`
	deviceFlags
	Host string `arg:""`
}

const (
	maxProbes   = 8   // at one time
	maxServices = 256 // that are asked; rpcbind may list more
)

// info is all that is known of a host.
type info struct {
	host       string
	rpcbind    string // its address
	err        error  // of rpcbind, or nil
	registered int    // registrations
	services   []*service
}

// service is a program at an address, with the versions that rpcbind has for it there.
type service struct {
	given      bool // by -port; then program is not known
	program    uint32
	netID      string
	addr       string // as registered, or HOST:PORT
	owner      string
	registered []uint32
	at         netip.AddrPort // where to ask; zero: it is not asked
	why        string         // why it is not asked
	answer
}

// run asks rpcbind, then each service, and prints all.
func (c *infoCmd) run(ctx context.Context, env environment) (err error) {
	host, port, err := splitHostPort(c.Host, fmt.Sprint(rpcbind.Port))
	switch {
	case err == nil && (host == "" || port == 0):
		err = fmt.Errorf("address %q: found no host or no port, expected HOST or HOST:PORT", c.Host)
	case err == nil && c.Timeout <= 0:
		err = fmt.Errorf("-W is %v, must be positive", c.Timeout)
	case err == nil && c.Provider == "mem":
		err = errors.New("the provider mem connects within this process only: use another -provider")
	case err == nil:
		err = c.deviceFlags.check()
	}
	if err != nil {
		return &failure{code: exitUsage, stage: "info", err: err}
	}
	c.host = host
	f, err := newFabric(&c.deviceFlags, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	found := &info{host: host, rpcbind: joinAddress(host, port)}
	c.list(ctx, found)
	if c.Port != 0 {
		found.services = append(found.services, &service{given: true, netID: oncrpc.NetIDRDMA, addr: joinAddress(host, c.Port)})
	}
	if err := c.ask(ctx, f, found.services); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &failure{code: exitFailed, stage: "info", err: errors.New("interrupted")}
	}
	found.print(env)
	return found.failure()
}

// adviceNoList says what info can do without rpcbind.
const adviceNoList = "rpcbind on that host, which has the list; -port N asks the service over RDMA at port N also without it"

// failure returns an error if rpcbind and all services failed.
func (i *info) failure() error {
	if i.err == nil || slices.ContainsFunc(i.services, func(s *service) bool { return s.err == nil }) {
		return nil
	}
	f := explainLookup(i.rpcbind, adviceNoList, i.err)
	return &failure{code: f.code, err: errReported}
}

// list asks rpcbind for its registrations.
func (c *infoCmd) list(ctx context.Context, found *info) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, err := tcp.Dial(ctx, found.rpcbind, nil)
	if err != nil {
		found.err = err
		return
	}
	defer func() { _ = conn.Close() }()
	found.rpcbind = conn.RemoteAddr()
	all, err := rpcbind.NewClient(conn, nil).Dump(ctx)
	if err != nil {
		found.err = err
		return
	}
	found.registered = len(all)
	server, err := netip.ParseAddrPort(conn.RemoteAddr())
	if err != nil {
		found.err = err
		return
	}
	found.services = services(all, server.Addr().Unmap())
}

// services groups registrations by program, netid and address. server is the address of the host.
func services(all rpcbind.Mappings, server netip.Addr) []*service {
	type key struct {
		program     uint32
		netID, addr string
	}
	groups := map[key]*service{}
	var out []*service
	for i := range all {
		m := &all[i]
		k := key{m.Prog, string(m.NetID), string(m.Addr)}
		s := groups[k]
		if s == nil {
			s = &service{program: m.Prog, netID: k.netID, addr: k.addr, owner: string(m.Owner)}
			s.locate(m, server)
			groups[k] = s
			out = append(out, s)
		}
		s.registered = append(s.registered, m.Vers)
	}
	asked := 0
	for _, s := range out {
		slices.Sort(s.registered)
		s.registered = slices.Compact(s.registered)
		if !s.at.IsValid() {
			continue
		}
		if asked++; asked > maxServices {
			s.at, s.why = netip.AddrPort{}, fmt.Sprintf("not asked: there are more than %d services", maxServices)
		}
	}
	slices.SortStableFunc(out, func(a, b *service) int {
		return cmp.Or(cmp.Compare(a.program, b.program), cmp.Compare(a.netID, b.netID), cmp.Compare(a.addr, b.addr))
	})
	return out
}

// locate sets where to ask a service. Only addresses of the host are asked: its rpcbind may name
// any other, and is not trusted.
func (s *service) locate(m *rpcbind.Mapping, server netip.Addr) {
	at, err := m.AddrPort()
	switch {
	case err != nil: // a path of the file system, or no address
	case s.netID == oncrpc.NetIDUDP || s.netID == oncrpc.NetIDUDP6:
	case at.Addr() == server, at.Addr().IsUnspecified() && at.Addr().Is4() == server.Is4():
		s.at = netip.AddrPortFrom(server, at.Port())
	case at.Addr().IsUnspecified():
		s.why = fmt.Sprintf("not asked: the host was reached at %v, of the other address family", server)
	default:
		s.why = "not asked: it is not the address of the host"
	}
	if at.IsValid() {
		s.addr = at.String()
	}
}

// ask asks all services that have an address, some at a time.
func (c *infoCmd) ask(ctx context.Context, f *fabric, all []*service) error {
	dev, err := f.open("client")
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	places := make(chan struct{}, maxProbes)
	for _, s := range all {
		rdma := s.netID == oncrpc.NetIDRDMA || s.netID == oncrpc.NetIDRDMA6
		if !s.at.IsValid() && !s.given {
			continue
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			if rdma {
				c.askRDMA(ctx, f, dev, s)
			} else {
				c.askTCP(ctx, s)
			}
		})
	}
	wg.Wait()
	return nil
}
