package oncrpc

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The network identifiers of RPC over RDMA (RFC 8166 §9, R315; RFC 5665 §4). They determine the
// form of the universal address.
const (
	NetIDRDMA  = "rdma"  // IPv4
	NetIDRDMA6 = "rdma6" // IPv6
)

// PortNFSRDMA is the default port of NFS over RDMA (RFC 8166 §5; R316).
const PortNFSRDMA = 20049

// UniversalAddr returns the network identifier and the universal address (RFC 5665 §5.2.3) under
// which rpcbind registers an RDMA listener: the IP address as text, followed by the two bytes of
// the port, as in h1.h2.h3.h4.p1.p2. An IPv4 address in IPv6 becomes IPv4. The zone is left out:
// it has no meaning on other hosts.
func UniversalAddr(a netip.AddrPort) (netID, addr string) {
	ip := a.Addr().Unmap().WithZone("")
	netID = NetIDRDMA
	if ip.Is6() {
		netID = NetIDRDMA6
	}
	return netID, fmt.Sprintf("%s.%d.%d", ip, a.Port()>>8, a.Port()&0xff)
}

// ParseUniversalAddr parses an address in the form of UniversalAddr. It is strict, because an
// rpcbind server is not trusted.
func ParseUniversalAddr(netID, addr string) (netip.AddrPort, error) {
	fail := func(why string) (netip.AddrPort, error) {
		return netip.AddrPort{}, fmt.Errorf("oncrpc: universal address %.80q of netid %.20q: %s (RFC 5665 §5.2.3)", addr, netID, why)
	}
	if netID != NetIDRDMA && netID != NetIDRDMA6 {
		return fail(`the netid must be "rdma" or "rdma6"`)
	}
	host, low, ok := cutLast(addr)
	host, high, ok2 := cutLast(host)
	if !ok || !ok2 {
		return fail("must be an address and the two bytes of a port")
	}
	hi, err1 := octet(high)
	lo, err2 := octet(low)
	if err1 != nil || err2 != nil {
		return fail("the last two numbers must be a port's bytes, 0 to 255")
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return fail("no IP address before the port")
	case ip.Zone() != "":
		return fail("the address has a zone, which has no meaning on other hosts")
	case ip.Is4() != (netID == NetIDRDMA):
		return fail(`"rdma" is for IPv4, "rdma6" for IPv6`)
	}
	return netip.AddrPortFrom(ip, uint16(hi)<<8|uint16(lo)), nil
}

// cutLast splits s at its last dot.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// octet parses a number up to 255 without sign and leading zeros.
func octet(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 8)
	if err == nil && strconv.FormatUint(n, 10) != s {
		err = strconv.ErrSyntax
	}
	return n, err
}
