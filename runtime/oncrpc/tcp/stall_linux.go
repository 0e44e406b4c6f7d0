package tcp

import (
	"encoding/binary"
	"syscall"
)

// established is TCP_ESTABLISHED of linux/net/tcp_states.h.
const established = 1

// peerGone reports whether the peer of a socket has closed its connection or is lost, although
// there may be bytes to read before the end.
func peerGone(fd uintptr) bool {
	info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
	if err != nil { // not a socket of TCP
		return false
	}
	// The first byte of struct tcp_info is the state.
	return binary.NativeEndian.AppendUint32(nil, uint32(info))[0] != established
}
