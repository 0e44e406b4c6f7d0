package rpcbind

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// Our server does what rpcbind of Debian does. R317
func TestServerAnswersAsDebiansDoes(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	handler := replycache.New(rpc.NewHandler(nil, NewServer(nil).Services()...), nil)
	s := &suite{ctx: ctx}
	for host, conn := range map[string]**tcp.Conn{"127.0.0.1:0": &s.four, "[::1]:0": &s.six} {
		server, err := tcp.Listen(ctx, host, handler, nil)
		if err != nil && strings.HasPrefix(host, "[") {
			t.Skip("no IPv6: ", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		c, err := tcp.Dial(ctx, server.Addr(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		*conn = c
	}
	s.run(t)
}

// within returns a connection to a server within the process, whose callers are the owner that
// the machine name of their AUTH_SYS credential gives, and have no right without one.
func within(t testing.TB, cfg *ServerConfig) (*Server, *mem.Conn) {
	t.Helper()
	if cfg == nil {
		cfg = &ServerConfig{Owner: func(r *rpc.Request) (string, error) {
			sys, err := r.AuthSys()
			if err != nil {
				return "", err
			}
			return string(sys.MachineName), nil
		}}
	}
	s := NewServer(cfg)
	conn := mem.New(rpc.NewHandler(nil, s.Services()...), nil)
	t.Cleanup(func() { _ = conn.Close() })
	return s, conn
}

// user returns a client with an AUTH_SYS credential that names an owner.
func user(t testing.TB, conn oncrpc.Conn, name string) *Client {
	t.Helper()
	cred, err := (&oncrpc.AuthSysParms{MachineName: []byte(name)}).Auth()
	if err != nil {
		t.Fatal(err)
	}
	return NewClient(conn, &Config{Cred: cred})
}

// RFC 1833 §2.2.1: only the owner and the superuser remove a service, whatever owner the request
// names. ServerConfig.Owner names the caller.
func TestOwnerAloneRemovesAService(t *testing.T) {
	ctx := context.Background()
	s, conn := within(t, nil)
	alice, bob, root := user(t, conn, "alice"), user(t, conn, "bob"), user(t, conn, Superuser)
	set := func(c *Client, vers uint32, netID string) {
		t.Helper()
		if err := c.Set(ctx, 1, vers, netID, at, "mallory"); err != nil {
			t.Error(err)
		}
	}
	set(alice, 1, "tcp")
	set(alice, 1, "rdma")
	set(bob, 1, "udp")
	set(bob, 2, "udp")
	for _, tt := range []struct {
		c           *Client
		vers        uint32
		netID, name string
		want        error
		left        int
	}{
		{bob, 1, "tcp", "alice", ErrRefused, 4},
		{alice, 1, "", "alice", ErrRefused, 4}, // one of them is bob's
		{alice, 1, "rdma", "", nil, 3},
		{alice, 1, "rdma", "", ErrRefused, 3}, // there is none
		{root, 1, "", "", nil, 1},
		{bob, 2, "", "", nil, 0},
	} {
		if err := tt.c.Unset(ctx, 1, tt.vers, tt.netID, tt.name); !errors.Is(err, tt.want) || len(s.all()) != tt.left {
			t.Errorf("UNSET of version %d, netid %q as %q: %v, %d left; want %v, %d", tt.vers, tt.netID, tt.name, err, len(s.all()), tt.want, tt.left)
		}
	}
	if err := NewClient(conn, nil).Set(ctx, 1, 1, "tcp", at, "alice"); !errors.Is(err, oncrpc.ErrAuth) {
		t.Errorf("without a credential: %v", err)
	}
	// The default allows callers at a loopback address, and this connection has no address.
	if _, conn := within(t, &ServerConfig{}); !errors.Is(NewClient(conn, nil).Set(ctx, 1, 1, "tcp", at, ""), oncrpc.ErrAuth) {
		t.Error("a caller without an address may register")
	}
}

// Set and Unset of the server itself follow the rules of the calls.
func TestServerSet(t *testing.T) {
	s := NewServer(&ServerConfig{MaxRegistrations: 2})
	for i, tt := range []struct {
		netID, addr, owner string
		want               error
	}{
		{"rdma", "192.0.2.7:20049", "us", nil},
		{"rdma", "192.0.2.7:20050", "us", ErrRefused},
		{"rdma", "[2001:db8::1]:20049", "us", ErrAddress},
		{"rdma6", "192.0.2.7:20049", "us", ErrAddress},
		{"rdma6", "[::]:0", "us", ErrAddress},
		{"local", "192.0.2.7:20049", "us", ErrAddress},
		{"tcp", "0.0.0.0:1", strings.Repeat("u", 256), ErrRefused},
		{"tcp", "0.0.0.0:1", "us", nil},
		{"udp", "0.0.0.0:1", "us", ErrRefused}, // the table is full
	} {
		if err := s.Set(1, 1, tt.netID, netip.MustParseAddrPort(tt.addr), tt.owner); !errors.Is(err, tt.want) {
			t.Errorf("%d: %v, want %v", i, err, tt.want)
		}
	}
	if err := s.Unset(1, 1, "rdma", "them"); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if err := s.Unset(1, 1, "", "us"); err != nil || len(s.all()) != 0 {
		t.Error(err, s.all())
	}
	s = NewServer(&ServerConfig{MaxRegistrations: -1})
	for i := range uint32(5000) {
		if err := s.Set(1, i, "tcp", at, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// A client gets an address that it can use: the server's on the connection in place of 0.0.0.0, and
// none of the other family. A missing version gets the highest there is, except from
// GETVERSADDR.
func TestClientGetsAnAddressItCanUse(t *testing.T) {
	for _, tt := range []struct{ addr, here, want string }{
		{"0.0.0.0.78.81", "192.0.2.9", "192.0.2.9.78.81"},
		{"0.0.0.0.78.81", "2001:db8::9", ""},
		{"0.0.0.0.78.81", "", ""},
		{"192.0.2.7.78.81", "2001:db8::9", "192.0.2.7.78.81"},
	} {
		here, _ := netip.ParseAddr(tt.here)
		if got := merge(&Mapping{NetID: String("tcp"), Addr: String(tt.addr)}, here); string(got) != tt.want {
			t.Errorf("%s at %q: %q, want %q", tt.addr, tt.here, got, tt.want)
		}
	}
	s := NewServer(nil)
	for vers, port := range map[uint32]uint16{2: 20, 5: 50, 3: 30} {
		if err := s.Set(1, vers, "tcp", netip.AddrPortFrom(at.Addr(), port), ""); err != nil {
			t.Fatal(err)
		}
	}
	for vers, want := range map[uint32]uint32{2: 2, 3: 3, 5: 5, 4: 5, 9: 5} {
		if m, ok := s.find(1, vers, "tcp", true); !ok || m.Vers != want {
			t.Errorf("version %d: %v, want version %d", vers, m, want)
		}
		if _, ok := s.find(1, vers, "tcp", false); ok != (vers == want) {
			t.Errorf("version %d alone: %v", vers, ok)
		}
		if m, ok := s.find(1, vers, "tcp6", true); ok {
			t.Errorf("version %d of another network: %v", vers, m)
		}
	}
}

// procs are the procedures of each version, with valid arguments.
var procs = []struct {
	vers, proc uint32
	args       string
}{
	{2, 0, ""},
	{2, 1, nfs4 + "00000006 00004e51"},
	{2, 2, nfs4 + "00000000 00000000"},
	{2, 3, nfs4 + "00000006 00000000"},
	{2, 4, ""},
	{3, 0, ""},
	{3, 1, nfs4 + rdma + where + owner},
	{3, 2, nfs4 + rdma + where + owner},
	{3, 3, nfs4 + tcp4 + where + owner},
	{3, 4, ""},
	{3, 6, ""},
	{4, 1, nfs4 + rdma + where + owner},
	{4, 2, nfs4 + empty + empty + empty},
	{4, 3, nfs4 + tcp4 + where + owner},
	{4, 4, ""},
	{4, 6, ""},
	{4, 9, nfs4 + tcp4 + where + owner},
	{4, 11, nfs4 + tcp4 + where + owner},
}

// ask makes a call with these arguments as they are, as alice, and returns the status of RFC 5531
// §9 and the results.
func ask(t testing.TB, conn oncrpc.Conn, vers, proc uint32, args []byte) (oncrpc.AcceptStat, []byte) {
	t.Helper()
	cred, _ := (&oncrpc.AuthSysParms{MachineName: []byte("alice")}).Auth()
	message, err := oncrpc.NewCall(conn.XID(), Program, vers, proc, cred).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	call := &oncrpc.Call{Message: oncrpc.Message{Inline: append(message, args...)}}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	reply, err := conn.Call(ctx, call)
	if err != nil || len(reply.Message) < 24 || binary.BigEndian.Uint32(reply.Message[8:]) != uint32(oncrpc.Accepted) {
		t.Fatalf("version %d procedure %d: %v, %v", vers, proc, reply, err)
	}
	return oncrpc.AcceptStat(binary.BigEndian.Uint32(reply.Message[20:])), reply.Message[24:]
}

// Arguments that end early, or that have bytes behind them, are GARBAGE_ARGS (RFC 5531 §9), and
// change nothing. Procedures that are left out are PROC_UNAVAIL.
func TestServerTruncation(t *testing.T) {
	s, conn := within(t, nil)
	for _, p := range procs {
		args := unhex(t, p.args)
		for n := 0; n < len(args); n += 4 {
			if stat, _ := ask(t, conn, p.vers, p.proc, args[:n]); stat != oncrpc.GarbageArgs {
				t.Errorf("version %d procedure %d, cut at %d: %v", p.vers, p.proc, n, stat)
			}
		}
		if stat, _ := ask(t, conn, p.vers, p.proc, append(args, 0, 0, 0, 0)); stat != oncrpc.GarbageArgs {
			t.Errorf("version %d procedure %d and 4 bytes: %v", p.vers, p.proc, stat)
		}
	}
	if len(s.all()) != 0 {
		t.Errorf("%v", s.all())
	}
	for _, p := range procs {
		if stat, _ := ask(t, conn, p.vers, p.proc, unhex(t, p.args)); stat != oncrpc.Success {
			t.Errorf("version %d procedure %d: %v", p.vers, p.proc, stat)
		}
	}
	for vers, missing := range map[uint32][]uint32{2: {5, 6}, 3: {5, 7, 8, 9, 10, 11, 12}, 4: {5, 7, 8, 10, 12, 13}} {
		for _, proc := range missing {
			if stat, _ := ask(t, conn, vers, proc, nil); stat != oncrpc.ProcUnavail {
				t.Errorf("version %d procedure %d: %v", vers, proc, stat)
			}
		}
	}
}

// SET takes usable addresses only: else DUMP would pass on what a local program made up.
func TestServerRefusesAddresses(t *testing.T) {
	s, conn := within(t, nil)
	for _, args := range []string{
		str("") + str("192.0.2.7.78.81"),
		str("tcp") + str(""),
		str("tcp") + str("192.0.2.7.0.0"),
		str("tcp") + str("192.0.2.7.78.256"),
		str("tcp") + str("192.0.2.7.78.81\x00"),
		str("tcp\x00") + str("192.0.2.7.78.81"),
		str("tcp6") + str("192.0.2.7.78.81"),
		str("local") + str("/run/rpcbind.sock"),
		str("sctp") + str("192.0.2.7.78.81"),
	} {
		if stat, res := ask(t, conn, Version4, ProcSet, unhex(t, nfs4+args+empty)); stat != oncrpc.Success || !bytes.Equal(res, make([]byte, 4)) {
			t.Errorf("%s: %v, %x", args, stat, res)
		}
	}
	for _, args := range []string{"00000006 00000000", "00000006 00010000", "00000006 ffffffff", "00000084 00000001"} {
		if stat, res := ask(t, conn, Version2, PortProcSet, unhex(t, nfs4+args)); stat != oncrpc.Success || !bytes.Equal(res, make([]byte, 4)) {
			t.Errorf("%s: %v, %x", args, stat, res)
		}
	}
	for _, args := range []string{str(strings.Repeat("t", 256)) + str(""), "00100000" + strings.Repeat("74", 1<<20) + str(""), "ffffffff"} {
		if stat, _ := ask(t, conn, Version4, ProcSet, unhex(t, nfs4+args+empty)); stat != oncrpc.GarbageArgs {
			t.Errorf("%.40s: %v", args, stat)
		}
	}
	if len(s.all()) != 0 {
		t.Errorf("%v", s.all())
	}
}

// The registrations of one request do not change with the memory of later ones, and many callers
// may use the server at once.
func TestServerConcurrently(t *testing.T) {
	s, conn := within(t, nil)
	var wg sync.WaitGroup
	for i := range uint32(8) {
		wg.Go(func() {
			c := user(t, conn, fmt.Sprint("user", i))
			for n := range uint32(20) {
				port := netip.AddrPortFrom(at.Addr(), uint16(100*i+n+1))
				if err := c.Set(context.Background(), i, n, "rdma", port, ""); err != nil {
					t.Error(err)
				}
				if got, err := c.Lookup(context.Background(), i, n, "rdma"); err != nil || got != port {
					t.Errorf("%v, %v", got, err)
				}
				if err := c.Unset(context.Background(), i, n, "", ""); n%2 == 0 && err != nil {
					t.Error(err)
				} else if n%2 == 1 {
					_ = c.Set(context.Background(), i, n, "rdma", port, "")
				}
			}
		})
	}
	wg.Wait()
	all := s.all()
	if len(all) != 80 || slices.ContainsFunc(all, func(m Mapping) bool {
		at, err := m.AddrPort()
		return err != nil || string(m.Owner) != fmt.Sprint("user", m.Prog) || uint32(at.Port()) != 100*m.Prog+m.Vers+1
	}) {
		t.Errorf("%d registrations: %v", len(all), []Mapping(all))
	}
}

// Whatever a caller sends: no panic, an answer that decodes, and a table of usable addresses within
// its limit.
//
//fuzz:floor 100 each execution makes a connection, and five calls on it
func FuzzServer(f *testing.F) {
	for _, p := range procs {
		f.Add(p.vers, p.proc, unhex(f, p.args))
	}
	const most = 2
	f.Fuzz(func(t *testing.T, vers, proc uint32, args []byte) {
		s, conn := within(t, &ServerConfig{MaxRegistrations: most, Owner: func(*rpc.Request) (string, error) { return "alice", nil }})
		if err := s.Set(100003, 4, "tcp", at, "alice"); err != nil {
			t.Fatal(err)
		}
		args = append(args, make([]byte, -len(args)&3)...)
		ask(t, conn, vers, proc, args)
		ask(t, conn, vers, proc, args)
		all := s.all()
		if len(all) > most {
			t.Fatalf("%d registrations", len(all))
		}
		for i := range all {
			if _, err := all[i].AddrPort(); err != nil {
				t.Fatal(err)
			}
		}
		for vers := uint32(Version2); vers <= Version4; vers++ {
			if _, err := client(conn, vers).Dump(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
