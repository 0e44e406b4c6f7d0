package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes/notesrpc"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpcbind"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// serveTCP serves until the test ends and returns the address.
func serveTCP(t *testing.T, h oncrpc.Handler) netip.AddrPort {
	t.Helper()
	s, err := tcp.Listen(context.Background(), "127.0.0.1:0", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return netip.MustParseAddrPort(s.Addr())
}

// answering is a handler that answers each call with a header.
func answering(f func(m *oncrpc.Header) *oncrpc.Header) oncrpc.Handler {
	return oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		var m oncrpc.Header
		if err := m.UnmarshalBinary(r.Message); err != nil {
			r.Drop(nil)
			return
		}
		r.Reply(oncrpc.Message{Inline: encoded(f(&m))}, nil)
	})
}

// serviceAt returns the object of a service in the output of info -json.
func serviceAt(t *testing.T, object map[string]any, addr string) map[string]any {
	t.Helper()
	for _, s := range object["services"].([]any) {
		if s := s.(map[string]any); s["address"] == addr {
			return s
		}
	}
	t.Fatalf("no service at %s: %v", addr, object)
	return nil
}

// registered returns the address of an rpcbind server that has the notes at an address.
func registered(t *testing.T, at string) string {
	t.Helper()
	binder := rpcbind.NewServer(nil)
	for number, addr := range map[uint32]string{notesrpc.Program().Number: at, 100003: "192.0.2.1:1"} {
		if err := binder.Set(number, 1, oncrpc.NetIDTCP, netip.MustParseAddrPort(addr), "owner"); err != nil {
			t.Fatal(err)
		}
	}
	return serveTCP(t, rpc.NewHandler(nil, binder.Services()...)).String()
}

// refusing is an address that refuses connections: the port of tcpmux. The system never gives its
// port to a program that asks for any, as it may do with the port of a listener that was closed.
const refusing = "127.0.0.1:1"

// Each service has its answer: over TCP and RDMA, with a hole in its versions, with TLS, dead,
// without the program, silent, of another host, and over UDP.
func TestInfoListsEachService(t *testing.T) {
	_, tcpAddr, rdmaAddr := servingNotes(t)
	holes := serveTCP(t, answering(func(m *oncrpc.Header) *oncrpc.Header {
		if v := m.Body.Call.Vers; v == 2 || v == 4 {
			return oncrpc.NewReply(m.XID, oncrpc.Success)
		}
		return oncrpc.NewProgMismatch(m.XID, 2, 4)
	}))
	secure := netip.MustParseAddrPort(securedNotes(t, tlstest.NewAuthority(t), tcp.TLSRequired))
	absent := serveTCP(t, answering(func(m *oncrpc.Header) *oncrpc.Header { return oncrpc.NewReply(m.XID, oncrpc.ProgUnavail) }))
	wide := serveTCP(t, answering(func(m *oncrpc.Header) *oncrpc.Header {
		if m.Body.Call.Vers == 7 {
			return oncrpc.NewReply(m.XID, oncrpc.Success)
		}
		return oncrpc.NewProgMismatch(m.XID, 0, 1<<32-2)
	}))
	mute := netip.MustParseAddrPort(scripted(t, func(uint32) []byte { return nil }))
	dead := netip.MustParseAddrPort(refusing)

	binder := rpcbind.NewServer(nil)
	for _, r := range []struct {
		prog, vers uint32
		netID      string
		at         netip.AddrPort
	}{
		{notesrpc.Program().Number, 1, oncrpc.NetIDTCP, netip.MustParseAddrPort(tcpAddr)},
		{notesrpc.Program().Number, 1, oncrpc.NetIDRDMA, netip.MustParseAddrPort(rdmaAddr)},
		{100003, 2, oncrpc.NetIDTCP, holes},
		{notesrpc.Program().Number, 2, oncrpc.NetIDTCP, secure},
		{100011, 1, oncrpc.NetIDTCP, absent},
		{100012, 7, oncrpc.NetIDTCP, wide},
		{100021, 1, oncrpc.NetIDTCP, dead},
		{100024, 1, oncrpc.NetIDTCP, mute},
		{5, 1, oncrpc.NetIDTCP, netip.MustParseAddrPort("192.0.2.1:99")},
		{5, 1, oncrpc.NetIDUDP, netip.MustParseAddrPort("127.0.0.1:98")},
		{5, 1, oncrpc.NetIDTCP6, netip.MustParseAddrPort("[::]:97")},
	} {
		if err := binder.Set(r.prog, r.vers, r.netID, r.at, "owner"); err != nil {
			t.Fatal(err)
		}
	}
	host := serveTCP(t, rpc.NewHandler(nil, binder.Services()...)).String()
	code, out, errs := try(context.Background(), "info", "-json", "-W", "400ms", host)
	o := objects(t, out)
	if code != exitDone || len(o) != 1 || errs != "" || o[0]["registrations"] != 11. {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	for addr, want := range map[string]map[string]any{
		tcpAddr:         {"asked": true, "netid": "tcp", "versions": "[1]", "tls": "not offered", "low": 1., "high": 1., "owner": "owner"},
		rdmaAddr:        {"asked": true, "netid": "rdma", "versions": "[1]", "rpcrdma_version": 1., "inline_send_bytes": 5120.},
		holes.String():  {"name": "nfs", "versions": "[2 4]", "low": 2., "high": 4., "tls": "not offered"},
		secure.String(): {"reject_stat": "AUTH_ERROR", "auth_stat": "AUTH_TOOWEAK", "tls": "offered"},
		absent.String(): {"accept_stat": "PROG_UNAVAIL"},
		wide.String():   {"versions": "[7]", "high": 1<<32 - 2.},
		dead.String():   {"asked": true, "error": "connection refused"},
		mute.String():   {"asked": true, "error": "no answer in time"},
		"192.0.2.1:99":  {"asked": false, "reason": "not asked: it is not the address of the host"},
		"127.0.0.1:98":  {"asked": false, "netid": "udp"},
		"[::]:97":       {"asked": false, "reason": "of the other address family"},
	} {
		s := serviceAt(t, o[0], addr)
		for k, v := range want {
			if got := fmt.Sprint(s[k]); !strings.Contains(got, strings.Trim(fmt.Sprint(v), "[]")) {
				t.Errorf("%s: %s is %v, expected %v", addr, k, got, v)
			}
		}
	}
	if s := serviceAt(t, o[0], rdmaAddr); s["credits"] == 0. || s["credits"] == nil {
		t.Errorf("no credits: %v", s)
	}
	code, out, _ = try(context.Background(), "info", "-W", "400ms", "-port", rdmaAddr[strings.LastIndexByte(rdmaAddr, ':')+1:], host)
	for _, want := range []string{
		"rpcbind at " + host + ": 11 registrations\nPROGRAM", "PROG_MISMATCH says 2 to 4", "TLS offered", "RPC-over-RDMA version 1, inline 5120",
		"program unavailable", "  no answer in time\n", " connection refused\n", "\n-          -",
	} {
		if code != exitDone || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, out)
		}
	}
}

