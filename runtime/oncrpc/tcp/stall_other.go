//go:build !linux

package tcp

import "net"

// peerGone reports false: this system does not say whether the peer has closed the connection after
// bytes that are not read yet.
func peerGone(uintptr) bool { return false }

// ofSystem reports false: this system does not say whether it has given up a connection.
func ofSystem(net.Conn) bool { return false }
