//go:build unix

package deadpeer

import (
	"runtime"
	"syscall"
	"time"
)

// unackedOption returns the TCP option that limits how long sent data may stay
// unacknowledged, and its unit. It returns 0 if the system has none. The numbers, which
// package syscall lacks, are part of the systems' binary interface.
func unackedOption() (option int, unit time.Duration) {
	switch runtime.GOOS {
	case "linux", "android":
		return 0x12, time.Millisecond // TCP_USER_TIMEOUT
	case "darwin", "ios":
		return 0x80, time.Second // TCP_RXT_CONNDROPTIME
	case "freebsd":
		return 0x44, time.Second // TCP_MAXUNACKTIME, since FreeBSD 14
	}
	return 0, 0
}

func setTCPOption(fd uintptr, option, value int) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, option, value)
}