// The list of rpcbind is not trusted: its texts are quoted, and only some services are asked.
func TestInfoHostileList(t *testing.T) {
	port := netip.MustParseAddrPort(refusing).Port()
	var all rpcbind.Mappings
	for i := range 300 {
		addr := fmt.Appendf(nil, "127.0.0.1.%d.%d", port>>8, port&255)
		all = append(all, rpcbind.Mapping{Prog: uint32(i + 10), Vers: 1, NetID: []byte("tcp"), Addr: addr})
	}
	all = append(all,
		rpcbind.Mapping{Prog: 1, Vers: 1, NetID: []byte("\x1b[2J"), Addr: []byte(strings.Repeat("a", 200))},
		rpcbind.Mapping{Prog: 2, Vers: 1, NetID: []byte("tcp"), Addr: []byte("127.0.0.1.0.0")},
		rpcbind.Mapping{Prog: 3, Vers: 1, NetID: []byte("rdma"), Addr: []byte("::1.1.1")})
	s := rpc.NewService(oncrpc.Program{Number: rpcbind.Program, Version: rpcbind.Version4})
	rpc.Handle(s, rpcbind.ProcDump, func(_ *rpc.Request, _ *oncrpc.Void, res *rpcbind.Mappings) error {
		*res = append(*res, all...)
		return nil
	})
	host := serveTCP(t, rpc.NewHandler(nil, s)).String()
	code, out, errs := try(context.Background(), "info", "-W", "1h", host)
	if code != exitDone || errs != "" || strings.ContainsRune(out, 0x1b) || !strings.Contains(out, `"\x1b[2J"`) || strings.Contains(out, strings.Repeat("a", 65)) {
		t.Errorf("exit %d, %s\n%.2000s", code, errs, out)
	}
	if n := strings.Count(out, "more than 256 services"); n != 300-maxServices {
		t.Errorf("%d services are not asked", n)
	}
	if n := strings.Count(out, "connection refused"); n != maxServices {
		t.Errorf("%d services were asked", n)
	}
}

// Without rpcbind, info fails as the connection to it did; -port is asked nevertheless.
func TestInfoWithoutRpcbind(t *testing.T) {
	_, _, rdmaAddr := servingNotes(t)
	host := refusing
	code, out, errs := try(context.Background(), "info", host)
	if code != exitFailed || out != "" || !strings.Contains(errs, "question to rpcbind to "+host) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	code, out, _ = try(context.Background(), "info", "-json", host)
	if o := objects(t, out); code != exitFailed || len(o) != 1 || o[0]["error"] == nil {
		t.Errorf("exit %d, %s", code, out)
	}
	code, out, _ = try(context.Background(), "info", "-port", rdmaAddr[strings.LastIndexByte(rdmaAddr, ':')+1:], host)
	if code != exitDone || !strings.Contains(out, "RPC-over-RDMA version 1") {
		t.Errorf("with -port: exit %d, %s", code, out)
	}
	mute := scripted(t, func(uint32) []byte { return nil })
	if code, _, errs := try(context.Background(), "info", "-W", "300ms", mute); code != exitSilent || !strings.Contains(errs, "no answer in time") {
		t.Errorf("silent: exit %d, %s", code, errs)
	}
	for args, want := range map[string]string{
		"info -W 0s h": "-W is 0s", "info :5": "found no host", "info h:0": "no port", "info -provider mem h": "within this process only",
		"info -port 70000 h": "-port", "info": "HOST is missing",
	} {
		if code, _, errs := try(context.Background(), strings.Fields(args)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s", args, code, errs)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if code, _, errs := try(ctx, "info", host); code != exitFailed || !strings.Contains(errs, "interrupted") {
		t.Errorf("interrupted: exit %d, %s", code, errs)
	}
}
