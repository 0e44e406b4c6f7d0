package oncrpc

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The network identifiers of the transports over IP (RFC 5665 §5.2; for RDMA RFC 8166 §9, and
// draft-ietf-nfsv4-rpcrdma-version-two-00 §8 and §11 for IPv6; R315). They determine the form of
// the universal address.
const (
	NetIDTCP   = "tcp" // over IPv4, like the others without a 6
	NetIDTCP6  = "tcp6"
	NetIDUDP   = "udp"
	NetIDUDP6  = "udp6"
	NetIDRDMA  = "rdma"
	NetIDRDMA6 = "rdma6"
)

// PortNFSRDMA is the default port of NFS over RDMA (RFC 8166 §5,
// draft-ietf-nfsv4-rpcrdma-version-two-00 §8; R316).
const PortNFSRDMA = 20049

// NetID returns the network identifier of a transport, "tcp", "udp" or "rdma", for an address: the
// same for IPv4, and with a 6 for IPv6. An IPv4 address in IPv6 counts as IPv4.
func NetID(transport string, a netip.Addr) string {
	if a.Unmap().Is6() {
		return transport + "6"
	}
	return transport
}

// UniversalAddr returns the universal address under which rpcbind registers a listener (RFC 5665
// §5.2.3): the IP address as text, followed by the two bytes of the port, as in h1.h2.h3.h4.p1.p2.
// An IPv4 address in IPv6 becomes IPv4. The zone is left out: it has no meaning on other hosts.
func UniversalAddr(a netip.AddrPort) string {
	return fmt.Sprintf("%s.%d.%d", a.Addr().Unmap().WithZone(""), a.Port()>>8, a.Port()&0xff)
}

// ParseUniversalAddr parses an address in the form of UniversalAddr. It is strict, because an
// rpcbind server is not trusted.
func ParseUniversalAddr(netID, addr string) (netip.AddrPort, error) {
	fail := func(why string) (netip.AddrPort, error) {
		return netip.AddrPort{}, fmt.Errorf("oncrpc: universal address %.80q of netid %.20q: %s (RFC 5665 §5.2.3)", addr, netID, why)
	}
	four := netID == NetIDTCP || netID == NetIDUDP || netID == NetIDRDMA
	if !four && netID != NetIDTCP6 && netID != NetIDUDP6 && netID != NetIDRDMA6 {
		return fail("the netid must be tcp, udp or rdma, or one of these with a 6")
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
	case ip.Is4() != four:
		return fail("netids without a 6 are for IPv4, those with a 6 for IPv6")
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
