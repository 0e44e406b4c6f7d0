package udp

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// controlBytes is the memory for a datagram's control data, in bytes. It has room for the data of
// both address families, because an IPv6 socket gets both for an IPv4 datagram.
const controlBytes = 128

// reportLocal makes the system report the address that each datagram came to (IP_PKTINFO,
// IPV6_RECVPKTINFO). An IPv6 socket reports an IPv4 address by both. An IPv4 socket refuses
// IPV6_RECVPKTINFO, so that error is ignored.
func reportLocal(sock *net.UDPConn) error {
	raw, err := sock.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IPV6, syscall.IPV6_RECVPKTINFO, 1)
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_PKTINFO, 1)
	})
	return errors.Join(err, failed)
}

// localOf returns the address that a datagram with this control data came to, and the control data
// that send the reply from it. The reply takes the interface that leads to the client. ok is false
// for datagrams to many hosts.
func localOf(control []byte, port uint16) (local netip.AddrPort, reply []byte, ok bool) {
	reply = append([]byte(nil), control...)
	all, err := syscall.ParseSocketControlMessage(reply)
	if err != nil {
		return local, nil, false
	}
	toMany := false
	for _, m := range all { // Data is a part of reply
		switch {
		case m.Header.Level == syscall.IPPROTO_IP && m.Header.Type == syscall.IP_PKTINFO && len(m.Data) >= syscall.SizeofInet4Pktinfo:
			// struct in_pktinfo: interface, address of this host, destination
			own, dest := netip.AddrFrom4([4]byte(m.Data[4:8])), netip.AddrFrom4([4]byte(m.Data[8:12]))
			local, toMany = netip.AddrPortFrom(own, port), toMany || own != dest
			clear(m.Data[:4])
		case m.Header.Level == syscall.IPPROTO_IPV6 && m.Header.Type == syscall.IPV6_PKTINFO && len(m.Data) >= syscall.SizeofInet6Pktinfo:
			// struct in6_pktinfo: destination, interface
			dest := netip.AddrFrom16([16]byte(m.Data[:16])).Unmap()
			local, toMany = netip.AddrPortFrom(dest, port), toMany || dest.IsMulticast()
			clear(m.Data[16:20])
		}
	}
	return local, reply, local.IsValid() && !toMany
}
