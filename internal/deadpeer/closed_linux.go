package deadpeer

import (
	"encoding/binary"
	"syscall"
)

// States of linux/net/tcp_states.h: TCP_ESTABLISHED and TCP_CLOSE.
const (
	established = 1
	ended       = 7
)

// stateOf returns the state of a TCP socket.
func stateOf(fd uintptr) (state byte, ok bool) {
	info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
	// The first byte of struct tcp_info is the state.
	return binary.NativeEndian.AppendUint32(nil, uint32(info))[0], err == nil
}

// Left reports whether the peer of a TCP socket has closed its direction of the connection or is
// lost, although there may be bytes to read before the end.
func Left(fd uintptr) bool {
	state, ok := stateOf(fd)
	return ok && state != established
}

// Ended reports whether the system has given up the connection of a TCP socket, for example after a
// reset, or because the peer does not answer. If the peer closes the connection in the usual way,
// the socket is in another state.
func Ended(fd uintptr) bool {
	state, ok := stateOf(fd)
	return ok && state == ended
}
