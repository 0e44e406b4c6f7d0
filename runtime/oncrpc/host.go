package oncrpc

import (
	"net"
	"net/netip"
	"strings"
)

// HostOf returns the host in an address from Conn.RemoteAddr, which is the source for limits: an
// IPv4 address, or an IPv6 network of 64 bits, because a host has all addresses in it. The host in
// the address of a local socket is the whole, and the source its user, if it names one.
// An address of another form is returned as it is.
func HostOf(addr string) (host, source string) {
	if strings.HasPrefix(addr, LocalPrefix) {
		user, _, _ := strings.Cut(addr, ",pid=")
		return addr, user
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host, host
	}
	ip = ip.Unmap()
	if ip.Is4() {
		return host, ip.String()
	}
	net, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return host, host
	}
	return host, net.String()
}
