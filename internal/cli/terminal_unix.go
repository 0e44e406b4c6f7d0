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

// terminalWidth returns the number of columns of terminal fd, or 0.
func terminalWidth(fd uintptr) int {
	var size struct{ rows, columns, x, y uint16 }
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		return 0
	}
	return int(size.columns)
}
