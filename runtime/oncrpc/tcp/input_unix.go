//go:build unix

package tcp

import "syscall"

// socketReads says that readSocket works.
const socketReads = true

// readSocket reads from a non-blocking socket once. The error is syscall.EAGAIN if there is nothing
// to read.
func readSocket(fd uintptr, b []byte) (n int, err error) {
	for {
		if n, err = syscall.Read(int(fd), b); err != syscall.EINTR {
			return n, err
		}
	}
}
