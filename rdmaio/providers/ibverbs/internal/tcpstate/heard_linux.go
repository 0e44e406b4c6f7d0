package tcpstate

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// Numbers of linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h and linux/tcp.h.
const (
	netlinkSockDiag   = 4
	sockDiagByFamily  = 20
	inetDiagInfo      = 2 // the attribute with tcp_info
	requestSize       = syscall.SizeofNlMsghdr + 56
	inetDiagMsgSize   = 72
	lastDataRecvAt    = 52 // in tcp_info
	lastAckRecvAt     = 56
	bytesReceivedAt   = 128
	tcpInfoSizeNeeded = 136
)

// Get asks the kernel for a TCP connection in this network namespace. The error is ENOENT if there
// is no such connection.
func Get(local, remote netip.AddrPort) (State, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return State{}, os.NewSyscallError("socket", err)
	}
	defer syscall.Close(fd)
	if err := syscall.Sendto(fd, request(local, remote), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return State{}, os.NewSyscallError("sendto", err)
	}
	// The kernel has answered when sendto returns.
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, answer, syscall.MSG_DONTWAIT)
	if err != nil {
		return State{}, os.NewSyscallError("recvfrom", err)
	}
	return parse(answer[:n])
}

// request returns a request for one connection.
func request(local, remote netip.AddrPort) []byte {
	b := make([]byte, requestSize)
	binary.NativeEndian.PutUint32(b, requestSize)
	binary.NativeEndian.PutUint16(b[4:], sockDiagByFamily)
	binary.NativeEndian.PutUint16(b[6:], syscall.NLM_F_REQUEST)
	d := b[syscall.SizeofNlMsghdr:] // inet_diag_req_v2
	d[0], d[1], d[2] = syscall.AF_INET6, syscall.IPPROTO_TCP, 1<<(inetDiagInfo-1)
	if local.Addr().Is4() {
		d[0] = syscall.AF_INET
	}
	binary.NativeEndian.PutUint32(d[4:], ^uint32(0)) // in any state
	binary.BigEndian.PutUint16(d[8:], local.Port())
	binary.BigEndian.PutUint16(d[10:], remote.Port())
	copy(d[12:28], local.Addr().AsSlice())
	copy(d[28:44], remote.Addr().AsSlice())
	// The interface, at 44, is any one.
	binary.NativeEndian.PutUint64(d[48:], ^uint64(0)) // no cookie
	return b
}

// parse returns the state in an answer.
func parse(b []byte) (State, error) {
	messages, err := syscall.ParseNetlinkMessage(b)
	if err != nil {
		return State{}, err
	}
	for _, m := range messages {
		switch {
		case m.Header.Type == syscall.NLMSG_ERROR && len(m.Data) >= 4:
			if errno := -int32(binary.NativeEndian.Uint32(m.Data)); errno > 0 {
				return State{}, syscall.Errno(errno)
			}
		case m.Header.Type == sockDiagByFamily && len(m.Data) >= inetDiagMsgSize:
			if info := attribute(m.Data[inetDiagMsgSize:], inetDiagInfo); len(info) >= tcpInfoSizeNeeded {
				ms := min(binary.NativeEndian.Uint32(info[lastDataRecvAt:]), binary.NativeEndian.Uint32(info[lastAckRecvAt:]))
				return State{time.Duration(ms) * time.Millisecond, binary.NativeEndian.Uint64(info[bytesReceivedAt:])}, nil
			}
		}
	}
	return State{}, fmt.Errorf("tcpstate: the kernel's answer of %d bytes has no tcp_info", len(b))
}

// attribute returns the value of an attribute, or nil.
func attribute(b []byte, want uint16) []byte {
	for len(b) >= syscall.SizeofRtAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < syscall.SizeofRtAttr || n > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:]) == want {
			return b[syscall.SizeofRtAttr:n]
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return nil
}
