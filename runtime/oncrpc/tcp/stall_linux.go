package tcp

import (
	"encoding/binary"
	"net"
	"syscall"
)

// States of linux/net/tcp_states.h: TCP_ESTABLISHED and TCP_CLOSE.
const (
	established = 1
	closed      = 7
)

// stateOf returns the state of a TCP socket.
func stateOf(fd uintptr) (state byte, ok bool) {
	info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
	// The first byte of struct tcp_info is the state.
	return binary.NativeEndian.AppendUint32(nil, uint32(info))[0], err == nil
}

// peerGone reports whether the peer of a socket has closed its connection or is lost, although
// there may be bytes to read before the end.
func peerGone(fd uintptr) bool {
	state, ok := stateOf(fd)
	return ok && state != established
}

// ofSystem reports whether the system has given up a connection, for example after a reset, or
// because the peer does not answer. If the peer closes the connection in the usual way, the socket
// is in another state.
func ofSystem(nc net.Conn) (ended bool) {
	if socket, err := rawConn(nc); err == nil {
		_ = socket.Control(func(fd uintptr) {
			state, ok := stateOf(fd)
			ended = ok && state == closed
		})
	}
	return ended
}
