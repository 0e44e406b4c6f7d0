package cli

import "syscall"

// isTerminal reports whether fd has a console mode to read.
func isTerminal(fd uintptr) bool {
	var mode uint32
	return syscall.GetConsoleMode(syscall.Handle(fd), &mode) == nil
}
