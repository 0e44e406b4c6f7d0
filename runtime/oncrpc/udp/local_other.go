//go:build !linux

package udp

import (
	"errors"
	"net"
	"net/netip"
)

// controlBytes is the memory for the control data of a datagram. None are read.
const controlBytes = 0

// reportLocal returns an error: the package does not read the address that a datagram came to from
// this system.
func reportLocal(*net.UDPConn) error { return errors.ErrUnsupported }

// localOf is not called, since reportLocal fails.
func localOf([]byte, uint16) (netip.AddrPort, []byte, bool) { return netip.AddrPort{}, nil, false }
