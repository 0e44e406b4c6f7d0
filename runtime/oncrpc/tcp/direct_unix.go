//go:build unix

package tcp

import "syscall"

// socketWrites says that writeSocket works.
const socketWrites = true

// writeSocket writes to a non-blocking socket once, and returns the number of bytes it has taken.
func writeSocket(fd uintptr, b []byte) int {
	n, err := syscall.Write(int(fd), b)
	if err != nil {
		return 0
	}
	return n
}
