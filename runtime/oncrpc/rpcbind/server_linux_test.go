package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// insideEnv is set in the process that runs a test in namespaces of its own.
const insideEnv = "RPCBIND_INSIDE"

// isolate runs a test again, in a process with a network namespace and a /run of its own: port 111
// is free there, and the rpcbind of the machine is not affected. It reports whether this is that
// process.
func isolate(t *testing.T) bool {
	ip := witness.Program(t, "ip")
	if os.Getenv(insideEnv) != "" {
		if err := syscall.Mount("none", "/run", "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(ip, "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return true
	}
	if os.Getuid() != 0 {
		t.Skip("only root may make a network namespace")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// real is a real rpcbind.
type real struct {
	ctx               context.Context
	four, six, socket *tcp.Conn // over IPv4, IPv6 and its socket in the file system
	rpcinfo           string
}

// TestRealServer registers, looks up and removes services at rpcbind of Debian. R317
func TestRealServer(t *testing.T) {
	program, rpcinfo := witness.Program(t, "rpcbind"), witness.Program(t, "rpcinfo")
	if !isolate(t) {
		return
	}
	server := exec.Command(program, "-f")
	server.Stdout, server.Stderr = os.Stdout, os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	s := &real{ctx: ctx, rpcinfo: rpcinfo, four: dial(t, ctx, "127.0.0.1"), six: dial(t, ctx, "::1")}
	defer s.four.Close()
	defer s.six.Close()
	socket, err := net.Dial("unix", "/run/rpcbind.sock")
	if err != nil {
		t.Fatal(err)
	}
	s.socket = tcp.NewConn(socket, nil)
	defer s.socket.Close()

	for vers := uint32(Version4); vers >= Version2; vers-- {
		t.Run(fmt.Sprint("networks of version ", vers), func(t *testing.T) { s.networks(t, vers) })
	}
	t.Run("other versions of the program", s.otherVersions)
	t.Run("registrations", s.registrations)
	t.Run("owners", s.owners)
	t.Run("refusals", s.refusals)
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

// client returns a client that uses a version of the protocol.
func client(conn *tcp.Conn, vers uint32) *Client {
	c := NewClient(conn, nil)
	c.version.Store(vers)
	return c
}

// networks registers a service on each network, in one version of the protocol, and finds it.
func (s *real) networks(t *testing.T, vers uint32) {
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
func (s *real) otherVersions(t *testing.T) {
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
func (s *real) registrations(t *testing.T) {
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

// The errors of RFC 5531 §9 as rpcbind sends them.
func (s *real) refusals(t *testing.T) {
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
