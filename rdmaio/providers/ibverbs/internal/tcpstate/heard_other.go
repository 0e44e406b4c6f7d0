//go:build !linux

package tcpstate

import (
	"errors"
	"net/netip"
	"time"
)

// LastHeard returns errors.ErrUnsupported: only Linux has sock_diag(7).
func LastHeard(local, remote netip.AddrPort) (time.Duration, error) {
	return 0, errors.ErrUnsupported
}
