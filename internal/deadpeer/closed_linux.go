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
// lost, although there may be bytes to read before the end. A peer over a local socket
// must have closed both directions.
func Left(fd uintptr) bool {
	if state, ok := stateOf(fd); ok {
		return state != established
	}
	return localEnded(fd)
}

// Ended reports whether the system has given up the connection of a TCP socket, for example after a
// reset, or because the peer does not answer. If the peer closes the connection in the usual way,
// the socket is in another state. It also reports whether the peer over a local socket
// has closed both directions.
func Ended(fd uintptr) bool {
	if state, ok := stateOf(fd); ok {
		return state == ended
	}
	return localEnded(fd)
}

// localEnded reports whether the peer over a local stream socket has gone. A message
// without a byte is refused then, and otherwise has no effect.
func localEnded(fd uintptr) bool {
	domain, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, soDomain)
	if err != nil || domain != syscall.AF_UNIX {
		return false
	}
	_, err = syscall.SendmsgN(int(fd), nil, nil, nil, syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT)
	return err == syscall.EPIPE
}

// soDomain is SO_DOMAIN of asm-generic/socket.h, which package syscall lacks.
const soDomain = 0x27
