package ibverbs

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// resolve returns the address that "host:port" means. A name that has several addresses means the
// first.
func resolve(ctx context.Context, addr string) (netip.AddrPort, error) {
	if at, err := netip.ParseAddrPort(addr); err == nil {
		return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), nil
	}
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: %w", verbs.ErrInvalidValue, err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: %w", verbs.ErrInvalidValue, err)
	}
	if host == "" {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(port)), nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if len(ips) == 0 {
		return netip.AddrPort{}, fmt.Errorf("%q has no address", host)
	}
	return netip.AddrPortFrom(ips[0].Unmap(), uint16(port)), nil
}

// Address families of Linux, and the sizes of their socket addresses.
const (
	familyIPv4, sizeIPv4 = 2, 16
	familyIPv6, sizeIPv6 = 10, 28
)

// sockaddr returns an address as a sockaddr_in or sockaddr_in6. An IPv6 zone is the index or the
// name of an interface.
func sockaddr(at netip.AddrPort) ([]byte, error) {
	ip := at.Addr()
	if ip.Is4() {
		b := make([]byte, sizeIPv4)
		binary.NativeEndian.PutUint16(b, familyIPv4)
		binary.BigEndian.PutUint16(b[2:], at.Port())
		copy(b[4:], ip.AsSlice())
		return b, nil
	}
	b := make([]byte, sizeIPv6)
	binary.NativeEndian.PutUint16(b, familyIPv6)
	binary.BigEndian.PutUint16(b[2:], at.Port())
	copy(b[8:], ip.AsSlice())
	if zone := ip.Zone(); zone != "" {
		index := 0
		if _, err := fmt.Sscanf(zone, "%d", &index); err != nil {
			face, err := net.InterfaceByName(zone)
			if err != nil {
				return nil, fmt.Errorf("interface %q of the address: %w", zone, err)
			}
			index = face.Index
		}
		binary.NativeEndian.PutUint32(b[24:], uint32(index))
	}
	return b, nil
}

// fromSockaddr returns the address in a socket address, or the zero value.
func fromSockaddr(b []byte) netip.AddrPort {
	port := binary.BigEndian.Uint16(b[2:])
	switch binary.NativeEndian.Uint16(b) {
	case familyIPv4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port)
	case familyIPv6:
		ip := netip.AddrFrom16([16]byte(b[8:24]))
		if index := binary.NativeEndian.Uint32(b[24:]); index != 0 {
			ip = ip.WithZone(fmt.Sprint(index))
		}
		return netip.AddrPortFrom(ip, port)
	}
	return netip.AddrPort{}
}
