//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"syscall"
	"unsafe"
)

// isTerminal reports whether fd has terminal settings to read.
func isTerminal(fd uintptr) bool {
	var t syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, getTermios, uintptr(unsafe.Pointer(&t)))
	return errno == 0
}
