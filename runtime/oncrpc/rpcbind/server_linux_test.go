package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// real is a real rpcbind.
type real struct {
	suite
	socket  *tcp.Conn // its socket in the file system
	rpcinfo string
}

// TestRealServer registers, looks up and removes services at rpcbind of Debian. R317
func TestRealServer(t *testing.T) {
	rpcinfo := witness.Program(t, "rpcinfo")
	if !isolated.Run(t) {
		return
	}
	isolated.Rpcbind(t)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	s := &real{suite: suite{ctx: ctx, four: dial(t, ctx, "127.0.0.1"), six: dial(t, ctx, "::1")}, rpcinfo: rpcinfo}
	defer s.four.Close()
	defer s.six.Close()
	socket, err := tcp.Dial(ctx, "unix:/run/rpcbind.sock", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.socket = socket
	defer s.socket.Close()

	s.run(t)
	t.Run("owners", s.owners)
	t.Run("rpcinfo", s.lists)
}

// dial connects to a server that may not be listening yet.
func dial(t *testing.T, ctx context.Context, host string) *tcp.Conn {
	t.Helper()
	for {
		conn, err := Dial(ctx, host, nil)
		if err == nil {
			return conn
		}
		if ctx.Err() != nil {
			t.Fatalf("rpcbind does not answer: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// The server knows the owner from its socket in the file system. A caller over TCP is unknown,
// whatever name it gives, and cannot remove the service of another owner.
func (s *real) owners(t *testing.T) {
	ours, theirs := NewClient(s.socket, nil), NewClient(s.four, nil)
	at := netip.MustParseAddrPort("0.0.0.0:20049")
	if err := ours.Set(s.ctx, 400003, 1, "rdma", at, "alice"); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Set(s.ctx, 400003, 2, "rdma", at, "superuser"); err != nil {
		t.Fatal(err)
	}
	all, err := theirs.Dump(s.ctx)
	var owners []string
	for i := range all {
		if all[i].Prog == 400003 {
			owners = append(owners, string(all[i].Owner))
		}
	}
	if want := []string{"superuser", "unknown"}; err != nil || !slices.Equal(owners, want) {
		t.Errorf("owners %v, want %v: %v", owners, want, err)
	}
	for _, netID := range []string{"rdma", ""} {
		if err := theirs.Unset(s.ctx, 400003, 1, netID, "superuser"); !errors.Is(err, ErrRefused) {
			t.Errorf("netid %q: %v", netID, err)
		}
	}
	for vers := range uint32(2) {
		if err := ours.Unset(s.ctx, 400003, vers+1, "", ""); err != nil {
			t.Error(err)
		}
	}
}

// rpcinfo prints the same tables.
func (s *real) lists(t *testing.T) {
	c := NewClient(s.six, nil)
	for netID, at := range map[string]string{"tcp": "0.0.0.0:2049", "udp6": "[::1]:2049", "rdma": "192.0.2.7:20049", "rdma6": "[2001:db8::1]:20049"} {
		if err := c.Set(s.ctx, 400004, 3, netID, netip.MustParseAddrPort(at), ""); err != nil {
			t.Error(err)
		}
	}
	compare(t, s.ctx, s.rpcinfo, s.four)
}

// compare compares the tables of a server as rpcinfo prints them with ours.
func compare(t *testing.T, ctx context.Context, rpcinfo string, conn *tcp.Conn) {
	t.Helper()
	// The columns before the name of the service: program, version, protocol and port in version
	// 2; program, version, netid and address in version 3 and 4.
	for vers, args := range map[uint32][]string{Version2: {"-p", "127.0.0.1"}, Version4: {"127.0.0.1"}} {
		out, err := exec.CommandContext(ctx, rpcinfo, args...).Output()
		if err != nil {
			t.Errorf("rpcinfo %v: %v", args, err)
		}
		var want, got []string
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n")[1:] {
			want = append(want, strings.Join(strings.Fields(line)[:4], " "))
		}
		all, err := client(conn, vers).Dump(ctx)
		if err != nil {
			t.Error(err)
		}
		for i := range all {
			m := &all[i]
			where := string(m.Addr)
			if vers == Version2 {
				at, err := m.AddrPort()
				if err != nil {
					t.Error(err)
				}
				where = fmt.Sprint(at.Port())
			}
			got = append(got, fmt.Sprintf("%d %d %s %s", m.Prog, m.Vers, m.NetID, where))
		}
		if !slices.Equal(got, want) || len(got) < 3 {
			t.Errorf("version %d:\n%s\nrpcinfo:\n%s", vers, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	// Networks of each program, with the owner.
	out, err := exec.CommandContext(ctx, rpcinfo, "-s", "127.0.0.1").Output()
	if err != nil {
		t.Error(err)
	}
	all, err := NewClient(conn, nil).Dump(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n")[1:] {
		f := strings.Fields(line)
		for _, netID := range strings.Split(f[2], ",") {
			if !slices.ContainsFunc(all, func(m Mapping) bool {
				return fmt.Sprint(m.Prog) == f[0] && string(m.NetID) == netID && string(m.Owner) == f[len(f)-1]
			}) {
				t.Errorf("rpcinfo -s has %s on %s, which the table lacks", f[0], netID)
			}
		}
	}
}

// rpcinfo of Debian reads the table of our server, finds a service and calls its procedure 0. The
// server takes SET and UNSET from its own host only: here 192.0.2.7 stands for another one.
func TestRPCInfo(t *testing.T) {
	rpcinfo := witness.Program(t, "rpcinfo")
	if !isolated.Run(t) {
		return
	}
	if out, err := exec.Command(witness.Program(t, "ip"), "address", "add", "192.0.2.7/24", "dev", "lo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	binder := NewServer(nil)
	server, err := tcp.Listen(ctx, ":111", rpc.NewHandler(nil, binder.Services()...), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for vers := uint32(Version2); vers <= Version4; vers++ {
		if err := binder.Set(Program, vers, "tcp", netip.MustParseAddrPort("0.0.0.0:111"), Superuser); err != nil {
			t.Fatal(err)
		}
	}
	four := dial(t, ctx, "127.0.0.1")
	defer four.Close()
	for netID, at := range map[string]string{"tcp6": "[::]:111", "rdma": "0.0.0.0:20049", "udp": "0.0.0.0:2049"} {
		if err := NewClient(four, nil).Set(ctx, 400005, 1, netID, netip.MustParseAddrPort(at), ""); err != nil {
			t.Error(err)
		}
	}
	compare(t, ctx, rpcinfo, four)
	for _, tt := range []struct{ args, want string }{
		{"-T tcp 127.0.0.1 100000", "program 100000 version 4 ready and waiting"},
		{"-T tcp 192.0.2.7 100000 3", "program 100000 version 3 ready and waiting"},
		{"-l 192.0.2.7 100000 4", "192.0.2.7.0.111"},
	} {
		out, err := exec.CommandContext(ctx, rpcinfo, strings.Fields(tt.args)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("rpcinfo %s: %v\n%s", tt.args, err, out)
		}
	}

	far := dial(t, ctx, "192.0.2.7")
	defer far.Close()
	c := NewClient(far, nil)
	for vers := uint32(Version2); vers <= Version4; vers++ {
		if err := client(far, vers).Set(ctx, 400006, 1, "tcp", netip.MustParseAddrPort("0.0.0.0:1"), ""); !errors.Is(err, oncrpc.ErrAuth) {
			t.Errorf("SET of version %d from another host: %v", vers, err)
		}
		if err := client(far, vers).Unset(ctx, 400005, 1, "", ""); !errors.Is(err, oncrpc.ErrAuth) {
			t.Errorf("UNSET of version %d from another host: %v", vers, err)
		}
	}
	if at, err := c.Lookup(ctx, Program, Version4, "tcp"); err != nil || at != netip.MustParseAddrPort("192.0.2.7:111") {
		t.Errorf("%v, %v", at, err)
	}

	// Only the superuser of this host has a port below 1024.
	// rpcinfo may have used any of them, which is then taken for a minute.
	var nc net.Conn
	for port := 1023; ; port-- {
		nc, err = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}}).DialContext(ctx, "tcp", "127.0.0.1:111")
		if port == 900 || !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	conn := tcp.NewConn(nc, nil)
	defer conn.Close()
	if err := NewClient(four, nil).Unset(ctx, Program, Version4, "tcp", Superuser); !errors.Is(err, ErrRefused) {
		t.Errorf("a stranger removes the service of the superuser: %v", err)
	}
	for prog, vers := range map[uint32]uint32{Program: Version4, 400005: 1} {
		if err := NewClient(conn, nil).Unset(ctx, prog, vers, "", ""); err != nil {
			t.Errorf("the superuser: %v", err)
		}
	}
}
