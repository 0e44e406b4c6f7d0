//go:build !linux

package udp

import (
	"errors"
	"net"
	"net/netip"
)

// controlBytes is 0, because no control data is read.
const controlBytes = 0

// reportLocal returns an error: the package does not read the address that a datagram came to from
// this system.
func reportLocal(*net.UDPConn) error { return errors.ErrUnsupported }

// localOf is not called, since reportLocal fails.
func localOf([]byte, uint16) (netip.AddrPort, []byte, bool) { return netip.AddrPort{}, nil, false }
