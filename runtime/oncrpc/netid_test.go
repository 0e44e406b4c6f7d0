package oncrpc

import (
	"net/netip"
	"testing"
)

// R315, R316: netids and universal addresses, by hand.
func TestUniversalAddr(t *testing.T) {
	for _, tt := range []struct{ addr, netID, text string }{
		{"192.0.2.7:20049", "rdma", "192.0.2.7.78.81"},
		{"0.0.0.0:0", "rdma", "0.0.0.0.0.0"},
		{"[2001:db8::1]:65535", "rdma6", "2001:db8::1.255.255"},
		{"[::]:256", "rdma6", "::.1.0"},
	} {
		a := netip.MustParseAddrPort(tt.addr)
		if netID, text := UniversalAddr(a); netID != tt.netID || text != tt.text {
			t.Errorf("%s: %s %s, want %s %s", tt.addr, netID, text, tt.netID, tt.text)
		}
		if got, err := ParseUniversalAddr(tt.netID, tt.text); err != nil || got != a {
			t.Errorf("%s: %v, %v", tt.text, got, err)
		}
	}
	if netID, text := UniversalAddr(netip.MustParseAddrPort("[::ffff:192.0.2.7]:1")); netID != "rdma" || text != "192.0.2.7.0.1" {
		t.Errorf("%s %s", netID, text)
	}
	if netID, text := UniversalAddr(netip.MustParseAddrPort("[fe80::1%eth0]:1")); netID != "rdma6" || text != "fe80::1.0.1" {
		t.Errorf("%s %s", netID, text)
	}
	if PortNFSRDMA != 78<<8|81 {
		t.Errorf("port %d", PortNFSRDMA)
	}
}

// Addresses in other forms are refused.
func TestParseUniversalAddrRefuses(t *testing.T) {
	for _, tt := range [][2]string{
		{"tcp", "192.0.2.7.78.81"},
		{"", "192.0.2.7.78.81"},
		{"tcp6", "2001:db8::1.78.81"},
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
	f.Add("rdma6", "2001:db8::1.255.255")
	f.Add("rdma6", "::ffff:192.0.2.7.0.1")
	f.Add("rdma6", "fe80::1%eth0.78.81")
	f.Fuzz(func(t *testing.T, netID, addr string) {
		a, err := ParseUniversalAddr(netID, addr)
		if err != nil {
			return
		}
		id, text := UniversalAddr(a)
		b, err := ParseUniversalAddr(id, text)
		if err != nil || b != netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) || id != netID && !a.Addr().Is4In6() {
			t.Errorf("%q %q is %v, written %q %q, which is %v, %v", netID, addr, a, id, text, b, err)
		}
	})
}
