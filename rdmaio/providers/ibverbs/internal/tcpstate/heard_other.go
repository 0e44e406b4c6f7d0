//go:build !linux

package tcpstate

import (
	"errors"
	"net/netip"
)

// Get returns errors.ErrUnsupported: only Linux has sock_diag(7).
func Get(local, remote netip.AddrPort) (State, error) {
	return State{}, errors.ErrUnsupported
}
