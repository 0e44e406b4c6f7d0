package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// overUDP registers, looks up and removes services over UDP at the server of 127.0.0.1, in each
// version of the protocol.
func overUDP(t *testing.T, ctx context.Context) {
	conn, err := DialUDP(ctx, "127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for vers := uint32(Version4); vers >= Version2; vers-- {
		c, prog := client(conn, vers), 400010+vers
		for i, netID := range []string{"tcp", "udp", "rdma"} {
			want := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(2000+i))
			if vers == Version2 && netID == "rdma" {
				continue
			}
			if err := c.Set(ctx, prog, 1, netID, netip.AddrPortFrom(netip.IPv4Unspecified(), want.Port()), "us"); err != nil {
				t.Errorf("version %d, SET for %s: %v", vers, netID, err)
			}
			if at, err := c.Lookup(ctx, prog, 1, netID); err != nil || at != want {
				t.Errorf("version %d, lookup for %s: %v, %v", vers, netID, at, err)
			}
		}
		if all, err := c.Dump(ctx); err != nil || len(all) < 2 {
			t.Errorf("version %d: %v, %v", vers, all, err)
		}
		if err := c.Unset(ctx, prog, 1, "", "us"); err != nil {
			t.Errorf("version %d: %v", vers, err)
		}
		if at, err := c.Lookup(ctx, prog, 1, "udp"); !errors.Is(err, ErrNotRegistered) {
			t.Errorf("version %d after UNSET: %v, %v", vers, at, err)
		}
	}
}

// The client uses rpcbind of Debian over UDP.
func TestRealServerUDP(t *testing.T) {
	if !isolated.Run(t) {
		return
	}
	isolated.Rpcbind(t)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	overUDP(t, ctx)
}

// Our server over UDP at a wildcard address, for the client and for rpcinfo of Debian. GETADDR
// answers for the network of the call. Another host, here 192.0.2.7, cannot register, and neither
// can one that claims a loopback address.
func TestServerUDP(t *testing.T) {
	rpcinfo, ip := witness.Program(t, "rpcinfo"), witness.Program(t, "ip")
	if !isolated.Run(t) {
		return
	}
	if out, err := exec.Command(ip, "address", "add", "192.0.2.7/24", "dev", "lo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	binder := NewServer(nil)
	server, err := udp.Listen(ctx, "0.0.0.0:111", rpc.NewHandler(nil, binder.Services()...), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	overUDP(t, ctx)
	at := netip.MustParseAddrPort("0.0.0.0:111")
	for vers := uint32(Version2); vers <= Version4; vers++ {
		for _, netID := range []string{"tcp", "udp"} {
			if err := binder.Set(Program, vers, netID, at, Superuser); err != nil {
				t.Fatal(err)
			}
		}
	}
	for vers := 2; vers <= 4; vers++ {
		for _, host := range []string{"127.0.0.1", "192.0.2.7"} {
			out, err := exec.CommandContext(ctx, rpcinfo, "-T", "udp", host, "100000", fmt.Sprint(vers)).CombinedOutput()
			if err != nil || !strings.Contains(string(out), fmt.Sprintf("program 100000 version %d ready and waiting", vers)) {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
	far, err := DialUDP(ctx, "192.0.2.7", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for netID, want := range map[string]string{"udp": "192.0.2.7:111", "tcp": "192.0.2.7:111"} {
		if got, err := NewClient(far, nil).Lookup(ctx, Program, Version4, netID); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", netID, got, err)
		}
	}
	if err := NewClient(far, nil).Set(ctx, 400020, 1, "tcp", at, ""); !errors.Is(err, oncrpc.ErrAuth) {
		t.Errorf("SET from another host: %v", err)
	}
	overTCP, err := tcp.Listen(ctx, "0.0.0.0:111", rpc.NewHandler(nil, binder.Services()...), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer overTCP.Close()
	for from, to := range map[string]string{"127.0.0.1": "192.0.2.7:111", "192.0.2.7": "127.0.0.1:111"} {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		nc, err := d.DialContext(ctx, "tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		conn := tcp.NewConn(nc, nil)
		defer conn.Close()
		if err := NewClient(conn, nil).Set(ctx, 400020, 1, "tcp", at, ""); !errors.Is(err, oncrpc.ErrAuth) {
			t.Errorf("SET from %s to %s: %v", from, to, err)
		}
	}
}
