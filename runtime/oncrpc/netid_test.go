package oncrpc

import (
	"net/netip"
	"strings"
	"testing"
)

// R315, R316: netids and universal addresses, by hand.
func TestUniversalAddr(t *testing.T) {
	for _, tt := range []struct{ addr, netID, text string }{
		{"192.0.2.7:20049", "rdma", "192.0.2.7.78.81"},
		{"0.0.0.0:0", "rdma", "0.0.0.0.0.0"},
		{"[2001:db8::1]:65535", "rdma6", "2001:db8::1.255.255"},
		{"[::]:256", "rdma6", "::.1.0"},
		{"192.0.2.7:111", "tcp", "192.0.2.7.0.111"},
		{"[2001:db8::1]:111", "tcp6", "2001:db8::1.0.111"},
		{"192.0.2.7:111", "udp", "192.0.2.7.0.111"},
		{"[2001:db8::1]:111", "udp6", "2001:db8::1.0.111"},
	} {
		a := netip.MustParseAddrPort(tt.addr)
		transport := strings.TrimSuffix(tt.netID, "6")
		if netID, text := NetID(transport, a.Addr()), UniversalAddr(a); netID != tt.netID || text != tt.text {
			t.Errorf("%s: %s %s, want %s %s", tt.addr, netID, text, tt.netID, tt.text)
		}
		if got, err := ParseUniversalAddr(tt.netID, tt.text); err != nil || got != a {
			t.Errorf("%s: %v, %v", tt.text, got, err)
		}
	}
	for addr, want := range map[string]string{"[::ffff:192.0.2.7]:1": "rdma 192.0.2.7.0.1", "[fe80::1%eth0]:1": "rdma6 fe80::1.0.1"} {
		a := netip.MustParseAddrPort(addr)
		if got := NetID("rdma", a.Addr()) + " " + UniversalAddr(a); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	if PortNFSRDMA != 78<<8|81 {
		t.Errorf("port %d", PortNFSRDMA)
	}
}

// Addresses in other forms are refused.
func TestParseUniversalAddrRefuses(t *testing.T) {
	for _, tt := range [][2]string{
		{"sctp", "192.0.2.7.78.81"},
		{"local", "/run/rpcbind.sock"},
		{"6", "2001:db8::1.78.81"},
		{"tcp", "2001:db8::1.78.81"},
		{"udp6", "192.0.2.7.78.81"},
		{"tcp", "192.0.2.7.78.81\x00"},
		{"tcp\x00", "192.0.2.7.78.81"},
		{"", "192.0.2.7.78.81"},
		{"rdma", ""},
		{"rdma", "."},
		{"rdma", ".."},
		{"rdma", "78.81"},
		{"rdma", "192.0.2.78.81"},
		{"rdma", "192.0.2.7.78.256"},
		{"rdma", "192.0.2.7.256.81"},
		{"rdma", "192.0.2.7.78.081"},
		{"rdma", "192.0.2.7.78.+1"},
		{"rdma", "192.0.2.7.78.-1"},
		{"rdma", "192.0.2.7.78."},
		{"rdma", "192.0.2.7.78.81."},
		{"rdma", "2001:db8::1.78.81"},
		{"rdma6", "192.0.2.7.78.81"},
		{"rdma6", "fe80::1%eth0.78.81"},
		{"rdma6", "host.78.81"},
		{"rdma", " 192.0.2.7.78.81"},
		{"rdma", "192.0.2.07.78.81"},
	} {
		if a, err := ParseUniversalAddr(tt[0], tt[1]); err == nil {
			t.Errorf("%q %q: %v", tt[0], tt[1], a)
		}
	}
}

// Formatting an accepted address and parsing it again gives the same address. An IPv4 address in
// IPv6 becomes IPv4.
func FuzzUniversalAddr(f *testing.F) {
	f.Add("rdma", "192.0.2.7.78.81")
	f.Add("tcp", "0.0.0.0.0.111")
	f.Add("udp6", "::.0.111")
	f.Add("rdma6", "2001:db8::1.255.255")
	f.Add("rdma6", "::ffff:192.0.2.7.0.1")
	f.Add("rdma6", "fe80::1%eth0.78.81")
	f.Fuzz(func(t *testing.T, netID, addr string) {
		a, err := ParseUniversalAddr(netID, addr)
		if err != nil {
			return
		}
		id, text := NetID(strings.TrimSuffix(netID, "6"), a.Addr()), UniversalAddr(a)
		b, err := ParseUniversalAddr(id, text)
		if err != nil || b != netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) || id != netID && !a.Addr().Is4In6() {
			t.Errorf("%q %q is %v, written %q %q, which is %v, %v", netID, addr, a, id, text, b, err)
		}
	})
}
