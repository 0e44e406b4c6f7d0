package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// suite tests a server, Debian's or ours: the client registers, looks up and removes services, in
// each version of the protocol.
type suite struct {
	ctx       context.Context
	four, six *tcp.Conn // to the server at 127.0.0.1 and ::1
}

func (s *suite) run(t *testing.T) {
	for vers := uint32(Version4); vers >= Version2; vers-- {
		t.Run(fmt.Sprint("networks of version ", vers), func(t *testing.T) { s.networks(t, vers) })
	}
	t.Run("other versions of the program", s.otherVersions)
	t.Run("registrations", s.registrations)
	t.Run("refusals", s.refusals)
}

// client returns a client that uses a version of the protocol.
func client(conn oncrpc.Conn, vers uint32) *Client {
	c := NewClient(conn, nil)
	c.version.Store(vers)
	return c
}

// networks registers a service on each network, in one version of the protocol, and finds it.
func (s *suite) networks(t *testing.T, vers uint32) {
	const prog = 400001
	for _, netID := range []string{"tcp", "tcp6", "udp", "udp6", "rdma", "rdma6"} {
		conn, other := s.four, s.six
		everywhere, host := netip.IPv4Unspecified(), netip.MustParseAddr("127.0.0.1")
		elsewhere := netip.MustParseAddrPort("192.0.2.7:20049")
		if strings.HasSuffix(netID, "6") {
			conn, other = s.six, s.four
			everywhere, host = netip.IPv6Unspecified(), netip.IPv6Loopback()
			elsewhere = netip.MustParseAddrPort("[2001:db8::1]:20049")
		}
		c := client(conn, vers)
		err := c.Set(s.ctx, prog, 1, netID, netip.AddrPortFrom(everywhere, 20050), "us")
		if vers == Version2 && netID != "tcp" && netID != "udp" {
			if !errors.Is(err, ErrVersion) {
				t.Errorf("%s: %v", netID, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", netID, err)
		}
		if at, err := c.Lookup(s.ctx, prog, 1, netID); err != nil || at != netip.AddrPortFrom(host, 20050) {
			t.Errorf("%s: %v, %v", netID, at, err)
		}
		if at, err := client(other, vers).Lookup(s.ctx, prog, 1, netID); !errors.Is(err, ErrAddress) {
			t.Errorf("%s over the other family: %v, %v", netID, at, err)
		}
		if at, err := c.Lookup(s.ctx, prog+1, 1, netID); !errors.Is(err, ErrNotRegistered) {
			t.Errorf("%s, another program: %v, %v", netID, at, err)
		}
		if err := c.Unset(s.ctx, prog, 1, netID, "us"); err != nil {
			t.Errorf("%s: %v", netID, err)
		}
		if at, err := c.Lookup(s.ctx, prog, 1, netID); !errors.Is(err, ErrNotRegistered) {
			t.Errorf("%s after UNSET: %v, %v", netID, at, err)
		}
		if vers == Version2 {
			continue
		}
		// One address. For TCP, the server answers with one that the client reaches.
		if err := c.Set(s.ctx, prog, 1, netID, elsewhere, "us"); err != nil {
			t.Errorf("%s: %v", netID, err)
		}
		if at, err := c.Lookup(s.ctx, prog, 1, netID); err != nil || at != elsewhere && !strings.HasPrefix(netID, "tcp") {
			t.Errorf("%s: %v, %v; want %v", netID, at, err, elsewhere)
		}
		if err := c.Unset(s.ctx, prog, 1, "", "us"); err != nil {
			t.Errorf("%s: %v", netID, err)
		}
	}
	now, err := client(s.four, vers).Time(s.ctx)
	if vers == Version2 {
		if !errors.Is(err, ErrVersion) {
			t.Error(err)
		}
	} else if d := time.Since(now); err != nil || d < -2*time.Second || d > 60*time.Second {
		t.Errorf("%v, %v", now, err)
	}
}

// Only version 4 asks for a version of the program and no other. The table has each by itself.
func (s *suite) otherVersions(t *testing.T) {
	c := client(s.four, Version4)
	for _, netID := range []string{"tcp", "rdma"} {
		if err := c.Set(s.ctx, 400002, 1, netID, netip.MustParseAddrPort("0.0.0.0:700"), "us"); err != nil {
			t.Fatal(err)
		}
	}
	for vers := uint32(Version2); vers <= Version4; vers++ {
		at, err := client(s.four, vers).Lookup(s.ctx, 400002, 2, "tcp")
		if vers == Version4 && !errors.Is(err, ErrNotRegistered) || vers < Version4 && (err != nil || at.Port() != 700) {
			t.Errorf("version %d over TCP: %v, %v", vers, at, err)
		}
		if at, err = client(s.four, vers).Lookup(s.ctx, 400002, 2, "rdma"); !errors.Is(err, ErrNotRegistered) && vers > Version2 {
			t.Errorf("version %d over RDMA: %v, %v", vers, at, err)
		}
	}
}

// A registration stays until it is removed. The networks are apart, and UNSET removes one or all.
func (s *suite) registrations(t *testing.T) {
	const prog, vers, owner = 100003, 4, "superuser"
	c := NewClient(s.four, nil)
	here, there, six := netip.MustParseAddrPort("127.0.0.1:20049"), netip.MustParseAddrPort("0.0.0.0:20050"), netip.MustParseAddrPort("[2001:db8::1]:20049")
	lookup := func(netID string, want netip.AddrPort) {
		t.Helper()
		if got, err := c.Lookup(s.ctx, prog, vers, netID); got != want || errors.Is(err, ErrNotRegistered) != !want.IsValid() {
			t.Errorf("%s: %v, %v; want %v", netID, got, err, want)
		}
	}
	set := func(netID string, at netip.AddrPort, want error) {
		t.Helper()
		if err := c.Set(s.ctx, prog, vers, netID, at, owner); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", netID, err, want)
		}
	}
	lookup("rdma", netip.AddrPort{})
	set("rdma", here, nil)
	set("rdma6", six, nil)
	set("tcp", here, nil)
	set("rdma", there, ErrRefused)
	lookup("rdma", here)
	lookup("rdma6", six)
	lookup("tcp", here)
	if err := c.Unset(s.ctx, prog, vers, "rdma", owner); err != nil {
		t.Error(err)
	}
	lookup("rdma", netip.AddrPort{})
	lookup("rdma6", six)
	set("rdma", there, nil)
	lookup("rdma", netip.AddrPortFrom(here.Addr(), there.Port()))
	if err := c.Unset(s.ctx, prog, vers, "", owner); err != nil {
		t.Error(err)
	}
	for _, netID := range []string{"rdma", "rdma6", "tcp"} {
		lookup(netID, netip.AddrPort{})
	}
}

// The errors of RFC 5531 §9 as rpcbind sends them.
func (s *suite) refusals(t *testing.T) {
	for vers := uint32(Version2); vers <= Version4; vers++ {
		if err := client(s.four, vers).versions[vers].Call(s.ctx, 99, nil, nil, nil); !errors.Is(err, oncrpc.ErrProcUnavail) {
			t.Errorf("version %d, procedure 99: %v", vers, err)
		}
		if err := client(s.four, vers).versions[vers].Call(s.ctx, ProcSet, nil, nil, nil); !errors.Is(err, oncrpc.ErrGarbageArgs) {
			t.Errorf("version %d, SET without arguments: %v", vers, err)
		}
	}
	var refused *oncrpc.ReplyError
	err := rpc.NewClient(s.four, oncrpc.Program{Number: Program, Version: 5}, nil).Call(s.ctx, ProcDump, nil, nil, nil)
	if !errors.Is(err, oncrpc.ErrProgMismatch) || !errors.As(err, &refused) || refused.Range != (oncrpc.VersionRange{Low: 2, High: 4}) {
		t.Errorf("version 5: %v", err)
	}
	err = rpc.NewClient(s.four, oncrpc.Program{Number: 99, Version: 4}, nil).Call(s.ctx, ProcDump, nil, nil, nil)
	if !errors.Is(err, oncrpc.ErrProgUnavail) {
		t.Errorf("program 99: %v", err)
	}
}
